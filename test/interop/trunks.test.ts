import * as assert from 'uvu/assert'
import { product, sharedSuite } from '../e2e/shared-suite.ts'
import { missingPrograms } from '../harness.ts'
import { Sipp, type SippOptions } from './peers/sipp.ts'

/** What carriers' interconnect lists require of a trunk: who may call, how often, and why a call ended. */

const missing = missingPrograms('sipp')
const test = sharedSuite('interop/trunks', { timeoutMs: 60_000, missing })
/** Nobody's address, as far as the product knows. */
const STRANGER = '127.0.0.9'
const ACCOUNT = { username: 'pbx-berlin', password: 'correct horse battery' }

test.before(async () => {
  // The demo lets all of this machine in.
  for (const { id } of (await product.ok('GET', '/connections')).data) {
    await product.ok('PATCH', `/connections/${id}`, { allowed_ips: ['127.0.0.1'] })
  }
})

/** A connection that is there while `run` runs, with a number of its own that leads to an echo. */
async function withTrunk(fields: object, run: (number: string, id: string) => Promise<void>): Promise<void> {
  const number = `77${++numbers}`
  const { id } = await product.ok('POST', '/connections', { name: 'Trunk', kind: 'peer', ...fields })
  const route = { match: { to: number, connection_id: id }, target: { type: 'echo' } }
  const { id: routeId } = await product.ok('POST', '/inbound_routes', route)
  try {
    await run(number, id)
  } finally {
    await product.ok('DELETE', `/inbound_routes/${routeId}`)
    await product.ok('DELETE', `/connections/${id}`)
  }
}
let numbers = 0

const call = (scenario: string, to: string, options: SippOptions = {}): Promise<Sipp> =>
  Sipp.caller(scenario, product.sip, { host: STRANGER, to, ...options })

const connectionsOfCalls = async (to: string): Promise<string[]> =>
  (await product.ok('GET', '/calls')).data
    .filter((one: { to: string }) => one.to.startsWith(`sip:${to}@`))
    .map((one: { connection_id: string }) => one.connection_id)

test('a trunk with a password and no addresses calls from anywhere, once it has proven it', () =>
  withTrunk({ inbound_credentials: ACCOUNT }, async (number, id) => {
    const sipp = await call('digest-call', number, { account: ACCOUNT })
    await sipp.passed()
    assert.match(
      sipp.received('SIP/2.0 401')[0]!.text,
      /^WWW-Authenticate: Digest realm="tandem".*algorithm=MD5.*qop="auth"/m,
    )
    assert.equal(await connectionsOfCalls(number), [id])
  }))

test('the trace of a call with a password shows that it was proven, and not how', () =>
  withTrunk({ inbound_credentials: ACCOUNT }, async (number, id) => {
    const sipp = await call('digest-call', number, { account: ACCOUNT })
    await sipp.passed()
    const proof = /response="([0-9a-f]{32})"/.exec(sipp.messages.map(({ text }) => text).join())![1]!
    const { id: callId } = (await product.ok('GET', '/calls')).data.find(
      (one: { connection_id: string }) => one.connection_id === id,
    )
    const trace = await product.until('its BYE is there', async () => {
      const { data } = await product.ok('GET', `/calls/${callId}/sip?limit=100`)
      return JSON.stringify(data).includes('BYE sip:') ? JSON.stringify(data) : null
    })
    const capture = String(await product.download(`/calls/${callId}/sip.pcap`))
    for (const shown of [trace, capture]) {
      assert.match(shown, /Authorization/)
      assert.not.ok(shown.includes(proof))
    }
  }))

test('a wrong password and an account that is none are answered alike, and neither is written anywhere', () =>
  withTrunk({ inbound_credentials: ACCOUNT }, async number => {
    const wrong = { username: ACCOUNT.username, password: 'a wrong guess of it' }
    const unknown = { username: 'nobody-at-all', password: 'another wrong guess' }
    for (const account of [wrong, unknown]) await (await call('digest-refused', number, { account })).passed()
    assert.equal(await connectionsOfCalls(number), [])
    await product.until('it is logged', async () =>
      product.output.includes('a call was refused: its password is wrong') ? true : null,
    )
    for (const secret of [ACCOUNT.password, 'pbx-berlin', 'nobody-at-all', 'wrong guess']) {
      assert.not.ok(product.output.includes(secret), secret)
    }
  }))

