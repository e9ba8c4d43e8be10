import * as assert from 'uvu/assert'
import { Phone } from '../../../bench/phone/phone.ts'
import type { PhoneCall } from '../../../bench/phone/phone-call.ts'
import type { Product } from '../../../bench/product.ts'
import { tone } from '../../../bench/voices.ts'
import { curtain, invited } from '../../e2e/scene.ts'
import { missingPrograms, suite } from '../../harness.ts'
import { Kamailio } from '../peers/kamailio.ts'
import { hears, missingServer, query, startTwoNodes, taken } from './two-nodes.ts'

/** Two nodes that share a PostgreSQL database, with Kamailio before them: what the one knows, the other has to serve. */
const missing = missingPrograms('kamailio', 'openssl') ?? missingServer()
const test = suite('interop/two-nodes', { timeoutMs: 60_000, missing })
const EDGE = '127.0.0.6'
const CARRIER = '127.0.0.9'

let nodes: readonly [Product, Product]
let edge: Kamailio
let shared: string
let addNode: Awaited<ReturnType<typeof startTwoNodes>>['addNode']

test.before(async () => {
  const started = await startTwoNodes({ TANDEM_SIP_PROXIES: `${EDGE}/32`, TANDEM_DRAIN_SECONDS: '60' })
  nodes = started.nodes
  shared = started.url
  addNode = started.addNode
  edge = await Kamailio.start(
    EDGE,
    nodes.map(({ sip }) => sip),
  )
})
test.after(async () => {
  await edge?.stop()
  for (const node of nodes ?? []) await curtain(node)
})

interface Member {
  userId: string
  account: Parameters<Phone['register']>[0]
  phone: Phone
}

/** A member whose phone has registered through the edge, with one of the nodes. */
async function behindEdge(name: string, extension?: string): Promise<Member> {
  const [node] = nodes
  const phone = await Phone.open(name, {}, CARRIER)
  const { userId, account } = await invited(node, `${name}@example.com`, { extension })
  await node.until('the edge has found a node for the phone', () =>
    phone.register(account, edge).then(
      () => true,
      () => null,
    ),
  )
  if (extension !== undefined)
    await node.ok('POST', '/inbound_routes', {
      match: { to: extension.replace('77', '97') },
      target: { type: 'user', id: userId },
    })
  return { userId, account, phone }
}

test('a phone that has registered through the edge is rung by each node, one caller after the other', async () => {
  const [node] = nodes
  const { userId, phone } = await behindEdge('agent')
  await node.ok('PUT', `/agents/${userId}/status`, { status: 'available' })
  const { id } = await node.ok('POST', '/queues', { name: 'Sales', member_user_ids: [userId], wrap_up_seconds: 0 })
  await node.ok('POST', '/inbound_routes', { match: { to: '4400' }, target: { type: 'queue', id } })
  const callers: { hz: number; caller: Phone; call: PhoneCall }[] = []
  for (const [n, { sip }] of nodes.entries()) {
    const [hz, caller] = [440 + 300 * n, await Phone.open(`caller${n}`)]
    const call = await caller.call('4400', sip)
    call.say(tone(hz))
    // Its answer comes before it is written that it waits.
    await node.until('it waits', async () => {
      const joined = await node.all('/events?type=queue.call.joined')
      return joined.filter(({ data }) => data.object.queue_id === id).length > n ? true : null
    })
    callers.push({ hz, caller, call })
  }
  for (const { hz, caller, call } of callers) {
    const ringing = await phone.next()
    ringing.answer()
    ringing.say(tone(1000))
    await Promise.all([hears(node, call, 1000), hears(node, ringing, hz)])
    await ringing.hangup()
    await caller.close()
  }
  await phone.close()
})

test('callers of a conference room meet, whichever node the edge would choose, and a phone with them', async () => {
  const [node] = nodes
  const { phone, account } = await behindEdge('guest')
  const members: { hz: number; caller: Phone; call: PhoneCall }[] = []
  for (const hz of [440, 740, 1040]) {
    const caller = await Phone.open(`member${hz}`, {}, CARRIER)
    const call = await caller.call('1001', edge)
    call.say(tone(hz))
    members.push({ hz, caller, call })
  }
  const call = await phone.call('1001', edge, { account })
  for (const { hz } of members) await hears(node, call, hz)
  for (const one of members) for (const other of members) if (one !== other) await hears(node, one.call, other.hz)
  await call.hangup()
  await Promise.all([phone, ...members.map(({ caller }) => caller)].map(one => one.close()))
})

test("a phone's second call goes to the node of its first, so that it can join both by REFER with Replaces", async () => {
  const [agent, bob] = [await behindEdge('joins', '7701'), await behindEdge('joined', '7702')]
  for (const node of [...nodes, ...nodes]) {
    const caller = await Phone.open('caller')
    const [atCaller, atAgent] = await taken(caller, '9701', node.sip, agent.phone)
    await hears(node, atAgent, 440)
    const consulting = agent.phone.call('7702', edge, { account: agent.account })
    const atBob = await bob.phone.next()
    atBob.answer()
    atBob.say(tone(1000))
    const second = await consulting
    await hears(node, second, 1000)
    atAgent.refer(`sip:7702@${EDGE}`, second)
    await Promise.all([atAgent.ended, second.ended])
    await Promise.all([hears(node, atCaller, 1000), hears(node, atBob, 440)])
    await atCaller.hangup()
    await atBob.ended
    await caller.close()
  }
  await Promise.all([agent.phone.close(), bob.phone.close()])
})

