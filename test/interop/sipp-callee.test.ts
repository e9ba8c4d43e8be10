// Sleeps most: it waits most of the time, and judges only sounds that last.
import { createHash } from 'node:crypto'
import * as assert from 'uvu/assert'
import { endedCall } from '../e2e/scene.ts'
import { product, sharedSuite } from '../e2e/shared-suite.ts'
import { missingPrograms } from '../harness.ts'
import { Sipp } from './peers/sipp.ts'
import { withoutOptions } from './peers/without-options.ts'

const missing = missingPrograms('sipp')
const test = sharedSuite('interop/sipp-callee', { timeoutMs: 60_000, missing })
const CREDENTIALS = { username: 'tandem', password: 'open-sesame' }
const md5 = (text: string): string => createHash('md5').update(text).digest('hex')

/** SIPp waits with this scenario and is dialled. */
async function dialled(scenario: string, fields: object = {}) {
  const sipp = await Sipp.callee(scenario)
  const call = await product.ok('POST', '/calls', { to: sipp.uri, ...fields })
  return { sipp, call }
}

/** The call after SIPp has done its part. */
async function outcome(scenario: string, fields: object = {}) {
  const { sipp, call } = await dialled(scenario, fields)
  await sipp.passed()
  const { status, ended_reason, sip_code } = await endedCall(product, call.id)
  return { status, ended_reason, sip_code }
}

test('a dialled phone rings, answers, and is hung up by the API', async () => {
  const { sipp, call } = await dialled('answers')
  await sipp.answered(product, call.id)
  await product.ok('POST', `/calls/${call.id}/hangup`)
  await sipp.passed()
  const ended = await endedCall(product, call.id)
  assert.equal([ended.status, ended.ended_reason], ['completed', 'api_hangup'])
  const types = (await product.events()).filter(event => event.data.object.id === call.id).map(event => event.type)
  assert.equal(types, ['call.created', 'call.ringing', 'call.answered', 'call.ended'])
})

test('a dialled phone that hangs up completes the call', async () => {
  const { status, ended_reason } = await outcome('answers-and-hangs-up')
  assert.equal([status, ended_reason], ['completed', 'caller_hangup'])
})

test('a phone that is called over TCP rings, answers and is hung up, says that it is busy, and is cancelled', async () => {
  const over = async (scenario: string, fields: object = {}) => {
    const sipp = await Sipp.callee(scenario, { transport: 'tcp' })
    const call = await product.ok('POST', '/calls', { to: `${sipp.uri};transport=tcp`, ...fields })
    return { sipp, id: call.id as string }
  }
  const { sipp, id } = await over('answers')
  await sipp.answered(product, id)
  await product.ok('POST', `/calls/${id}/hangup`)
  await sipp.passed()
  const busy = await over('busy')
  await busy.sipp.passed()
  assert.is((await endedCall(product, busy.id)).sip_code, 486)
  const rings = await over('no-answer', { timeout_s: 5 })
  await rings.sipp.passed()
  assert.is((await endedCall(product, rings.id)).status, 'no_answer')
})

test('486 makes the call busy', async () => {
  assert.equal(await outcome('busy'), { status: 'busy', ended_reason: 'busy', sip_code: 486 })
})

test('484 says that there is no such number, and why: more digits are wanted (Q.850 cause 28)', async () => {
  const { sipp, call } = await dialled('incomplete')
  await sipp.passed()
  const { status, ended_reason, sip_code, cause } = await endedCall(product, call.id)
  assert.equal([status, ended_reason, sip_code, cause.q850], ['failed', 'not_found', 484, 28])
})

test('603 rejects the call', async () => {
  assert.equal(await outcome('declines'), { status: 'failed', ended_reason: 'rejected', sip_code: 603 })
})

test('a redirection is not followed: the call is rejected', async () => {
  assert.equal(await outcome('moved'), { status: 'failed', ended_reason: 'rejected', sip_code: 302 })
})

test('a phone that only rings is cancelled when the time is over (RFC 3261 §9.1)', async () => {
  const { status, ended_reason } = await outcome('no-answer', { timeout_s: 5 })
  assert.equal([status, ended_reason], ['no_answer', 'no_answer'])
})

test('early media in a 183 does not answer the call, its 200 does', async () => {
  const { sipp, call } = await dialled('early-media')
  await sipp.answered(product, call.id)
  const ok = sipp.messages.findLast(({ sent, startLine }) => sent && startLine.startsWith('SIP/2.0 200'))
  assert.ok(ok !== undefined, 'answered by the 183')
  await product.ok('POST', `/calls/${call.id}/hangup`)
  await sipp.passed()
})

/** Dials a number over a trunk that wants credentials, until SIPp has seen the end. */
async function overTrunk(scenario: string): Promise<Sipp> {
  const sipp = await Sipp.callee(scenario)
  const door = await withoutOptions(sipp)
  const trunk = { name: scenario, kind: 'trunk', host: '127.0.0.1', port: door.port, auth: CREDENTIALS }
  const { id } = await product.ok('POST', '/connections', trunk)
  const call = await product.ok('POST', '/calls', { to: '+15551234567' })
  await sipp.answered(product, call.id)
  await product.ok('POST', `/calls/${call.id}/hangup`)
  await sipp.passed()
  await product.ok('DELETE', `/connections/${id}`)
  door.close()
  return sipp
}

test("a carrier's 401 is answered with the connection's credentials, and SIPp finds them right (RFC 3261 §22.2)", () =>
  overTrunk('wants-credentials'))

test("a proxy's 407 is answered with the digest of RFC 7616 §3.4.1 (RFC 3261 §22.3)", async () => {
  const sipp = await overTrunk('proxy-wants-credentials')
  const header = sipp
    .received('INVITE')
    .at(-1)!
    .text.match(/^Proxy-Authorization: Digest (.*)$/m)![1]!
  const field = (name: string): string => new RegExp(`\\b${name}="?([^",\\s]+)`).exec(header)![1]!
  const secret = md5(`${CREDENTIALS.username}:carrier:${CREDENTIALS.password}`)
  const request = md5(`INVITE:${field('uri')}`)
  const parts = [secret, field('nonce'), field('nc'), field('cnonce'), 'auth', request]
  assert.is(field('response'), md5(parts.join(':')))
})

test.run()