test('with a password and addresses a caller needs both', () =>
  withTrunk({ inbound_credentials: { ...ACCOUNT, algorithm: 'MD5' }, allowed_ips: ['127.0.0.8'] }, async number => {
    await (await call('digest-call', number, { account: ACCOUNT, host: '127.0.0.8' })).passed()
    await (await call('digest-refused', number, { account: ACCOUNT })).passed()
  }))

/** Calls SIPp; what the call is when it is over. */
async function outcome(sipp: Sipp) {
  const { id } = await product.ok('POST', '/calls', { to: sipp.uri })
  await sipp.passed()
  return product.until('the call is over', async () => {
    const over = await product.ok('GET', `/calls/${id}`)
    return over.ended_at === null ? null : over
  })
}

test('why a far end refuses or hangs up is shown on the call, by its own words (RFC 3326, RFC 6432)', async () => {
  const refused = { reason: 'SIP;cause=480, Q.850;cause=17;text="User busy"' }
  const no = await outcome(await Sipp.callee('refuses-with-reason', { keys: refused }))
  assert.equal(no.cause, { q850: 17, sip: 480, text: 'User busy', by: 'far_end' })
  assert.equal([no.ended_reason, no.sip_code, no.status], ['busy', 480, 'busy'])

  const reason = 'Q.850;cause=31;text="Normal, unspecified"'
  const sipp = await Sipp.callee('hangs-up-with-reason', { keys: { reason } })
  const gone = await outcome(sipp)
  assert.equal(gone.cause, { q850: 31, sip: null, text: 'Normal, unspecified', by: 'far_end' })
  const told = await product.until('its event', async () =>
    (await product.events()).find(event => event.type === 'call.ended' && event.data.object.id === gone.id),
  )
  assert.equal(told.data.object.cause, gone.cause)
})

test('a refusal without a word of the telephone network is shown as what its status stands for (RFC 3398)', async () => {
  const busy = await outcome(await Sipp.callee('busy'))
  assert.equal(busy.cause, { q850: 17, sip: null, text: null, by: 'far_end' })
})

test('what we refuse, hang up or give up says why by its cause (Q.850)', async () => {
  const refused = await call('not-found', 'nobody', { host: '127.0.0.1' })
  await refused.passed()
  assert.match(refused.received('SIP/2.0 404')[0]!.text, /^Reason: Q\.850;cause=1;text="Unallocated number"\r?$/m)

  const answers = await Sipp.callee('answers')
  const { id } = await product.ok('POST', '/calls', { to: answers.uri })
  await answers.answered(product, id)
  await product.ok('POST', `/calls/${id}/hangup`)
  await answers.passed()
  assert.match(answers.received('BYE')[0]!.text, /^Reason: Q\.850;cause=16;text="Normal call clearing"\r?$/m)
  assert.equal((await product.ok('GET', `/calls/${id}`)).cause, { q850: 16, sip: null, text: null, by: 'tandem' })

  const rings = await Sipp.callee('no-answer')
  const { id: ringing } = await product.ok('POST', '/calls', { to: rings.uri })
  await product.until('it rings', async () =>
    (await product.ok('GET', `/calls/${ringing}`)).status === 'ringing' ? true : null,
  )
  await product.ok('POST', `/calls/${ringing}/hangup`)
  await rings.passed()
  assert.match(rings.received('CANCEL')[0]!.text, /^Reason: Q\.850;cause=16;text="Normal call clearing"\r?$/m)
})

test('of calls that come in at once a connection takes its calls_per_second, and answers 503 with Retry-After to the others', () =>
  withTrunk({ allowed_ips: [STRANGER], calls_per_second: 1 }, async (number, id) => {
    const burst = await call('call-or-503', number, { calls: 6, rate: 1000, lengthMs: 0 })
    await burst.passed()
    const refusals = burst.received('SIP/2.0 503')
    assert.ok(refusals.length >= 1, 'six in some milliseconds')
    for (const { text } of refusals) {
      assert.match(text, /^Retry-After: 1\r?$/m)
      assert.match(text, /^Reason: Q\.850;cause=42/m)
    }
    assert.is(refusals.length + (await connectionsOfCalls(number)).length, 6)
    assert.ok((await connectionsOfCalls(number)).every(one => one === id))
  }))

test.run()
