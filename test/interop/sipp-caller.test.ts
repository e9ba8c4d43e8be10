// Sleeps most: it waits most of the time, and judges only sounds that last.
import * as assert from 'uvu/assert'
import { Product } from '../../bench/product.ts'
import { endedCall } from '../e2e/scene.ts'
import { product, sharedSuite } from '../e2e/shared-suite.ts'
import { missingPrograms } from '../harness.ts'
import { Sipp, type SippOptions } from './peers/sipp.ts'

const missing = missingPrograms('sipp')
const test = sharedSuite('interop/sipp-caller', { timeoutMs: 60_000, missing })
/** Of a 200 that nobody acknowledges: at once, after T1 = 500 ms, and 2 * T1 later (RFC 3261 §13.3.1.4). */
const SENT_WITHIN_2500_MS = 3

const scenario = async (name: string, options: SippOptions = {}): Promise<Sipp> => {
  const sipp = await Sipp.caller(name, product.sip, options)
  await sipp.passed()
  return sipp
}

/** Control stands still for as long as `act` takes: a call that comes in stays undecided. */
async function whileUndecided(act: () => Promise<unknown>): Promise<void> {
  const { control } = product.pids
  process.kill(control, 'SIGSTOP')
  try {
    await act()
  } finally {
    process.kill(control, 'SIGCONT')
  }
}

/** A call that SIPp begins with `start`, once it is answered. Others may go on: far ends of earlier tests have left without a BYE. */
async function startedBy(start: () => Promise<Sipp>, on: Product = product) {
  const before = new Set((await on.all('/calls')).map(({ id }) => id))
  const sipp = await start()
  const call = await on.until('its call', async () => {
    const calls = await on.all('/calls?status=in_progress')
    return calls.find(({ id }) => !before.has(id))
  })
  return { sipp, call }
}

test('a call of SIPp is answered and hung up, over UDP', () => scenario('call', { calls: 3 }))

test('a call of SIPp is answered and hung up, over TCP', () => scenario('call', { calls: 3, transport: 'tcp' }))

for (const name of ['late-offer', 'hold', 'options', 'unknown-dialog', 'unsupported-codec']) {
  test(`${name}: over TCP it goes as over UDP`, () => scenario(name, { transport: 'tcp' }))
}

test('the 2xx is retransmitted until its ACK arrives, and not after (RFC 3261 §13.3.1.4)', async () => {
  const sipp = await scenario('late-ack')
  const oks = sipp.received('SIP/2.0 200').filter(({ text }) => /^CSeq: 1 INVITE/m.test(text))
  assert.is(oks.length, SENT_WITHIN_2500_MS)
})

test('CANCEL is answered 200 and the INVITE 487 (RFC 3261 §9.2)', () => whileUndecided(() => scenario('cancel')))

test('a retransmitted INVITE makes one call, and one To tag (RFC 3261 §17.2.1)', async () => {
  const callsBefore = (await product.all('/calls')).length
  const sipp = await scenario('same-invite-twice')
  const tags = sipp.received('SIP/2.0 200').map(({ text }) => /^To: .*;tag=(\S+)/m.exec(text)?.[1])
  assert.is(new Set(tags).size, 1)
  assert.is((await product.all('/calls')).length, callsBefore + 1)
})

test('an INVITE without an offer gets one in the 200, and the answer in the ACK counts (RFC 3264 §4)', () =>
  scenario('late-offer'))

test('hold is answered recvonly, inactive stays inactive, and sendrecv resumes (RFC 3264 §6.1)', () => scenario('hold'))

test('OPTIONS is answered 200 with Allow and Accept (RFC 3261 §11.2)', () => scenario('options'))

test('a request of an unknown dialog is answered 481 (RFC 3261 §12.2.2)', () => scenario('unknown-dialog'))

test('an offer without a codec of ours is answered 488', () => scenario('unsupported-codec'))

test('a number that nobody has is answered 404', () => scenario('not-found', { to: '4040404' }))

for (const transport of ['udp', 'tcp'] as const) {
  test(`digits that come by overlap are answered 484 until the number is whole, over ${transport} (RFC 3578)`, async () => {
    const match = { to: '49301234' }
    const { id } = await product.ok('POST', '/inbound_routes', { match, target: { type: 'echo' } })
    const sipp = await scenario('overlap', { transport })
    await product.ok('DELETE', `/inbound_routes/${id}`)
    for (const { text } of sipp.received('SIP/2.0 484')) assert.match(text, /^Reason: Q\.850;cause=28/m)
  })
}

test('Record-Route is copied in order, and our BYE follows the route set to the remote target (RFC 3261 §12.1.1, §12.2.1.1)', async () => {
  const { sipp, call } = await startedBy(() => Sipp.caller('record-route', product.sip, { to: '1002' }))
  await product.until('the call is up', async () => (sipp.messages.some(({ text }) => /^ACK/.test(text)) ? true : null))
  await product.ok('POST', `/calls/${call.id}/hangup`)
  await sipp.passed()
  assert.is((await endedCall(product, call.id)).ended_reason, 'api_hangup')
})

test('calls get through when a tenth of the messages is lost in either direction', () =>
  scenario('call', { calls: 20, rate: 10, lostPct: 10 }))

test('above the capacity a call is answered 503 with Retry-After', async () => {
  const small = await Product.start({ env: { TANDEM_MAX_CALLS: '1' } })
  try {
    const { sipp: first, call } = await startedBy(() => Sipp.caller('hung-up', small.sip, { to: '1002' }), small)
    await (await Sipp.caller('no-capacity', small.sip, { to: '1002' })).passed()
    await small.ok('POST', `/calls/${call.id}/hangup`)
    await first.passed()
    await (await Sipp.caller('call', small.sip, { to: '1002' })).passed()
  } finally {
    await small.stop()
  }
})

test.run()
