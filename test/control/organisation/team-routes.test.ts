import * as assert from 'uvu/assert'
import { suite } from '../../harness.ts'
import { addMember, makeWholeApp, refusal } from '../whole-app.ts'

const test = suite('control/organisation/team-routes')

test('a team is created with its name, which is required, and PATCH changes only the fields sent', async () => {
  const { live, close } = await makeWholeApp()
  const made = await live('POST /v1/teams', { name: 'Support' })
  assert.is(made.status, 201)
  assert.match(made.body.id, /^team_/)
  assert.equal(
    { ...made.body, id: '' },
    { id: '', object: 'team', livemode: true, name: 'Support', member_count: 0, created: '2026-11-21T10:00:00.000Z' },
  )
  assert.equal(refusal(await live('POST /v1/teams', {})), [400, 'name', undefined])
  assert.equal(refusal(await live('POST /v1/teams', { name: '' })), [400, 'name', undefined])
  assert.equal(refusal(await live('POST /v1/teams', { name: 'x', colour: 'red' })), [400, 'colour', undefined])
  const path = `/v1/teams/${made.body.id}`
  assert.is((await live(`PATCH ${path}`, {})).body.name, 'Support')
  assert.is((await live(`PATCH ${path}`, { name: 'Sales' })).body.name, 'Sales')
  assert.is((await live(`GET ${path}`)).body.name, 'Sales')
  assert.is((await live('PATCH /v1/teams/team_none', { name: 'x' })).status, 404)
  await close()
})

test('member_count is the number of active members', async () => {
  const { live, close } = await makeWholeApp()
  const team_id = (await live('POST /v1/teams', { name: 'Support' })).body.id
  const ann = await addMember(live, 'ann@example.com', { team_id })
  await addMember(live, 'bob@example.com', { team_id })
  await addMember(live, 'eve@example.com')
  await live('POST /v1/invitations', { email: 'new@example.com', team_id })
  assert.is((await live(`GET /v1/teams/${team_id}`)).body.member_count, 2, 'an invited member is not active')
  await live(`PATCH /v1/users/${ann}`, { status: 'deactivated' })
  assert.is((await live('GET /v1/teams')).body.data[0].member_count, 1)
  await close()
})

test('the members of a deleted team stay in the organisation in no team, and queues no longer list it', async () => {
  const { live, close } = await makeWholeApp()
  const team_id = (await live('POST /v1/teams', { name: 'Support' })).body.id
  const ann = await addMember(live, 'ann@example.com', { team_id })
  const gone = await live(`DELETE /v1/teams/${team_id}`)
  assert.equal(gone.body, { object: 'team', id: team_id, deleted: true, livemode: true })
  const user = await live(`GET /v1/users/${ann}`)
  assert.equal([user.body.status, user.body.team_id], ['active', null])
  assert.is((await live(`GET /v1/teams/${team_id}`)).status, 404)
  assert.is((await live(`DELETE /v1/teams/${team_id}`)).status, 404)
  await close()
})

test.run()
