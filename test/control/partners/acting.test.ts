import * as assert from 'uvu/assert'
import { suite } from '../../harness.ts'
import type { Asked } from '../app-harness.ts'
import { makeWholeApp, type WholeApp } from '../whole-app.ts'

const test = suite('control/partners/acting')

/** A client of ours, and what asks within it with a key of ours. */
async function makeClient({ live }: WholeApp) {
  const { id } = (await live('POST /v1/partner/organisations', { name: 'Client' })).body
  const within = (line: string, body?: unknown, asked: Asked = {}) =>
    live(line, body, { ...asked, headers: { 'service-account': id, ...asked.headers } })
  return { id: id as string, within }
}

const codeOf = ({ status, body }: { status: number; body: { error?: { code: string; param?: string } } }) => [
  status,
  body.error?.code,
]

test('partner accounts act inside a client organisation by sending a header: what they make is its own', async () => {
  const app = await makeWholeApp()
  const { id, within } = await makeClient(app)
  const { secret } = (await app.live(`POST /v1/partner/organisations/${id}/api_keys`, {})).body
  const made = await within('POST /v1/teams', { name: 'Sales' })
  assert.is(made.status, 201)
  assert.equal((await within('GET /v1/teams')).body.data, [made.body])
  assert.equal((await app.live('GET /v1/teams', undefined, { key: secret })).body.data, [made.body], 'by its own key')
  assert.equal((await app.live('GET /v1/teams')).body.data, [], 'without the header it is ours')
  assert.is((await app.live(`GET /v1/teams/${made.body.id}`)).status, 404)
  assert.is((await within('GET /v1/organisation')).body.id, id)
  const logged = (await within('GET /v1/request_logs')).body.data
  assert.ok(
    logged.some((one: { operation: string; status: number }) => one.operation === 'createTeam' && one.status === 201),
  )
  const ours = (await app.live('GET /v1/request_logs')).body.data
  assert.not(
    ours.some((one: { operation: string }) => one.operation === 'createTeam'),
    'it is in the log of the client',
  )
  await app.close()
})

test('a request within a client is kept for its Idempotency-Key there, and not among our own', async () => {
  const app = await makeWholeApp()
  const { within } = await makeClient(app)
  const headers = { 'idempotency-key': 'one' }
  const first = await within('POST /v1/teams', { name: 'Sales' }, { headers })
  const again = await within('POST /v1/teams', { name: 'Sales' }, { headers })
  assert.equal([again.body.id, again.headers['idempotent-replayed']], [first.body.id, 'true'])
  const ours = await app.live('POST /v1/teams', { name: 'Sales' }, { headers })
  assert.equal([ours.status, ours.headers['idempotent-replayed']], [201, undefined])
  assert.is.not(ours.body.id, first.body.id)
  await app.close()
})

test('it needs the scope partners:write beside that of the operation, and a client of this organisation and mode', async () => {
  const app = await makeWholeApp()
  const { id, within } = await makeClient(app)
  const keyWith = async (scopes: string[]) => (await app.live('POST /v1/api_keys', { scopes })).body.secret as string
  const acting = await keyWith(['partners:write', 'users:read'])
  assert.is((await within('GET /v1/teams', undefined, { key: acting })).status, 200)
  assert.equal(codeOf(await within('POST /v1/teams', { name: 'x' }, { key: acting })), [403, 'scope_missing'])
  const reading = await keyWith(['partners:read', 'users:read'])
  assert.equal(codeOf(await within('GET /v1/teams', undefined, { key: reading })), [403, 'scope_missing'])
  const strangers = { key: app.theirs.keys.live }
  assert.equal(codeOf(await within('GET /v1/teams', undefined, strangers)), [403, 'account_invalid'])
  assert.equal(codeOf(await within('GET /v1/teams', undefined, { key: app.ours.keys.test })), [403, 'account_invalid'])
  for (const wrong of ['org_none', '', app.ours.organisationId]) {
    const headers = { 'service-account': wrong }
    assert.equal(codeOf(await app.live('GET /v1/teams', undefined, { headers })), [403, 'account_invalid'], wrong)
  }
  assert.is((await app.live(`GET /v1/partner/organisations/${id}`)).status, 200)
  await app.close()
})

test('a key makes none for a client that may do more or lasts longer than itself', async () => {
  const app = await makeWholeApp()
  const { id } = await makeClient(app)
  const end = '2030-01-01T00:00:00.000Z'
  const scopes = ['partners:write', 'users:read']
  const key = (await app.live('POST /v1/api_keys', { scopes, expires_at: end })).body.secret
  const make = (body: object) => app.live(`POST /v1/partner/organisations/${id}/api_keys`, body, { key })
  assert.equal(codeOf(await make({ scopes: ['calls:write'] })), [403, 'scope_missing'])
  const made = (await make({})).body
  assert.equal([made.scopes, made.expires_at], [scopes, end])
  assert.equal((await make({ scopes: ['users:read'] })).body.scopes, ['users:read'])
  await app.close()
})

test('within a client its suspension and its limit hold, and nobody is within it once it is handed over', async () => {
  const app = await makeWholeApp()
  const { id, within } = await makeClient(app)
  const path = `/v1/partner/organisations/${id}`
  await app.live(`PATCH ${path}`, { limits: { requests_per_second: 1 } })
  const statuses = []
  for (let i = 0; i < 4; i++) statuses.push((await within('GET /v1/teams')).status)
  assert.equal(statuses, [200, 200, 200, 429])
  assert.is((await app.live('GET /v1/teams')).status, 200, 'ours has no such limit')
  await app.live(`PATCH ${path}`, { limits: { requests_per_second: null } })
  assert.is((await within('GET /v1/teams')).status, 200)
  await app.live(`POST ${path}/suspend`)
  assert.equal(codeOf(await within('GET /v1/teams')), [403, 'organisation_suspended'])
  await app.live(`POST ${path}/resume`)
  assert.is((await within('GET /v1/teams')).status, 200)
  await app.live(`POST ${path}/hand_over`)
  assert.equal(codeOf(await within('GET /v1/teams')), [403, 'account_invalid'])
  await app.close()
})

test('an organisation that another one runs makes none itself, which would have no limit of the plan: once handed over it does', async () => {
  const app = await makeWholeApp()
  const { id, within } = await makeClient(app)
  const refused = await within('POST /v1/partner/organisations', { name: 'Its own' })
  assert.equal([refused.status, refused.body.error.details?.reason], [409, 'run_by_partner'])
  const { secret } = (await app.live(`POST /v1/partner/organisations/${id}/hand_over`)).body
  const made = await app.live('POST /v1/partner/organisations', { name: 'Its own' }, { key: secret })
  assert.is(made.status, 201)
  await app.close()
})

test.run()
