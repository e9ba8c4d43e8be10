import { once } from 'node:events'
import { connect } from 'node:tls'
import * as assert from 'uvu/assert'
import { Phone } from '../../bench/phone/phone.ts'
import { Product } from '../../bench/product.ts'
import { levelAt } from '../../bench/spectrum.ts'
import { tone } from '../../bench/voices.ts'
import { curtain, HEARD_DBOV } from '../e2e/scene.ts'
import { offer } from '../fuzz/raw-caller.ts'
import { missingPrograms, suite } from '../harness.ts'
import { Kamailio } from './peers/kamailio.ts'
import { Sipp } from './peers/sipp.ts'

const missing = missingPrograms('kamailio', 'sipp', 'openssl')
const test = suite('interop/kamailio', { timeoutMs: 60_000, missing })
/** Addresses of the edge and of its callers: a carrier, and a PBX with a password. */
const EDGE = '127.0.0.5'
const CARRIER = '127.0.0.9'
const PBX = '127.0.0.8'
const NODE_ENV = { TANDEM_SIP_PROXIES: `${EDGE}/32`, TANDEM_DRAIN_SECONDS: '60' }

let nodes: [Product, Product]
let edge: Kamailio

test.before(async () => {
  nodes = await Promise.all([Product.start({ env: NODE_ENV }), Product.start({ env: NODE_ENV })])
  edge = await Kamailio.start(
    EDGE,
    nodes.map(({ sip }) => sip),
  )
})
test.after(async () => {
  await edge?.stop()
  for (const node of nodes ?? []) await curtain(node)
})

interface Shown {
  id: string
  from: string
  connection_id: string | null
  ended_at: string | null
}
const callsAt = async (node: Product, from = 'sipp'): Promise<Shown[]> => {
  const { data } = (await node.ok('GET', '/calls?limit=100')) as { data: Shown[] }
  return data.filter(call => call.from.includes(from))
}
const numbers = async (): Promise<number[]> => Promise.all(nodes.map(async node => (await callsAt(node)).length))

/** Waits until the edge has seen these nodes' answers to OPTIONS, so that calls go to them. */
async function untilServed(...expected: Product[]): Promise<void> {
  const phones: Phone[] = []
  await nodes[0].until('the edge has found the nodes', async () => {
    const phone = await Phone.open('looks', {}, CARRIER)
    phones.push(phone)
    await (await phone.dial('1002', edge)).outcome
    const running = await Promise.all(expected.map(node => callsAt(node, 'looks')))
    return running.every(calls => calls.some(call => call.ended_at === null)) ? true : null
  })
  await Promise.all(phones.map(phone => phone.close()))
}

test('calls go to both nodes by their load, and who calls is whom the edge says, whatever the caller writes', async () => {
  await untilServed(...nodes)
  const trunk = { name: 'Carrier', kind: 'trunk', host: CARRIER, port: 5060, allowed_ips: [`${CARRIER}/32`] }
  const ids = await Promise.all(nodes.map(async node => (await node.ok('POST', '/connections', trunk)).id))
  const sipp = await Sipp.caller('through-proxy', edge, { host: CARRIER, calls: 10, rate: 10, lengthMs: 1200 })
  await sipp.passed()
  const [first = 0, second = 0] = await numbers()
  assert.is(first + second, 10)
  assert.ok(Math.min(first, second) >= 4, `${first} and ${second}`)
  for (const [i, node] of nodes.entries()) {
    for (const call of await callsAt(node)) assert.is(call.connection_id, ids[i], 'it is the connection of the carrier')
  }
})

test('a phone registers by Path through the edge, and is called back through it', async () => {
  const [node] = nodes
  const phone = await Phone.open('behind', {}, CARRIER)
  // The edge distributes accounts by a hash. Half of them go to the other node, which does not have them.
  let userId = ''
  await node.until('an account of this node', async () => {
    const email = `agent${Math.random()}@example.com`
    ;({ user_id: userId } = await node.ok('POST', '/invitations', { email }))
    await node.ok('PATCH', `/users/${userId}`, { status: 'active' })
    const account = await node.ok('POST', `/users/${userId}/sip_credential`)
    return phone.register(account, edge).then(
      () => true,
      () => null,
    )
  })
  const caller = await Phone.open('caller')
  const { id } = await node.ok('POST', '/calls', { to: caller.uri, user_id: userId })
  const calling = await caller.next()
  calling.answer()
  const ringing = await phone.next()
  ringing.answer()
  ringing.say(tone(440))
  await node.until('they hear each other', async () => {
    return levelAt(440, await calling.heard.next(200)) > HEARD_DBOV ? true : null
  })
  const { data } = await node.ok('GET', `/calls/${id}/sip?limit=100`)
  const invites = data.filter((one: { start_line: string }) => one.start_line.includes(`INVITE sip:behind@${CARRIER}`))
  assert.is(invites.length, 1)
  assert.equal([invites[0].remote.host, invites[0].remote.port], [EDGE, edge.port])
  assert.ok(
    invites[0].headers.some(
      ({ name, value }: { name: string; value: string }) => name === 'Route' && value.includes(EDGE),
    ),
  )
  await ringing.hangup()
  await Promise.all([caller.close(), phone.close()])
})

