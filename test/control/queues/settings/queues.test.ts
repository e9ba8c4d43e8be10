import * as assert from 'uvu/assert'
import { NO_AUDIO_DEFAULTS } from '../../../../control/calls/sound/audio-schema.ts'
import { NO_CAPTURE } from '../../../../control/capture-settings/settings.ts'
import { forTenant } from '../../../../control/kernel/tenancy.ts'
import { suite } from '../../../harness.ts'
import { addMember, makeWholeApp, refusal, type WholeApp } from '../../whole-app.ts'

const test = suite('control/queues/settings/queues')

const addQueue = async ({ live }: Pick<WholeApp, 'live'>, more: object = {}): Promise<string> => {
  const { body, status, text } = await live('POST /v1/queues', { name: 'Queue', ...more })
  assert.is(status, 201, text)
  return body.id
}

test('a queue needs a name; every other field has a default', async () => {
  const { live, close } = await makeWholeApp()
  const made = await live('POST /v1/queues', { name: 'Support' })
  assert.is(made.status, 201)
  assert.match(made.body.id, /^q_/)
  assert.equal(made.body, {
    id: made.body.id,
    object: 'queue',
    livemode: true,
    name: 'Support',
    enabled: true,
    strategy: 'longest_idle',
    member_user_ids: [],
    member_team_ids: [],
    ring_timeout_seconds: 20,
    max_wait_seconds: 300,
    wrap_up_seconds: 0,
    away_on_missed: true,
    voice_assistant_id: null,
    copilot_profile_id: null,
    overflow: {
      when_no_agents: false,
      action: 'voicemail',
      assistant_id: null,
      user_id: null,
      queue_id: null,
      number: '',
    },
    voicemail: { message: '', max_seconds: 120 },
    hold: {
      audio: 'music',
      audio_asset_id: null,
      announcement: '',
      announce_position: false,
      position_interval_seconds: 60,
    },
    wait_keys: { voicemail: '', callback: '' },
    callbacks: {
      route: 'agent_queue',
      agent_id: null,
      assistant_id: null,
      priority: 5,
      voicemail_to_callback: false,
    },
    created: '2026-11-21T10:00:00.000Z',
    updated: '2026-11-21T10:00:00.000Z',
    ...NO_AUDIO_DEFAULTS,
    ...NO_CAPTURE,
  })
  assert.equal((await live(`GET /v1/queues/${made.body.id}`)).body, made.body)
  assert.equal((await live('GET /v1/queues')).body.data, [made.body])
  assert.equal(refusal(await live('POST /v1/queues', {})), [400, 'name', undefined])
  await close()
})

test('PATCH updates the fields sent: nested objects merge with stored values, lists replace them', async () => {
  const app = await makeWholeApp()
  const [ann, bob] = [await addMember(app.live, 'ann@example.com'), await addMember(app.live, 'bob@example.com')]
  const id = await addQueue(app, { member_user_ids: [ann], hold: { announcement: 'Hello' } })
  const before = (await app.live(`GET /v1/queues/${id}`)).body
  app.clock.advance(1000)
  const { body } = await app.live(`PATCH /v1/queues/${id}`, {
    enabled: false,
    strategy: 'round_robin',
    member_user_ids: [bob],
    overflow: { when_no_agents: true, action: 'number', number: '+15550100100' },
    hold: { announce_position: true },
    wait_keys: { callback: '1' },
    callbacks: { priority: 9 },
  })
  assert.equal(body, {
    ...before,
    enabled: false,
    strategy: 'round_robin',
    member_user_ids: [bob],
    overflow: { ...before.overflow, when_no_agents: true, action: 'number', number: '+15550100100' },
    hold: { ...before.hold, announcement: 'Hello', announce_position: true },
    wait_keys: { voicemail: '', callback: '1' },
    callbacks: { ...before.callbacks, priority: 9 },
    updated: '2026-11-21T10:00:01.000Z',
  })
  assert.equal((await app.live(`PATCH /v1/queues/${id}`, {})).body, body)
  assert.equal((await app.live(`GET /v1/queues/${id}`)).body, body)
  assert.is((await app.live('PATCH /v1/queues/q_none', {})).status, 404)
  await app.close()
})