test('each node takes requests about the calls of the other, and hands out their recordings', async () => {
  const [one, two] = nodes
  for (const [own, other] of [
    [one, two],
    [two, one],
  ] as const) {
    const [caller, guest] = [await Phone.open('caller'), await Phone.open('guest')]
    const { id: roomId } = await own.ok('POST', '/conference_rooms', { name: 'Here' })
    const { id } = await own.ok('POST', '/calls', { to: caller.uri, room_id: roomId })
    const call = await caller.next()
    call.answer()
    await other.until('it is in the room', async () =>
      (await other.ok('GET', `/conference_rooms/${roomId}`)).live === null ? null : true,
    )
    await other.ok('POST', `/conference_rooms/${roomId}/participants`, { to: guest.uri })
    const invited = await guest.next()
    invited.answer()
    invited.say(tone(1000))
    await hears(other, call, 1000)
    const { data } = await other.ok('GET', `/calls/${id}/sip`)
    assert.ok(data.length > 0, 'what a running call has said is known at its node')
    await other.ok('POST', `/calls/${id}/hangup`)
    await call.ended
    const recorded = await own.ok('POST', '/calls', { to: caller.uri, record: true })
    const talking = await caller.next()
    talking.answer()
    await other.until('it is being recorded', async () =>
      (await other.api('GET', `/calls/${recorded.id}/recording`)).status === 200 ? true : null,
    )
    await other.ok('POST', `/calls/${recorded.id}/hangup`)
    await other.until('the recording is ready', async () =>
      (await other.ok('GET', `/calls/${recorded.id}/recording`)).status === 'ready' ? true : null,
    )
    const wav = await other.download(`/calls/${recorded.id}/recording/content`)
    assert.equal(wav, await own.download(`/calls/${recorded.id}/recording/content`))
    await Promise.all([caller.close(), guest.close()])
  }
})

/** The running calls of a node. */
const runningAt = async ({ sip }: Product): Promise<object[]> =>
  (
    await query(
      shared,
      `select id from calls where ended_at is null and node_id in (select id from nodes where sip = '${sip.host}:${sip.port}')`,
    )
  ).rows

test('while a node drains, its calls go on, the next ones go to the other, and its phones are rung there', async () => {
  const [draining, node] = nodes
  const { userId, phone } = await behindEdge('remains')
  const callers: { caller: Phone; call: PhoneCall }[] = []
  const callsAt = async (): Promise<number> => (await runningAt(draining)).length
  await node.until('the node that will drain has two calls', async () => {
    const caller = await Phone.open('caller', {}, CARRIER)
    callers.push({ caller, call: await caller.call('1002', edge) })
    return (await callsAt()) >= 2 ? true : null
  })
  const before = await callsAt()
  const stopped = draining.stop()
  for (let next = 0; next < 6; next++) {
    const caller = await Phone.open('caller', {}, CARRIER)
    callers.push({ caller, call: await caller.call('1002', edge) })
  }
  assert.is(await callsAt(), before, 'no call more')
  for (const { call } of callers) call.say(tone(440))
  await Promise.all(callers.map(({ call }) => hears(node, call, 440)))
  const caller = await Phone.open('caller')
  await node.ok('POST', '/calls', { to: caller.uri, user_id: userId })
  const calling = await caller.next()
  calling.answer()
  const ringing = await phone.next()
  ringing.answer()
  ringing.say(tone(1000))
  await hears(node, calling, 1000)
  await Promise.all([caller, phone, ...callers.map(({ caller }) => caller)].map(one => one.close()))
  assert.is(await stopped, 0, 'it ends once its last call is over')
  nodes = [await addNode({ TANDEM_SIP_PORT: String(draining.sip.port) }), node]
})

test('phones whose node has died are rung by the other', async () => {
  const [node, killed] = nodes
  const members: Member[] = []
  // The edge knows accounts by a hash.
  await node.until('each node has a phone', async () => {
    members.push(await behindEdge(`stays${members.length}`))
    const theirs = members.map(({ userId }) => `'${userId}'`).join()
    const { rows } = await query(shared, `select distinct node from sip_registrations where user_id in (${theirs})`)
    return rows.length === nodes.length ? true : null
  })
  killed.kill()
  for (const { userId, account, phone } of members) {
    const caller = await Phone.open('caller')
    await node.ok('POST', '/calls', { to: caller.uri, user_id: userId })
    const calling = await caller.next()
    calling.answer()
    const ringing = await phone.next()
    ringing.answer()
    ringing.say(tone(1000))
    await hears(node, calling, 1000)
    await ringing.hangup()
    await phone.register(account, edge)
    const { registrations } = await node.ok('GET', `/users/${userId}/sip_credential`)
    assert.is(registrations.length, 1, 'it is there once, with another node from now on')
    await Promise.all([caller.close(), phone.close()])
  }
})

test.run()
