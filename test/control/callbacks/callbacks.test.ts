import * as assert from 'uvu/assert'
import { expireCallbacks, tellMissed } from '../../../control/callbacks/store.ts'
import { insertParty } from '../../../control/calls/records.ts'
import { newId } from '../../../control/kernel/ids.ts'
import { suite } from '../../harness.ts'
import { addMember, makeWholeApp, refusal, type WholeApp } from '../whole-app.ts'

const test = suite('control/callbacks/callbacks')

const DAY_MS = 24 * 60 * 60 * 1000
const PHONE = '+972501234567'

const book = (app: WholeApp, body: object = {}) => app.live('POST /v1/callbacks', { phone: PHONE, ...body })

const setStatus = (app: WholeApp, status: string) =>
  app.store.db
    .updateTable('callbacks')
    .set({ status: status as 'pending' })
    .execute()

/** A call of our organisation in live mode; its ID. */
async function makeCall({ store, ours }: WholeApp): Promise<string> {
  const tenant = { organisationId: ours.organisationId, livemode: true }
  const callId = newId('call')
  const party = {
    callId,
    legId: newId('participant'),
    direction: 'inbound',
    to: '1',
    from: '2',
    target: 'park',
  } as const
  const rest = { roomId: null, connectionId: null, record: false, metadata: {}, role: 'member', muted: false } as const
  await store.transaction(trx => insertParty(trx, tenant, { ...party, ...rest }, '2026-11-21T10:00:00.000Z'))
  return callId
}

test('a callback is booked with the callback settings for what is not sent, and callback.created is emitted', async () => {
  const app = await makeWholeApp()
  await app.live('PATCH /v1/organisation', { callbacks: { api_priority: 7, max_attempts: 4, sla_minutes: 30 } })
  const { status, body } = await book(app, { name: 'Dana', metadata: { order: '42' } })
  assert.is(status, 200)
  assert.match(body.id, /^cb_/)
  assert.equal(body, {
    object: 'callback',
    id: body.id,
    livemode: true,
    phone: PHONE,
    name: 'Dana',
    status: 'pending',
    source: 'api',
    site_id: null,
    due_at: '2026-11-21T10:00:00.000Z',
    window_end: null,
    priority: 7,
    route: 'agent_queue',
    queue_id: null,
    agent_id: null,
    assistant_id: null,
    attempts: 0,
    max_attempts: 4,
    last_attempt_at: null,
    last_result: null,
    call_id: null,
    origin_call_id: null,
    notes: '',
    summary: null,
    sla_at: '2026-11-21T10:30:00.000Z',
    merged_requests: 0,
    context: { web: null },
    metadata: { order: '42' },
    completed_at: null,
    created: '2026-11-21T10:00:00.000Z',
    updated: '2026-11-21T10:00:00.000Z',
  })
  assert.equal((await app.live(`GET /v1/callbacks/${body.id}`)).body, body)
  assert.equal((await app.live('GET /v1/callbacks')).body.data, [body])
  assert.equal((await app.live('GET /v1/callbacks?status=completed')).body.data, [])
  assert.equal((await app.live(`GET /v1/callbacks?phone=${encodeURIComponent(body.phone)}`)).body.data, [body])
  assert.equal((await app.live('GET /v1/callbacks?phone=%2B15551239999')).body.data, [])
  const spaced = (await app.live(`GET /v1/callbacks?phone=${body.phone}`)).body.error
  assert.equal([spaced?.param, spaced?.message.includes('%2B')], ['phone', true], 'a + in a URL is a space')
  assert.is((await app.live('GET /v1/calls?number=+15551239999')).status, 400)
  const misspelt = (await app.live('GET /v1/events?type=callback.creatd')).body.error
  assert.equal([misspelt?.param, misspelt?.message.includes('callback.created?')], ['type', true])
  assert.equal(
    (await app.events('callback.created')).map(data => data.object),
    [body],
  )
  await app.close()
})

test('booking and completing need a live key', async () => {
  const app = await makeWholeApp()
  const booked = await app.test('POST /v1/callbacks', { phone: PHONE })
  assert.equal([booked.status, booked.body.error.code], [403, 'live_key_required'])
  const completed = await app.test('POST /v1/callbacks/cb_1/complete')
  assert.equal([completed.status, completed.body.error.code], [403, 'live_key_required'])
  await app.close()
})

