import * as assert from 'uvu/assert'
import { Phone } from '../../bench/phone/phone.ts'
import type { PhoneCall } from '../../bench/phone/phone-call.ts'
import { levelAt } from '../../bench/spectrum.ts'
import { tone } from '../../bench/voices.ts'
import { spokenTo } from '../e2e/scene.ts'
import { product, sharedSuite } from '../e2e/shared-suite.ts'
import { missingPrograms } from '../harness.ts'
import { Sipp } from './peers/sipp.ts'

const test = sharedSuite('interop/ringing')
const missing = missingPrograms('sipp')
const LIMIT = { timeoutMs: 60_000 }

/** Of whom 5003 and 5005 lead to. */
let member: Phone
test.before(async () => {
  const queue = await product.ok('POST', '/queues', { name: 'Nobody', overflow: { when_no_agents: false } })
  for (const [to, answer] of [
    ['5001', 'when_answered'],
    ['5002', 'early_media'],
  ]) {
    await product.ok('POST', '/inbound_routes', { match: { to }, target: { type: 'queue', id: queue.id }, answer })
  }
  const { user_id: userId } = await product.ok('POST', '/invitations', { email: 'answers@example.com' })
  await product.ok('PATCH', `/users/${userId}`, { status: 'active' })
  member = await Phone.open('answers')
  await member.register(await product.ok('POST', `/users/${userId}/sip_credential`), product.sip)
  for (const [to, answer] of [
    ['5003', 'when_answered'],
    ['5005', 'early_media'],
  ]) {
    await product.ok('POST', '/inbound_routes', { match: { to }, target: { type: 'user', id: userId }, answer })
  }
  const announcement = { match: { to: '5004' }, target: { type: 'announcement' }, answer: 'early_media' }
  await product.ok('POST', '/inbound_routes', announcement)
})

const sippTest = (sentence: string, run: () => unknown): void => {
  test(sentence, run, { ...LIMIT, missing })
}

/** A caller who gives up while it rings; its call is told as one that was never answered. */
async function rings(scenario: string, to: string): Promise<Sipp> {
  const sipp = await Sipp.caller(scenario, product.sip, { to })
  await sipp.passed()
  const call = await product.until('the call has ended', async () => {
    const found = (await product.all('/calls')).find(one => one.to.startsWith(`sip:${to}@`))
    return found?.ended_at == null ? null : found
  })
  assert.equal([call.status, call.answered_at, call.duration_ms], ['cancelled', null, 0])
  return sipp
}

sippTest('a call rings (180) until its caller cancels it: 487, and it was never answered', () =>
  rings('ring-cancel', '5001'),
)

sippTest(
  'a 183 with a description is sent again until its PRACK comes (RFC 3262 §3), and CANCEL ends the call',
  async () => {
    const sipp = await rings('ring-prack', '5002')
    assert.ok(sipp.received('SIP/2.0 183').length > 1)
  },
)

/** Waits until a caller hears all of these frequencies in half a second. */
const hears = (call: PhoneCall, frequenciesHz: readonly number[]): Promise<true> =>
  product.until(`${frequenciesHz.join(' and ')} Hz`, async () => {
    const heard = await call.heard.next(500)
    return frequenciesHz.every(hz => levelAt(hz, heard) > RINGING_DBOV) ? true : null
  })
/** The tone is quieter than people. */
const RINGING_DBOV = -30

for (const [country, frequenciesHz] of [
  [null, [425]],
  ['US', [440, 480]],
  ['GB', [400, 450]],
] as const) {
  test(`early media: a caller hears the ringing tone of the organisation's country (${country ?? 'none: that of E.180'}) before the answer`, async () => {
    await product.ok('PATCH', '/organisation', { country })
    const phone = await Phone.open('listens')
    const call = await phone.dial('5005', product.sip)
    const ringing = await member.next()
    ringing.ring()
    assert.is(await call.ringing, 183)
    await hears(call, frequenciesHz)
    const { data } = await product.ok('GET', '/calls?limit=1')
    assert.equal([data[0].status, data[0].answered_at], ['ringing', null])
    call.cancel()
    assert.is((await call.outcome).status, 487)
    await ringing.ended
    await phone.close()
    await product.ok('PATCH', '/organisation', { country: null })
  })
}

test('early media: an announcement is heard before the answer, and refuses the caller at its end', async () => {
  const phone = await Phone.open('listens')
  const call = await phone.dial('5004', product.sip)
  assert.is(await call.ringing, 183)
  await spokenTo(product, call)
  assert.is((await call.outcome).status, 480)
  await phone.close()
})

test('whoever answers a call that has rung is heard, and hears: 183 or 180, then 200', async () => {
  for (const [to, status] of [
    ['5003', 180],
    ['5005', 183],
  ] as const) {
    const phone = await Phone.open('rings')
    const call = await phone.dial(to, product.sip)
    const ringing = await member.next()
    ringing.ring()
    assert.is(await call.ringing, status)
    ringing.answer()
    assert.is((await call.outcome).status, 200)
    call.say(tone(440))
    ringing.say(tone(700))
    await hears(call, [700])
    await hears(ringing, [440])
    await call.hangup()
    await ringing.ended
    await phone.close()
  }
})

test.run()
