import * as assert from 'uvu/assert'
import { suite } from '../../harness.ts'
import { addMember, makeWholeApp, refusal } from '../whole-app.ts'

const test = suite('control/organisation/user-routes')

test('an invitation makes a member with status invited, and answers without the address of another organisation', async () => {
  const { live, test: inTest, close } = await makeWholeApp()
  const made = await live('POST /v1/invitations', { email: 'Ann@Example.com', name: 'Ann', role: 'supervisor' })
  assert.is(made.status, 201)
  assert.match(made.body.id, /^inv_/)
  assert.equal([made.body.object, made.body.email, made.body.role], ['invitation', 'ann@example.com', 'supervisor'])
  assert.is(made.body.expires_at, '2026-12-05T10:00:00.000Z')
  const user = (await live(`GET /v1/users/${made.body.user_id}`)).body
  assert.equal(
    { ...user, id: '' },
    {
      id: '',
      object: 'user',
      livemode: true,
      name: 'Ann',
      email: 'ann@example.com',
      email_verified: false,
      role: 'supervisor',
      status: 'invited',
      team_id: null,
      extension: null,
      billing: false,
      takes_seat: true,
      last_login: null,
      created: '2026-11-21T10:00:00.000Z',
    },
  )
  const again = await live('POST /v1/invitations', { email: 'ann@example.com' })
  assert.equal(refusal(again), [409, null, 'email_taken'])
  assert.is((await inTest('POST /v1/invitations', { email: 'ann@example.com' })).status, 201, 'modes are apart')
  assert.equal(refusal(await live('POST /v1/invitations', { email: 'nobody' })), [400, 'email', undefined])
  const lost = await live('POST /v1/invitations', { email: 'bob@example.com', team_id: 'team_none' })
  assert.equal(refusal(lost), [400, 'team_id', undefined])
  await close()
})

test('the list has deactivated members too, newest first, and takes role, status and team_id', async () => {
  const { live, close } = await makeWholeApp()
  const team_id = (await live('POST /v1/teams', { name: 'Support' })).body.id
  const ann = await addMember(live, 'ann@example.com', { role: 'owner' })
  const bob = await addMember(live, 'bob@example.com', { team_id })
  const eve = (await live('POST /v1/invitations', { email: 'eve@example.com', team_id, role: 'admin' })).body.user_id
  await live(`PATCH /v1/users/${bob}`, { status: 'deactivated' })
  const ids = async (query: string) =>
    (await live(`GET /v1/users${query}`)).body.data.map((user: { id: string }) => user.id)
  assert.equal(await ids(''), [eve, bob, ann])
  assert.equal(await ids('?role=owner'), [ann])
  assert.equal(await ids('?status=deactivated'), [bob])
  assert.equal(await ids('?status=invited'), [eve])
  assert.equal(await ids(`?team_id=${team_id}`), [eve, bob])
  assert.equal(await ids(`?team_id=${team_id}&role=admin&limit=1`), [eve])
  assert.equal(await ids('?team_id=team_none'), [])
  assert.equal(refusal(await live('GET /v1/users?role=boss')), [400, 'role', undefined])
  assert.equal(refusal(await live('GET /v1/users?status=gone')), [400, 'status', undefined])
  assert.equal(refusal(await live('GET /v1/users?limit=101')), [400, 'limit', undefined])
  await close()
})

test('a member is changed by what is sent; an extension belongs to one member', async () => {
  const { live, close } = await makeWholeApp()
  const ann = await addMember(live, 'ann@example.com', { extension: '201' })
  const bob = await addMember(live, 'bob@example.com')
  const team_id = (await live('POST /v1/teams', { name: 'Support' })).body.id
  const changed = await live(`PATCH /v1/users/${bob}`, { team_id, extension: '202', takes_seat: false })
  assert.equal([changed.body.team_id, changed.body.extension, changed.body.takes_seat], [team_id, '202', false])
  assert.is((await live(`PATCH /v1/users/${bob}`, { name: 'Bob' })).body.extension, '202')
  assert.is((await live(`PATCH /v1/users/${bob}`, { extension: null })).body.extension, null)
  assert.equal(refusal(await live(`PATCH /v1/users/${bob}`, { extension: '201' })), [409, null, 'extension_taken'])
  assert.is((await live(`PATCH /v1/users/${ann}`, { extension: '201' })).status, 200)
  assert.equal(refusal(await live(`PATCH /v1/users/${bob}`, { team_id: 'team_x' })), [400, 'team_id', undefined])
  assert.equal(refusal(await live(`PATCH /v1/users/${bob}`, { status: 'invited' })), [400, 'status', undefined])
  assert.equal(refusal(await live(`PATCH /v1/users/${bob}`, { email: 'x@y.z' })), [400, 'email', undefined])
  assert.is((await live('PATCH /v1/users/usr_none', {})).status, 404)
  await close()
})

test('`billing` follows from the role and cannot be set; `takes_seat` counts in the usage while the member is active', async () => {
  const { live, close } = await makeWholeApp()
  const ann = await addMember(live, 'ann@example.com')
  assert.equal(refusal(await live(`PATCH /v1/users/${ann}`, { billing: true })).slice(0, 2), [400, 'billing'])
  const invited = await live('POST /v1/invitations', { email: 'bob@example.com', billing: true })
  assert.equal(refusal(invited).slice(0, 2), [400, 'billing'])
  assert.is((await live(`GET /v1/users/${ann}`)).body.billing, false)
  assert.is((await live(`PATCH /v1/users/${ann}`, { role: 'owner' })).body.billing, true)
  const seats = async () => (await live('GET /v1/usage')).body.seats
  const cid = await addMember(live, 'cid@example.com')
  await live('POST /v1/invitations', { email: 'not-yet@example.com' })
  assert.is(await seats(), 2)
  await live(`PATCH /v1/users/${cid}`, { takes_seat: false })
  assert.is(await seats(), 1)
  await live(`PATCH /v1/users/${ann}`, { status: 'deactivated' })
  assert.is(await seats(), 0)
  await close()
})

test.run()
