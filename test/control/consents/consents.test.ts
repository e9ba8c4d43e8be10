import * as assert from 'uvu/assert'
import { consentOf, contactProblem } from '../../../control/consents/required.ts'
import { suite } from '../../harness.ts'
import { makeWholeApp, refusal } from '../whole-app.ts'

const test = suite('control/consents')
const PHONE = '+14155550142'
const form = { type: 'form', url: 'https://example.com/newsletter', text: 'Yes, call me.' }
const AT = '2026-11-21T10:00:00.000Z'

test('a consent is written down with its evidence, found by number and purpose, and revoked once', async () => {
  const app = await makeWholeApp()
  const given = await app.live('POST /v1/consents', {
    phone: PHONE,
    purpose: 'marketing',
    evidence: form,
    given_at: '2026-11-01T12:00:00+02:00',
    metadata: { source: 'fair' },
  })
  assert.is(given.status, 201)
  assert.match(given.body.id, /^cns_/)
  assert.equal([given.body.status, given.body.given_at], ['active', '2026-11-01T10:00:00.000Z'])
  assert.equal(given.body.evidence, { call_id: null, offset_ms: null, import_id: null, ...form })
  const query = `phone=${encodeURIComponent(PHONE)}&purpose=marketing&status=`
  assert.equal((await app.live(`GET /v1/consents?${query}active`)).body.data, [given.body])
  assert.equal((await app.test('GET /v1/consents')).body.data, [], 'test mode has its own')
  const revoked = await app.live(`POST /v1/consents/${given.body.id}/revoke`, { reason: 'by e-mail' })
  assert.equal([revoked.body.status, revoked.body.revocation], ['revoked', { reason: 'by e-mail', call_id: null }])
  assert.is((await app.live(`POST /v1/consents/${given.body.id}/revoke`)).status, 409)
  assert.equal((await app.live(`GET /v1/consents?${query}active`)).body.data, [])
  assert.equal((await app.live(`GET /v1/consents?${query}revoked`)).body.data, [revoked.body])
  assert.equal(
    (await app.events('consent.created')).map(({ object }) => object.status),
    ['active'],
  )
  assert.equal(
    (await app.events('consent.revoked')).map(({ previous_attributes: was }) => was.status),
    ['active'],
  )
  await app.close()
})

test('a later consent replaces the one before; one that has expired counts no more', async () => {
  const app = await makeWholeApp()
  const tenant = { organisationId: app.ours.organisationId, livemode: true }
  const give = async (more: object) =>
    (await app.live('POST /v1/consents', { phone: PHONE, purpose: 'call', evidence: form, ...more })).body
  const first = await give({})
  const second = await give({ expires_at: '2026-11-21T12:00:00Z' })
  assert.is((await app.live(`GET /v1/consents/${first.id}`)).body.status, 'replaced')
  const standing = (at: string) => consentOf(app.store.db, tenant, { phone: PHONE, purpose: 'call', at })
  assert.is((await standing(AT))?.id, second.id)
  assert.is(await standing('2026-11-21T12:00:00.000Z'), undefined)
  app.clock.advance(2 * 60 * 60 * 1000)
  assert.is((await app.live(`GET /v1/consents/${second.id}`)).body.status, 'expired')
  assert.equal((await app.live('GET /v1/consents?status=expired')).body.data.length, 1)
  assert.equal((await app.live('GET /v1/consents?status=active')).body.data, [])
  await app.close()
})

test('evidence that proves nothing is refused, and so are times that cannot be', async () => {
  const app = await makeWholeApp()
  for (const [body, param] of [
    [{ evidence: { type: 'call' } }, 'evidence.call_id'],
    [{ evidence: { type: 'call', call_id: 'call_nowhere' } }, 'evidence.call_id'],
    [{ evidence: { type: 'form' } }, 'evidence.url'],
    [{ evidence: { ...form, offset_ms: 3 } }, 'evidence.offset_ms'],
    [{ evidence: form, given_at: '2026-11-22T10:00:00Z' }, 'given_at'],
    [{ evidence: form, expires_at: '2026-11-20T10:00:00Z' }, 'expires_at'],
    [{ evidence: form, phone: '0415' }, 'phone'],
  ] as const) {
    const answer = await app.live('POST /v1/consents', { phone: PHONE, purpose: 'call', ...body })
    assert.equal(refusal(answer).slice(0, 2), [400, param])
  }
  await app.close()
})

test('where an organisation demands consent to call, a number without one is not called, and one with it is', async () => {
  const app = await makeWholeApp()
  const tenant = { organisationId: app.ours.organisationId, livemode: true }
  const codeOf = async () => (await app.live('POST /v1/calls', { to: PHONE })).body.error.code
  assert.is(await codeOf(), 'parameter_invalid', 'there is no trunk')
  const organisation = await app.live('PATCH /v1/organisation', { require_consent: ['call'] })
  assert.equal(organisation.body.require_consent, ['call'])
  assert.is(await codeOf(), 'consent_missing')
  assert.is((await app.live('POST /v1/calls', { to: 'sip:ann@192.0.2.1' })).body.error.code, 'parameter_invalid')
  const asked = (more: object = {}) => contactProblem(app.store.db, tenant, { to: PHONE, at: AT, ...more })
  assert.is((await asked())?.problem, 'consent_missing')
  await app.live('POST /v1/consents', { phone: PHONE, purpose: 'call', evidence: form })
  assert.is(await codeOf(), 'parameter_invalid')
  assert.is(await asked(), null)
  assert.equal((await asked({ purposes: ['marketing'] }))?.details, { purpose: 'marketing' })
  await app.live('POST /v1/do_not_call', { phone: PHONE })
  assert.is((await asked())?.problem, 'do_not_call', 'the list is above any consent')
  await app.live('PATCH /v1/organisation', { require_consent: [] })
  assert.is((await asked())?.problem, 'do_not_call')
  await app.close()
})

test.run()