test("phone is E.164, or a local form of the organisation's country", async () => {
  const app = await makeWholeApp()
  assert.equal(refusal(await app.live('POST /v1/callbacks', {})), [400, 'phone', undefined])
  for (const phone of ['050-123-4567', '12', 'call me', '+', '+999999999999999999', 'tel +972501234567 please']) {
    assert.equal(refusal(await book(app, { phone })), [400, 'phone', undefined], phone)
  }
  await app.live('PATCH /v1/organisation', { country: 'IL' })
  assert.is((await book(app, { phone: '050-123-4567' })).body.phone, PHONE)
  assert.is((await book(app, { phone: '+44 20 7946 0018' })).body.phone, '+442079460018')
  assert.equal(refusal(await book(app, { phone: '12' })), [400, 'phone', undefined])
  await app.close()
})

test('due_at is moved into business hours, and sla_at counts them', async () => {
  const app = await makeWholeApp()
  const weekly = [{ day: 'monday', open: '09:00', close: '10:00' }]
  await app.live('PATCH /v1/organisation', { business_hours: { weekly }, timezone: 'Asia/Jerusalem' })
  const now = (await book(app, { phone: '+15550100001' })).body
  assert.equal([now.due_at, now.sla_at], ['2026-11-23T07:00:00.000Z', '2026-11-23T08:00:00.000Z'])
  const later = (await book(app, { phone: '+15550100002', due_at: '2026-11-23T09:30:00+02:00' })).body
  assert.equal([later.due_at, later.sla_at], ['2026-11-23T07:30:00.000Z', '2026-11-30T07:30:00.000Z'])
  const past = (await book(app, { phone: '+15550100003', due_at: '2020-01-01T00:00:00Z' })).body
  assert.is(past.due_at, '2026-11-23T07:00:00.000Z', 'a past time is now')
  const closed = { phone: '+15550100004', window_end: '2026-11-23T07:00:00Z' }
  assert.equal(refusal(await book(app, closed)), [400, 'window_end', undefined])
  await app.close()
})

test('due_at is at most 90 days ahead; window_end lies after it', async () => {
  const app = await makeWholeApp()
  const ahead = (ms: number) => new Date(app.clock.now().getTime() + ms).toISOString()
  const late = await book(app, { phone: '+15550100001', due_at: ahead(90 * DAY_MS + 1) })
  assert.equal(refusal(late), [400, 'due_at', undefined])
  const last = await book(app, { phone: '+15550100001', due_at: ahead(90 * DAY_MS) })
  assert.equal([last.status, last.body.due_at], [200, ahead(90 * DAY_MS)])
  const window = { phone: '+15550100002', due_at: ahead(DAY_MS) }
  assert.equal(refusal(await book(app, { ...window, window_end: ahead(DAY_MS) })), [400, 'window_end', undefined])
  const good = await book(app, { ...window, window_end: '2026-11-23T12:00:00+02:00' })
  assert.is(good.body.window_end, '2026-11-23T10:00:00.000Z')
  assert.equal(refusal(await book(app, { due_at: 'tomorrow' })), [400, 'due_at', undefined])
  await app.close()
})

test('a number with an open callback: the request is merged, merged_requests goes up, that callback is answered', async () => {
  const app = await makeWholeApp()
  const first = (await book(app, { note: 'Wants a quote' })).body
  app.clock.advance(60_000)
  const second = (await book(app, { phone: '+972 50 123 4567', note: 'Called again', priority: 10 })).body
  assert.equal(second, {
    ...first,
    merged_requests: 1,
    notes: '[2026-11-21T10:00:00.000Z, First key] Wants a quote\n[2026-11-21T10:01:00.000Z, First key] Called again',
    updated: '2026-11-21T10:01:00.000Z',
  })
  assert.equal(
    (await app.events('callback.merged')).map(data => [data.previous_attributes, data.object.merged_requests]),
    [[{ merged_requests: 0, notes: first.notes, updated: first.updated }, 1]],
  )
  await app.live(`POST /v1/callbacks/${first.id}/cancel`)
  const third = (await book(app)).body
  assert.not.equal(third.id, first.id)
  assert.is(third.merged_requests, 0)
  const theirs = await app.live('POST /v1/callbacks', { phone: PHONE }, { key: app.theirs.keys.live })
  assert.is(theirs.body.merged_requests, 0, 'organisations are apart')
  await app.close()
})

