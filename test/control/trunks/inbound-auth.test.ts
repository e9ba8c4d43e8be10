import * as assert from 'uvu/assert'
import { suite } from '../../harness.ts'
import { makeWholeApp, refusal } from '../whole-app.ts'

const test = suite('control/trunks/inbound-auth')
const SECRET = 'correct horse battery'
const inbound_credentials = { username: 'pbx-berlin', password: SECRET }
const PBX = { name: 'PBX', kind: 'peer' }

test('callers are known by both where a connection has both, else by what it has; the password is never returned, nor stored', async () => {
  const app = await makeWholeApp()
  const { status, body } = await app.live('POST /v1/connections', { ...PBX, inbound_credentials })
  assert.is(status, 201, JSON.stringify(body))
  assert.equal(body.inbound_credentials, { username: 'pbx-berlin', algorithm: 'MD5' })
  assert.is(body.inbound_auth, 'digest')
  const path = `/v1/connections/${body.id}`
  const change = async (fields: object) => (await app.live(`PATCH ${path}`, fields)).body
  assert.is((await change({ allowed_ips: ['192.0.2.7'] })).inbound_auth, 'both')
  assert.is((await change({ inbound_auth: 'digest' })).inbound_auth, 'digest')
  assert.is((await change({ inbound_auth: null })).inbound_auth, 'both')
  const rehashed = await change({ inbound_credentials: { ...inbound_credentials, algorithm: 'SHA-256' } })
  assert.is(rehashed.inbound_credentials.algorithm, 'SHA-256')
  const row = await app.store.db
    .selectFrom('connections')
    .selectAll()
    .where('id', '=', body.id)
    .executeTakeFirstOrThrow()
  assert.not.match(JSON.stringify(row), SECRET)
  assert.not.match(String(row.inbound_ha1_md5), /^[0-9a-f]{32}$/, 'its hash is as good as the password, and sealed')
  const none = await change({ inbound_credentials: null })
  assert.equal([none.inbound_credentials, none.inbound_auth], [null, 'ip'])
  await app.close()
})

test('what would have no effect is refused', async () => {
  const app = await makeWholeApp()
  const refused = async (body: object) =>
    refusal(await app.live('POST /v1/connections', { ...PBX, ...body })).slice(0, 2)
  assert.equal(await refused({ inbound_auth: 'digest' }), [400, 'inbound_credentials'])
  assert.equal(await refused({ inbound_auth: 'both', inbound_credentials }), [400, 'allowed_ips'])
  assert.equal(await refused({ inbound_auth: 'ip', inbound_credentials }), [400, 'inbound_auth'])
  const account = { auth: { username: 'ann', password: 'x' }, host: '192.0.2.50' }
  assert.equal(await refused({ kind: 'registration', ...account, inbound_credentials }), [400, 'inbound_credentials'])
  for (const username of ['live-abc', 'a', 'two words', 'x"y']) {
    const given = { inbound_credentials: { ...inbound_credentials, username } }
    assert.equal(await refused(given), [400, 'inbound_credentials.username'], username)
  }
  const short = { inbound_credentials: { ...inbound_credentials, password: 'short' } }
  assert.equal(await refused(short), [400, 'inbound_credentials.password'])
  await app.close()
})

test('a username names one connection of all organisations', async () => {
  const app = await makeWholeApp()
  const { body } = await app.live('POST /v1/connections', { ...PBX, inbound_credentials })
  const again = await app.live('POST /v1/connections', { ...PBX, inbound_credentials })
  assert.equal([again.status, again.body.error?.details?.reason], [409, 'username_taken'])
  const other = await app.live('POST /v1/connections', PBX)
  const moved = await app.live(`PATCH /v1/connections/${other.body.id}`, { inbound_credentials })
  assert.is(moved.status, 409)
  assert.is((await app.live(`PATCH /v1/connections/${body.id}`, { inbound_credentials })).status, 200, 'its own')
  await app.close()
})

test.run()
