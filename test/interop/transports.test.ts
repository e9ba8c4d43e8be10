// Wants the machine: all of its peers call at once, and over TCP SIPp takes a 200 that is repeated, for its ACK is half a second late, for a fault.
import * as assert from 'uvu/assert'
import type { Product } from '../../bench/product.ts'
import { curtain, endedCall } from '../e2e/scene.ts'
import { missingPrograms, suite } from '../harness.ts'
import { Loss, overUdp, testWays, WAYS, type Way, WaysProduct } from './peers/ways.ts'

/**
 * The wire behaviour that carriers require, over each transport and both address families; every scenario has the same result. Loss over UDP
 * is tested in `sessions/lossy.test.ts`. Over TCP and TLS nothing is lost between two hops, but a proxy between them may lose it: what is said again from
 * end to end is tested here (a 200, RFC 3261 §13.3.1.4, a reliable 183, RFC 3262 §3).
 */

const test = suite('interop/transports')
const missing = missingPrograms('sipp', 'openssl')

let ways: WaysProduct
let product: Product
test.before(async () => {
  if (missing !== null) return
  ways = await WaysProduct.start()
  product = ways.product
  const queue = await product.ok('POST', '/queues', { name: 'Nobody', overflow: { when_no_agents: false } })
  for (const [to, answer] of [
    ['5001', 'when_answered'],
    ['5002', 'early_media'],
  ]) {
    await product.ok('POST', '/inbound_routes', { match: { to }, target: { type: 'queue', id: queue.id }, answer })
  }
  await product.ok('POST', '/inbound_routes', { match: { to: '49301234' }, target: { type: 'echo' } })
})
test.after(async () => {
  ways?.close()
  await curtain(product)
})

/**
 * SIPp as the caller: the scenario, and the number that it dials. We also retransmit over TCP until the acknowledgement: a 200 (RFC 3261
 * §13.3.1.4) and a reliable 183 (RFC 3262 §3). SIPp takes that for a fault, so those scenarios run over UDP.
 */
const CALLERS: readonly (readonly [string, string])[] = [
  ['call', '1002'],
  ['late-offer', '1002'],
  ['hold', '1002'],
  ['options', '1002'],
  ['unknown-dialog', '1002'],
  ['unsupported-codec', '1002'],
  ['not-found', '4040404'],
  ['overlap', '49301234'],
  ['ring-cancel', '5001'],
]

/** Those that have it said again. */
const REPEATED: typeof CALLERS = [
  ['late-ack', '1002'],
  ['ring-prack', '5002'],
]

testWays(test, missing, `${[...CALLERS, ...REPEATED].map(([name]) => name).join(', ')}: SIPp calls`, async way => {
  for (const [scenario, to] of overUdp(way) ? [...CALLERS, ...REPEATED] : CALLERS) {
    await (await ways.caller(scenario, way, { to })).passed()
  }
})

/** What SIPp plays when it is called, what the call is then, and who ends one that is answered. */
const CALLEES = [
  ['answers', 'completed', 'we'],
  ['answers-and-hangs-up', 'completed', 'they'],
  ['early-media', 'completed', 'we'],
  ['busy', 'busy', null],
  ['declines', 'failed', null],
  ['incomplete', 'failed', null],
  ['moved', 'failed', null],
  ['no-answer', 'no_answer', null],
] as const

async function isCalled([scenario, status, ends]: (typeof CALLEES)[number], way: Way): Promise<void> {
  const { sipp, uri } = await ways.callee(scenario, way)
  const { id } = await product.ok('POST', '/calls', { to: uri, timeout_s: 5 })
  if (ends === 'we') {
    await sipp.answered(product, id)
    await product.ok('POST', `/calls/${id}/hangup`)
  }
  await sipp.passed()
  assert.is((await endedCall(product, id)).status, status, scenario)
  const ours = sipp.messages.filter(({ sent, text }) => !sent && /^[A-Z]+ sip:/.test(text))
  assert.ok(ours.length >= 2, scenario)
  for (const { text } of ours) assert.match(text, new RegExp(`^Via: SIP/2\\.0/${way.transport.toUpperCase()} `, 'm'))
}

testWays(test, missing, `${CALLEES.map(([name]) => name).join(', ')}: SIPp is called`, async way => {
  for (const played of CALLEES) await isCalled(played, way)
})

const STREAMS = WAYS.filter(way => !overUdp(way))

testWays(
  test,
  missing,
  'a 200, its ACK and a reliable 183 of a caller are each lost once',
  async way => {
    for (const [scenario, to, ...names] of [
      ['acks-twice', '1002', '200 of 1 INVITE', 'ACK of 1 ACK'],
      ['ring-prack', '5002', '183 of 1 INVITE'],
    ] as const) {
      const loss = new Loss(name => names.some(one => one === name))
      await (await ways.caller(scenario, way, { to }, loss.passes)).passed()
      assert.is(loss.lost.size, names.length, scenario)
    }
  },
  STREAMS,
)

testWays(
  test,
  missing,
  'our ACK is lost once, and sent again with the 200',
  async way => {
    const loss = new Loss(name => name === 'ACK of 1 ACK')
    const { sipp, uri } = await ways.callee('answers-twice', way, {}, loss.passes)
    const { id } = await product.ok('POST', '/calls', { to: uri })
    await product.until('its 200 is acknowledged again', async () => (sipp.received('ACK').length > 0 ? true : null))
    await product.ok('POST', `/calls/${id}/hangup`)
    await sipp.passed()
    assert.is((await endedCall(product, id)).status, 'completed')
    assert.is(loss.lost.size, 1)
  },
  STREAMS,
)

test.run()