test('one callback per call: the same call_id again answers the first callback, unchanged, also when it was merged or is closed', async () => {
  const app = await makeWholeApp()
  const [one, two] = [await makeCall(app), await makeCall(app)]
  const first = (await book(app, { call_id: one })).body
  assert.is(first.origin_call_id, one)
  assert.equal((await book(app, { call_id: one, note: 'x' })).body, first)
  assert.equal((await book(app, { call_id: one, phone: '+15550100001' })).body, first)
  const merged = (await book(app, { call_id: two })).body
  assert.equal([merged.id, merged.merged_requests], [first.id, 1])
  assert.is((await book(app, { call_id: two })).body.merged_requests, 1)
  const done = (await app.live(`POST /v1/callbacks/${first.id}/complete`)).body
  assert.equal((await book(app, { call_id: one })).body, done)
  assert.equal(refusal(await book(app, { call_id: 'call_none' })), [400, 'call_id', undefined])
  await app.close()
})

test('route agent needs agent_id and route assistant assistant_id; whoever is named must be there', async () => {
  const app = await makeWholeApp()
  const agent_id = await addMember(app.live, 'ann@example.com')
  const queue_id = (await app.live('POST /v1/queues', { name: 'Support' })).body.id
  for (const [body, param] of [
    [{ route: 'agent' }, 'agent_id'],
    [{ route: 'assistant' }, 'assistant_id'],
    [{ route: 'agent', agent_id: 'usr_none' }, 'agent_id'],
    [{ route: 'assistant', assistant_id: 'asst_none' }, 'assistant_id'],
    [{ queue_id: 'q_none' }, 'queue_id'],
    [{ route: 'pigeon' }, 'route'],
    [{ priority: 0 }, 'priority'],
    [{ priority: 11 }, 'priority'],
    [{ max_attempts: 0 }, 'max_attempts'],
    [{ colour: 'red' }, 'colour'],
  ] as const) {
    assert.equal(refusal(await book(app, body)), [400, param, undefined])
  }
  const good = (await book(app, { route: 'agent', agent_id, queue_id })).body
  assert.equal([good.route, good.agent_id, good.queue_id], ['agent', agent_id, queue_id])
  const kept = await app.live(`DELETE /v1/queues/${queue_id}`)
  assert.equal(kept.body.error.details.used_by, [{ object: 'callback', id: good.id, name: '' }])
  await app.close()
})

test('agent_id is for route agent, assistant_id for route assistant: named alone they are the route, with another one they are refused', async () => {
  const app = await makeWholeApp()
  const { live } = app
  const agent_id = await addMember(live, 'ann@example.com')
  const assistant_id = (await live('POST /v1/assistants', { name: 'Ada' })).body.id
  const shown = ({ body }: { body: Record<string, string> }) => [body.route, body.agent_id, body.assistant_id]
  const made = await book(app, { agent_id })
  assert.equal(shown(made), ['agent', agent_id, null])
  assert.equal(shown(await book(app, { phone: '+15550100001', assistant_id })), ['assistant', null, assistant_id])
  const change = (body: object) => live(`PATCH /v1/callbacks/${made.body.id}`, body)
  for (const [body, param] of [
    [{ route: 'agent_queue', agent_id }, 'agent_id'],
    [{ route: 'agent', agent_id, assistant_id }, 'assistant_id'],
    [{ agent_id, assistant_id }, 'assistant_id'],
  ] as const) {
    assert.equal(refusal(await book(app, { phone: '+15550100002', ...body })), [400, param, undefined])
    assert.equal(refusal(await change(body)), [400, param, undefined])
  }
  assert.equal(refusal(await change({ agent_id: null })), [400, 'agent_id', undefined])
  assert.equal(shown(await change({ assistant_id })), ['assistant', null, assistant_id])
  assert.equal(shown(await change({ name: 'Dana' })), ['assistant', null, assistant_id])
  assert.equal(shown(await change({ route: 'agent_queue' })), ['agent_queue', null, null])
  assert.equal(shown(await change({ agent_id })), ['agent', agent_id, null])
  await app.close()
})