test('TLS ends at the edge: a call over it is answered, acknowledged and hung up', async () => {
  const socket = connect({ host: EDGE, port: edge.tlsPort, rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  let got = ''
  socket.on('data', bytes => (got += bytes))
  const until = async (pattern: RegExp): Promise<string> => {
    while (!pattern.test(got)) await once(socket, 'data')
    return got
  }
  const send = (method: string, uri: string, cseq: number, to: string, more: string[], body = ''): void => {
    const head = [
      `${method} ${uri} SIP/2.0`,
      `Via: SIP/2.0/TLS 127.0.0.1:9;branch=z9hG4bK${method}${cseq}`,
      ...[
        'Max-Forwards: 70',
        'From: <sip:tls@127.0.0.1>;tag=1',
        `To: ${to}`,
        'Call-ID: over-tls',
        `CSeq: ${cseq} ${method}`,
      ],
      ...['Contact: <sip:tls@127.0.0.1:9;transport=tls>', ...more, `Content-Length: ${body.length}`],
    ]
    socket.write(`${head.join('\r\n')}\r\n\r\n${body}`)
  }
  const target = `sip:1002@${EDGE}:${edge.tlsPort}`
  send('INVITE', target, 1, `<${target}>`, ['Content-Type: application/sdp'], offer(40_000))
  const answer = (await until(/SIP\/2\.0 200 [\s\S]*\r\n\r\nv=0/)).replace(/[\s\S]*(?=SIP\/2\.0 200 )/, '')
  const routes = [...answer.matchAll(/^Record-Route: *([^\r]*)/gm)].map(([, value]) => `Route: ${value}`).reverse()
  const contact = /^Contact: *<([^>]*)>/m.exec(answer)![1]!
  const to = /^To: *([^\r]*)/m.exec(answer)![1]!
  assert.ok(routes.length >= 1)
  send('ACK', contact, 1, to, routes)
  send('BYE', contact, 2, to, routes)
  await until(/SIP\/2\.0 200 [^\0]*CSeq: 2 BYE/)
  socket.destroy()
})

test('a trunk that is challenged through the edge answers at the node that has challenged it', async () => {
  const inbound = { inbound_credentials: { username: 'pbx', password: 'a long password' }, inbound_auth: 'both' }
  const trunk = { name: 'PBX', kind: 'trunk', host: PBX, port: 5060, allowed_ips: [`${PBX}/32`], ...inbound }
  for (const node of nodes) {
    // The demo connection allows every address of this machine.
    const { data } = (await node.ok('GET', '/connections')) as { data: { id: string; name: string }[] }
    for (const { id, name } of data) if (name !== 'Carrier') await node.ok('DELETE', `/connections/${id}`)
    await node.ok('POST', '/connections', trunk)
  }
  const account = { username: 'pbx', password: 'a long password' }
  const sipp = await Sipp.caller('digest-call', edge, { host: PBX, calls: 6, rate: 20, lengthMs: 500, account })
  await sipp.passed()
  const taken = await Promise.all(nodes.map(async node => (await callsAt(node, '+15550100200')).length))
  assert.is(taken[0]! + taken[1]!, 6)
  assert.ok(Math.min(...taken) > 0, `${taken}`)
})

test('a node that drains gets no new call and loses none; once it is back it gets its share', async () => {
  const [drained, other] = nodes
  const phones: Phone[] = []
  const call = await drained.until('a call of the node that will drain', async () => {
    const phone = await Phone.open('stays', {}, CARRIER)
    phones.push(phone)
    const made = await phone.call('1002', edge)
    return (await callsAt(drained, 'stays')).length > 0 ? made : null
  })
  const ended = drained.stop()
  await other.until('the edge has heard of it', async () => {
    const { length } = await callsAt(other)
    await (await Sipp.caller('through-proxy', edge, { host: CARRIER, calls: 2, lengthMs: 10 })).passed()
    return (await callsAt(other)).length - length === 2 ? true : null
  })
  await (await Sipp.caller('through-proxy', edge, { host: CARRIER, calls: 10, rate: 20, lengthMs: 50 })).passed()
  call.say(tone(440))
  await other.until('the call at the node that drains is still heard', async () => {
    return levelAt(440, await call.heard.next(200)) > HEARD_DBOV ? true : null
  })
  await Promise.all(phones.map(phone => phone.close()))
  assert.is(await ended, 0, 'it ends once its last call is over')
  const env = { ...NODE_ENV, TANDEM_SIP_PORT: String(drained.sip.port) }
  nodes[0] = await Product.start({ env })
  await untilServed(...nodes)
})

test('when a node is killed its next calls are taken by the other', async () => {
  const [kept, killed] = nodes
  killed.kill()
  const before = (await callsAt(kept)).length
  await (await Sipp.caller('through-proxy', edge, { host: CARRIER, calls: 6, rate: 20, lengthMs: 50 })).passed()
  assert.is((await callsAt(kept)).length - before, 6)
})

test.run()