test('a value out of its bounds, an unknown field and a wrong type answer 400 with the path of the parameter', async () => {
  const app = await makeWholeApp()
  const id = await addQueue(app)
  for (const [body, param] of [
    [{ strategy: 'random' }, 'strategy'],
    [{ overflow: { action: 'explode' } }, 'overflow.action'],
    [{ overflow: { colour: 'red' } }, 'overflow.colour'],
    [{ overflow: { number: '0555' } }, 'overflow.number'],
    [{ callbacks: { priority: 0 } }, 'callbacks.priority'],
    [{ callbacks: { priority: 11 } }, 'callbacks.priority'],
    [{ ring_timeout_seconds: '20' }, 'ring_timeout_seconds'],
    [{ max_wait_seconds: -1 }, 'max_wait_seconds'],
    [{ wait_keys: { voicemail: '12' } }, 'wait_keys.voicemail'],
    [{ member_user_ids: ['usr_1', 7] }, 'member_user_ids[1]'],
    [{ hold: { audio: 'jazz' } }, 'hold.audio'],
    [{ id: 'q_1' }, 'id'],
    [{ created: '2026-01-01T00:00:00Z' }, 'created'],
  ] as const) {
    assert.equal(refusal(await app.live(`PATCH /v1/queues/${id}`, body)), [400, param, undefined])
  }
  assert.is((await app.live(`PATCH /v1/queues/${id}`, { max_wait_seconds: 0 })).status, 200, '0: no limit')
  await app.close()
})

test('whoever a queue names must be there, in this organisation and mode', async () => {
  const app = await makeWholeApp()
  const id = await addQueue(app)
  const other = await addMember(app.test, 'ann@example.com')
  const ann = await addMember(app.live, 'ann@example.com')
  for (const [body, param] of [
    [{ member_user_ids: [ann, other] }, 'member_user_ids[1]'],
    [{ member_team_ids: ['team_none'] }, 'member_team_ids[0]'],
    [{ overflow: { action: 'assistant', assistant_id: 'asst_none' } }, 'overflow.assistant_id'],
    [{ overflow: { action: 'agent', user_id: other } }, 'overflow.user_id'],
    [{ overflow: { action: 'queue', queue_id: 'q_none' } }, 'overflow.queue_id'],
    [{ hold: { audio: 'asset', audio_asset_id: 'aud_none' } }, 'hold.audio_asset_id'],
    [{ callbacks: { route: 'agent', agent_id: 'usr_none' } }, 'callbacks.agent_id'],
    [{ callbacks: { assistant_id: 'asst_none' } }, 'callbacks.assistant_id'],
    [{ voice_assistant_id: 'asst_none' }, 'voice_assistant_id'],
    [{ copilot_profile_id: 'cop_none' }, 'copilot_profile_id'],
  ] as const) {
    assert.equal(refusal(await app.live(`PATCH /v1/queues/${id}`, body)), [400, param, undefined])
    assert.equal(refusal(await app.live('POST /v1/queues', { name: 'x', ...body })), [400, param, undefined])
  }
  const good = await app.live(`PATCH /v1/queues/${id}`, { overflow: { action: 'agent', user_id: ann } })
  assert.is(good.body.overflow.user_id, ann)
  await app.close()
})

test('an action names what it acts on, and one key does not mean two things', async () => {
  const app = await makeWholeApp()
  const id = await addQueue(app)
  for (const [body, param] of [
    [{ overflow: { action: 'assistant' } }, 'overflow.assistant_id'],
    [{ overflow: { action: 'agent' } }, 'overflow.user_id'],
    [{ overflow: { action: 'queue' } }, 'overflow.queue_id'],
    [{ overflow: { action: 'number' } }, 'overflow.number'],
    [{ hold: { audio: 'asset' } }, 'hold.audio_asset_id'],
    [{ callbacks: { route: 'agent' } }, 'callbacks.agent_id'],
    [{ callbacks: { route: 'assistant' } }, 'callbacks.assistant_id'],
    [{ wait_keys: { voicemail: '*', callback: '*' } }, 'wait_keys.callback'],
  ] as const) {
    assert.equal(refusal(await app.live(`PATCH /v1/queues/${id}`, body)), [400, param, undefined])
  }
  await app.close()
})