test('complete closes an open callback, adds the note stamped with its time and author, and emits callback.completed', async () => {
  const app = await makeWholeApp()
  const { body: booked } = await book(app)
  const { id } = booked
  app.clock.advance(60_000)
  const { status, body } = await app.live(`POST /v1/callbacks/${id}/complete`, { note: 'Came to the shop' })
  assert.is(status, 200)
  assert.equal(
    [body.status, body.last_result, body.completed_at, body.notes],
    [
      'completed',
      'done-manually',
      '2026-11-21T10:01:00.000Z',
      '[2026-11-21T10:01:00.000Z, First key] Came to the shop',
    ],
  )
  assert.equal(
    (await app.events('callback.completed')).map(data => [data.previous_attributes.status, data.object]),
    [['pending', body]],
  )
  const [{ previous_attributes: was }] = await app.events('callback.completed')
  assert.equal({ ...body, ...was }, booked, 'with what was before, it is what was booked')
  assert.equal(Object.keys(was).sort(), ['completed_at', 'last_result', 'notes', 'status', 'updated'])
  const again = await app.live(`POST /v1/callbacks/${id}/complete`)
  assert.equal(refusal(again), [409, null, 'callback_closed'])
  assert.is((await app.live('POST /v1/callbacks/cb_none/complete')).status, 404)
  await app.close()
})

test('completing or cancelling a callback that is on a call answers 409 and changes nothing', async () => {
  const app = await makeWholeApp()
  const { id } = (await book(app)).body
  for (const status of ['dialing', 'connected']) {
    await setStatus(app, status)
    for (const action of ['complete', 'cancel']) {
      const refused = await app.live(`POST /v1/callbacks/${id}/${action}`)
      assert.equal(refusal(refused), [409, null, 'callback_on_call'])
    }
    assert.is((await app.live(`GET /v1/callbacks/${id}`)).body.status, status)
    assert.is((await book(app)).body.id, id, 'it is open: requests merge into it')
  }
  await setStatus(app, 'offered')
  assert.is((await app.live(`POST /v1/callbacks/${id}/complete`)).body.status, 'completed')
  assert.equal((await app.events('callback.completed')).length, 1)
  await app.close()
})

test('cancel withdraws a waiting callback and emits callback.cancelled', async () => {
  const app = await makeWholeApp()
  const { id } = (await book(app)).body
  const { body } = await app.live(`POST /v1/callbacks/${id}/cancel`)
  assert.equal([body.status, body.last_result, body.completed_at], ['cancelled', null, null])
  assert.equal((await app.events('callback.cancelled')).length, 1)
  assert.equal(refusal(await app.live(`POST /v1/callbacks/${id}/cancel`)), [409, null, 'callback_closed'])
  await app.close()
})

test('an open callback is changed by what is sent; any change of a closed one answers 409', async () => {
  const app = await makeWholeApp()
  const made = (await book(app, { metadata: { a: '1', b: '2' }, name: 'Dana' })).body
  const path = `/v1/callbacks/${made.id}`
  const changed = await app.live(`PATCH ${path}`, {
    priority: 9,
    note: 'Prefers mornings',
    metadata: { b: '3' },
    due_at: '2026-11-22T08:00:00Z',
  })
  assert.equal(changed.body, {
    ...made,
    priority: 9,
    metadata: { a: '1', b: '3' },
    due_at: '2026-11-22T08:00:00.000Z',
    sla_at: '2026-11-22T09:00:00.000Z',
    notes: '[2026-11-21T10:00:00.000Z, First key] Prefers mornings',
  })
  assert.equal(refusal(await app.live(`PATCH ${path}`, { phone: PHONE })), [400, 'phone', undefined])
  assert.equal(refusal(await app.live(`PATCH ${path}`, { route: 'agent' })), [400, 'agent_id', undefined])
  assert.equal(refusal(await app.live(`PATCH ${path}`, { queue_id: 'q_none' })), [400, 'queue_id', undefined])
  const local = await app.live(`PATCH ${path}`, { due_at: '2026-11-22T08:00:00' })
  assert.match(local.body.error.message, 'due_at must be a time with its offset, such as 20')
  const early = await app.live(`PATCH ${path}`, { window_end: '2026-11-22T07:00:00Z' })
  assert.equal(refusal(early), [400, 'window_end', undefined])
  await app.store.db.updateTable('callbacks').set({ attempts: 2 }).execute()
  const used = await app.live(`PATCH ${path}`, { max_attempts: 2 })
  assert.equal(refusal(used), [400, 'max_attempts', undefined], 'it would be called once more')
  assert.is((await app.live(`PATCH ${path}`, { max_attempts: 3 })).status, 200)
  await setStatus(app, 'dialing')
  assert.is((await app.live(`PATCH ${path}`, { max_attempts: 2 })).status, 200, 'this is the second')
  for (const status of ['completed', 'failed', 'cancelled', 'expired']) {
    await setStatus(app, status)
    assert.equal(refusal(await app.live(`PATCH ${path}`, { name: 'x' })), [409, null, 'callback_closed'])
  }
  assert.is((await app.live('PATCH /v1/callbacks/cb_none', {})).status, 404)
  await app.close()
})

