// Takes a core: two products.
import * as assert from 'uvu/assert'
import { Phone } from '../../../bench/phone/phone.ts'
import type { Product } from '../../../bench/product.ts'
import { tone } from '../../../bench/voices.ts'
import { curtain, invited } from '../../e2e/scene.ts'
import { suite } from '../../harness.ts'
import { hears, missingServer, startNodes, taken } from './two-nodes.ts'

/** Two nodes that share a PostgreSQL database and reach each other over IPv6 alone. */
const test = suite('interop/nodes over IPv6')
const HOST = '::1'
const LIMIT = { timeoutMs: 60_000 }
const ENV = { TANDEM_HTTP_HOST: '::', TANDEM_SIP_HOST: HOST, TANDEM_ALLOW_PRIVATE_URLS: '127.0.0.0/8,::1/128' }

let nodes: readonly [Product, Product]

test.before(async () => {
  if (missingServer() === null) ({ nodes } = await startNodes([{}, {}], ENV, HOST))
})
test.after(async () => {
  for (const node of nodes ?? []) await curtain(node)
})

const sharedTest = (sentence: string, run: () => Promise<void>): void => {
  const missing = missingServer()
  test(sentence, run, { ...LIMIT, missing })
}

const at = ({ sip: { port } }: Product) => ({ host: HOST, port })
const phoneOf = (name: string): Promise<Phone> => Phone.open(name, {}, HOST)

async function memberAt(extension: string) {
  const [node] = nodes
  const { userId: id, account } = await invited(node, `m${extension}@example.com`, { extension })
  await node.ok('POST', '/inbound_routes', { match: { to: `9${extension}` }, target: { type: 'user', id } })
  return { account, number: `9${extension}` }
}

sharedTest("a phone is rung by callers of the other node, and joins its two nodes' calls", async () => {
  const [near, far] = nodes
  const [agent, bob] = [await memberAt('801'), await memberAt('802')]
  const [phone, other, caller] = [await phoneOf('agent'), await phoneOf('bob'), await phoneOf('caller')]
  await phone.register(agent.account, at(far))
  await other.register(bob.account, at(far))
  const [atCaller, first] = await taken(caller, agent.number, at(near), phone)
  await hears(near, first, 440)
  const consulting = phone.call('802', at(far), { account: agent.account })
  const atBob = await other.next()
  atBob.answer()
  atBob.say(tone(1000))
  const second = await consulting
  await hears(near, second, 1000)
  first.refer(`sip:802@[${HOST}]`, second)
  await Promise.all([first.ended, second.ended])
  await Promise.all([hears(near, atCaller, 1000), hears(near, atBob, 440)])
  await atBob.hangup()
  await atCaller.ended
  await Promise.all([phone.close(), other.close(), caller.close()])
})

sharedTest('callers of a conference room meet at its node, and each node takes requests about it', async () => {
  const [near, far] = nodes
  const { id } = await near.ok('POST', '/conference_rooms', { name: 'Here' })
  await near.ok('POST', '/inbound_routes', { match: { to: '9803' }, target: { type: 'room', id } })
  const [one, other] = [await phoneOf('one'), await phoneOf('other')]
  const first = await one.call('9803', at(far))
  first.say(tone(440))
  await near.until('the room is open', async () =>
    (await near.ok('GET', `/conference_rooms/${id}`)).live === null ? null : true,
  )
  for (const transport of ['udp', 'tcp'] as const) {
    const second = await other.call('9803', at(near), { transport })
    second.say(tone(1000))
    await Promise.all([hears(near, first, 1000), hears(near, second, 440)])
    const [{ id: callId }] = (await near.ok('GET', '/calls?status=in_progress&limit=1')).data
    assert.ok((await near.ok('GET', `/calls/${callId}/sip`)).data.length > 0, 'what it has said is known at its node')
    await second.hangup()
  }
  await first.hangup()
  await Promise.all([one.close(), other.close()])
})

test.run()