test('queues do not overflow in a loop', async () => {
  const app = await makeWholeApp()
  const into = (queue_id: string) => ({ overflow: { action: 'queue', queue_id } })
  const first = await addQueue(app)
  const second = await addQueue(app, into(first))
  const third = await addQueue(app, into(second))
  const loop = [400, 'overflow.queue_id', undefined]
  assert.equal(refusal(await app.live(`PATCH /v1/queues/${first}`, into(first))), loop)
  assert.equal(refusal(await app.live(`PATCH /v1/queues/${first}`, into(third))), loop)
  const harmless = { overflow: { action: 'busy', queue_id: third } }
  assert.is((await app.live(`PATCH /v1/queues/${first}`, harmless)).status, 200, 'busy overflows into no queue')
  assert.equal(refusal(await app.live(`PATCH /v1/queues/${first}`, { overflow: { action: 'queue' } })), loop)
  await app.close()
})

test('the queues a user answers are those that list the user or the team of the user', async () => {
  const app = await makeWholeApp()
  const team = (await app.live('POST /v1/teams', { name: 'Support' })).body.id
  const ann = await addMember(app.live, 'ann@example.com', { team_id: team })
  const byName = await addQueue(app, { member_user_ids: [ann] })
  const byTeam = await addQueue(app, { member_team_ids: [team] })
  await addQueue(app)
  const answered = async () => (await app.live(`GET /v1/agents/${ann}/status`)).body.queue_ids
  assert.equal(await answered(), [byName, byTeam])
  await app.live(`DELETE /v1/teams/${team}`)
  assert.equal(await answered(), [byName], 'queues listing a deleted team no longer reach its members through it')
  assert.equal((await app.live(`GET /v1/queues/${byTeam}`)).body.member_team_ids, [])
  await app.live(`PATCH /v1/users/${ann}`, { status: 'deactivated' })
  assert.equal(await answered(), [])
  await app.close()
})

test('a queue that another overflows into, or in which calls wait, is not deleted: 409', async () => {
  const app = await makeWholeApp()
  const first = await addQueue(app)
  const second = await addQueue(app, { overflow: { action: 'queue', queue_id: first } })
  const refused = await app.live(`DELETE /v1/queues/${first}`)
  assert.equal(refusal(refused), [409, null, 'in_use'])
  assert.equal(refused.body.error.details.used_by, [{ object: 'queue', id: second, name: 'Queue' }])
  const gone = await app.live(`DELETE /v1/queues/${second}`)
  assert.equal(gone.body, { object: 'queue', id: second, deleted: true, livemode: true })
  const tables = forTenant(app.store.db, { organisationId: app.ours.organisationId, livemode: true })
  await tables.insert('queue_calls', { id: 'call_1', queue_id: first, joined_at: '2026', offered_to: null })
  assert.equal(refusal(await app.live(`DELETE /v1/queues/${first}`)), [409, null, 'in_use'])
  assert.is((await app.live('DELETE /v1/queues/q_none')).status, 404)
  await app.close()
})

test('the calls of a queue are those that wait in it, newest first, each with its place', async () => {
  const app = await makeWholeApp()
  const [id, other] = [await addQueue(app), await addQueue(app)]
  assert.equal((await app.live(`GET /v1/queues/${id}/calls`)).body, {
    object: 'list',
    data: [],
    has_more: false,
    next_cursor: null,
    url: `/v1/queues/${id}/calls`,
  })
  const tables = forTenant(app.store.db, { organisationId: app.ours.organisationId, livemode: true })
  const join = (call: string, queue_id: string, joined_at: string) =>
    tables.insert('queue_calls', { id: call, queue_id, joined_at, offered_to: null })
  await join('call_1', id, '2026-11-21T10:00:00.000Z')
  await join('call_2', id, '2026-11-21T10:00:01.000Z')
  await join('call_3', other, '2026-11-21T10:00:00.000Z')
  const { data } = (await app.live(`GET /v1/queues/${id}/calls`)).body
  assert.equal(
    data.map((call: { call_id: string; position: number }) => [call.call_id, call.position]),
    [
      ['call_2', 2],
      ['call_1', 1],
    ],
  )
  assert.is((await app.live('GET /v1/queues/q_none/calls')).status, 404)
  await app.close()
})

test.run()