test('a window that is moved leaves alone when the callback was due, and by when somebody is to be reached', async () => {
  const app = await makeWholeApp()
  const made = (await book(app)).body
  app.clock.advance(2 * 60 * 60_000)
  const updated = app.clock.now().toISOString()
  const window_end = '2026-11-21T14:00:00.000Z'
  for (const end of [window_end, null])
    assert.equal((await app.live(`PATCH /v1/callbacks/${made.id}`, { window_end: end })).body, {
      ...made,
      window_end: end,
      updated,
    })
  const past = await app.live(`PATCH /v1/callbacks/${made.id}`, { window_end: '2026-11-21T11:00:00.000Z' })
  assert.equal(refusal(past), [400, 'window_end', undefined])
  await app.close()
})

test('a callback that nobody was reached for by sla_at is an event, once; one that was reached in time is none', async () => {
  const app = await makeWholeApp()
  const late = (await book(app, { phone: '+15550100001' })).body
  const reached = (await book(app, { phone: '+15550100002' })).body.id
  const { store, clock } = app
  await store.db.updateTable('callbacks').set({ status: 'connected' }).where('id', '=', reached).execute()
  clock.advance(Date.parse(late.sla_at) - clock.now().getTime())
  assert.is(await tellMissed(store, clock.now()), 0, 'it is in time still')
  clock.advance(1)
  assert.equal(
    await Promise.all([tellMissed(store, clock.now()), tellMissed(store, clock.now())]).then(told => told.sort()),
    [0, 1],
  )
  await store.db.updateTable('callbacks').set({ status: 'dialing' }).where('id', '=', late.id).execute()
  clock.advance(DAY_MS)
  assert.is(await tellMissed(store, clock.now()), 0)
  assert.equal(
    (await app.events('callback.sla_missed')).map(({ object }) => [object.id, object.status]),
    [[late.id, 'pending']],
  )
  await app.close()
})

test('a waiting callback expires past its window, or seven days after it was due; one on a call does not', async () => {
  const app = await makeWholeApp()
  const windowed = (await book(app, { phone: '+15550100001', window_end: '2026-11-21T12:00:00Z' })).body.id
  const old = (await book(app, { phone: '+15550100002' })).body.id
  const booked = (await book(app, { phone: '+15550100003', due_at: '2026-12-21T10:00:00Z' })).body.id
  const expire = () => expireCallbacks(app.store, app.clock.now())
  const statuses = async () =>
    Promise.all([windowed, old, booked].map(async id => (await app.live(`GET /v1/callbacks/${id}`)).body.status))
  app.clock.advance(2 * 60 * 60 * 1000)
  assert.is(await expire(), 0, 'at the end of its window it may still be called')
  app.clock.advance(1)
  assert.is(await expire(), 1)
  assert.equal(await statuses(), ['expired', 'pending', 'pending'])
  app.clock.advance(7 * DAY_MS)
  await app.store.db.updateTable('callbacks').set({ status: 'connected' }).where('id', '=', old).execute()
  assert.is(await expire(), 0)
  await app.store.db.updateTable('callbacks').set({ status: 'offered' }).where('id', '=', old).execute()
  assert.is(await expire(), 1)
  assert.equal(await statuses(), ['expired', 'expired', 'pending'])
  assert.equal(
    (await app.events('callback.expired')).map(data => [data.object.id, data.previous_attributes.status]),
    [
      [windowed, 'pending'],
      [old, 'offered'],
    ],
  )
  assert.is((await book(app, { phone: '+15550100001' })).body.merged_requests, 0)
  await app.close()
})

test.run()
