import * as assert from 'uvu/assert'
import type { CallRow } from '../../../control/calls/tables.ts'
import { newId } from '../../../control/kernel/ids.ts'
import { sha256 } from '../../../control/kernel/secrets.ts'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import { suite } from '../../harness.ts'
import { addMember, makeWholeApp, refusal, type WholeApp } from '../whole-app.ts'

const test = suite('control/rooms/conference-rooms')

const tenantOf = ({ ours }: WholeApp) => ({ organisationId: ours.organisationId, livemode: true })

const create = async ({ live }: WholeApp, more: object = {}) =>
  (await live('POST /v1/conference_rooms', { name: 'Board', ...more })).body

/** A session in the room, with this many who came in and one who did not. */
async function addSession(world: WholeApp, roomId: string, more: Partial<CallRow> = {}, seated = 0): Promise<string> {
  const tables = forTenant(world.store.db, tenantOf(world))
  const id = newId('call')
  const at = world.clock.now().toISOString()
  await tables.insert('calls', {
    id,
    kind: 'conference',
    status: 'completed',
    direction: 'inbound',
    to_address: roomId,
    from_address: '',
    target: 'room',
    room_id: roomId,
    connection_id: null,
    record: 0,
    metadata: '{}',
    ended_reason: null,
    sip_code: null,
    created: at,
    ringing_at: null,
    answered_at: at,
    ended_at: new Date(world.clock.now().getTime() + 90_000).toISOString(),
    ...more,
  })
  for (let i = 0; i <= seated; i++) {
    await tables.insert('participants', {
      id: newId('participant'),
      call_id: id,
      session_call_id: id,
      step: 'ended',
      leave_prompt: null,
      leave_reason: null,
      prompted: 0,
      pin_tries: 0,
      role: 'member',
      muted: 0,
      deaf: 0,
      joined_at: i < seated ? at : null,
      left_at: at,
      quality: null,
      created: at,
    })
  }
  return id
}

test('a new guest link replaces the previous one at once, and is shown only in that response', async () => {
  const world = await makeWholeApp()
  const { live, close, clock } = world
  const { join_url: first, ...room } = await create(world)
  clock.advance(1000)
  const answer = await live(`POST /v1/conference_rooms/${room.id}/links`)
  assert.is(answer.status, 200)
  const { join_url: second, ...rest } = answer.body
  assert.equal(rest, { ...room, updated: '2026-11-21T10:00:01.000Z' })
  assert.match(second, /^http:\/\/127\.0\.0\.1:8080\/join\/guest_/)
  const row = await forTenant(world.store.db, tenantOf(world)).find('conference_rooms', room.id)
  const token = (url: string): string => url.slice(url.lastIndexOf('/') + 1)
  assert.is(row?.link_hash, sha256(token(second)), 'the new link is the one that is known')
  assert.is.not(row?.link_hash, sha256(token(first)))
  for (const line of [`GET /v1/conference_rooms/${room.id}`, 'GET /v1/conference_rooms']) {
    const { text } = await live(line)
    assert.not.match(text, 'join_url')
    assert.not.match(text, token(second))
  }
  assert.equal(refusal(await live(`POST /v1/conference_rooms/${room.id}/links`, { a: 1 })), [400, 'a', undefined])
  assert.is((await live('POST /v1/conference_rooms/room_none/links', {})).status, 404)
  await close()
})

test('a link made again with the same Idempotency-Key is the same link', async () => {
  const world = await makeWholeApp()
  const { id } = await create(world)
  const again = () =>
    world.live(`POST /v1/conference_rooms/${id}/links`, {}, { headers: { 'idempotency-key': 'link' } })
  assert.is((await again()).body.join_url, (await again()).body.join_url)
  await world.close()
})

test('a room has the defaults of its settings and schedule, and what is sent of them', async () => {
  const world = await makeWholeApp()
  const room = await create(world, { settings: { record: true }, schedule: { timezone: 'Asia/Jerusalem' } })
  assert.equal(room.schedule, { start_at: null, end_at: null, recurrence: 'none', timezone: 'Asia/Jerusalem' })
  assert.equal([room.settings.record, room.settings.announce, room.settings.language], [true, true, 'en'])
  assert.equal([room.active, room.has_pin, room.pin_length, room.has_moderator_pin], [true, false, null, false])
  assert.equal([room.owner_id, room.live, room.dial_in], [null, null, []])
  await world.close()
})

test('PATCH: a schedule replaces the schedule, of settings only those sent change', async () => {
  const world = await makeWholeApp()
  const weekly = { start_at: '2026-12-01T09:00:00Z', end_at: '2026-12-01T10:00:00Z', recurrence: 'weekly' }
  const schedule = { ...weekly, timezone: 'Europe/Berlin' }
  const { id } = await create(world, { settings: { record: true, max_participants: 7 }, schedule })
  const patch = async (body: object) => (await world.live(`PATCH /v1/conference_rooms/${id}`, body)).body
  const renamed = await patch({ name: 'New', settings: { record: false } })
  assert.equal([renamed.settings.record, renamed.settings.max_participants], [false, 7])
  assert.is(renamed.schedule.timezone, 'Europe/Berlin', 'a schedule that is not sent stays')
  const once = { start_at: '2026-12-02T09:00:00.000Z', end_at: '2026-12-02T10:00:00.000Z' }
  assert.equal((await patch({ schedule: once })).schedule, { ...once, recurrence: 'none', timezone: 'UTC' })
  assert.is((await patch({ schedule: {} })).schedule.start_at, null, 'always open again')
  await world.close()
})

test('settings.transcribe is needed for AI notes: who switches on ai_note_taker alone has both', async () => {
  const world = await makeWholeApp()
  const noted = async (line: string, settings: object): Promise<boolean[]> => {
    const { body } = await world.live(line, { name: 'Standup', settings })
    return [body.settings.ai_note_taker, body.settings.transcribe]
  }
  assert.equal(await noted('POST /v1/conference_rooms', { ai_note_taker: true }), [true, true])
  const path = `PATCH /v1/conference_rooms/${(await create(world)).id}`
  assert.equal(await noted(path, { ai_note_taker: true }), [true, true])
  assert.equal(await noted(path, { transcribe: false }), [true, false], 'notes of what is transcribed by request')
  assert.equal(await noted(path, { ai_note_taker: true, transcribe: false }), [true, false], 'as sent')
  await world.close()
})

test('dial_in: the numbers routed to the room, each once, whatever else their routes ask for', async () => {
  const world = await makeWholeApp()
  const { live } = world
  const { id } = await create(world)
  for (const match of [
    { to: '+15550100' },
    { to: '+15550100', from: '+15550199' },
    { to: '+1555*' },
    { from: '+15550198' },
    { to: '1001' },
  ]) {
    assert.is((await live('POST /v1/inbound_routes', { match, target: { type: 'room', id } })).status, 201)
  }
  assert.equal((await live(`GET /v1/conference_rooms/${id}`)).body.dial_in, ['+15550100', '1001'])
  await world.close()
})

test('the list has the active rooms, newest first, and their numbers', async () => {
  const world = await makeWholeApp()
  const { live } = world
  const [first, second, off] = [await create(world), await create(world), await create(world)]
  await live(`PATCH /v1/conference_rooms/${off.id}`, { active: false })
  await live('POST /v1/inbound_routes', { match: { to: '+15550100' }, target: { type: 'room', id: first.id } })
  const { data } = (await live('GET /v1/conference_rooms')).body
  assert.equal(
    data.map((room: { id: string; dial_in: string[] }) => [room.id, room.dial_in]),
    [
      [second.id, []],
      [first.id, ['+15550100']],
    ],
  )
  await world.close()
})

test('times of a schedule may carry an offset, are answered in UTC, and are times', async () => {
  const world = await makeWholeApp()
  const schedule = { start_at: '2026-12-01T09:00:00+02:00', end_at: '2026-12-01T10:00:00+02:00' }
  const room = await create(world, { schedule })
  assert.equal([room.schedule.start_at, room.schedule.end_at], ['2026-12-01T07:00:00.000Z', '2026-12-01T08:00:00.000Z'])
  const bad = async (more: object) =>
    refusal(await world.live('POST /v1/conference_rooms', { name: 'a', schedule: more }))
  assert.equal(await bad({ start_at: '2016-12-31T23:59:60Z' }), [400, 'schedule.start_at', undefined])
  assert.equal(await bad({ start_at: 'tomorrow' }), [400, 'schedule.start_at', undefined])
  assert.equal(await bad({ end_at: schedule.end_at }), [400, 'schedule.end_at', undefined])
  assert.equal(await bad({ ...schedule, end_at: schedule.start_at }), [400, 'schedule.end_at', undefined])
  assert.equal(await bad({ recurrence: 'yearly' }), [400, 'schedule.recurrence', undefined])
  assert.equal(
    await bad({ recurrence: 'weekly' }),
    [400, 'schedule.recurrence', undefined],
    'an open room has no dates',
  )
  await world.close()
})

test("the history has the room's sessions, newest first, each a call with its notes", async () => {
  const world = await makeWholeApp()
  const { live, clock } = world
  const [room, other] = [await create(world), await create(world)]
  const ended = await addSession(world, room.id, {}, 3)
  await addSession(world, other.id)
  await addSession(world, room.id, { status: 'queued', answered_at: null, ended_at: null })
  const running = await addSession(world, room.id, { status: 'in_progress', ended_at: null }, 1)
  clock.advance(5000)
  const { body } = await live(`GET /v1/conference_rooms/${room.id}/history`)
  const session = {
    object: 'conference_session',
    livemode: true,
    started_at: '2026-11-21T10:00:00.000Z',
    notes: { summary: '', decisions: [], action_items: [] },
  }
  assert.equal(body, {
    object: 'list',
    data: [
      { id: running, ...session, duration_ms: 5000, participants: 1, status: 'in_progress' },
      { id: ended, ...session, duration_ms: 90_000, participants: 3, status: 'ended' },
    ],
    has_more: false,
    next_cursor: null,
    url: `/v1/conference_rooms/${room.id}/history`,
  })
  assert.equal((await live(`GET /v1/conference_rooms/${other.id}/history`)).body.data.length, 1)
  assert.is((await live('GET /v1/conference_rooms/room_none/history')).status, 404)
  await world.close()
})

test('the history has at most the 100 latest sessions, over all pages', async () => {
  const world = await makeWholeApp()
  const room = await create(world)
  const ids: string[] = []
  for (let i = 0; i < 103; i++) ids.push(await addSession(world, room.id))
  const seen: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const more: string = cursor === '' ? '' : `&starting_after=${cursor}`
    const { body } = await world.live(`GET /v1/conference_rooms/${room.id}/history?limit=40${more}`)
    seen.push(...body.data.map((session: { id: string }) => session.id))
    cursor = body.next_cursor
  }
  assert.equal(seen, ids.slice(3).reverse())
  await world.close()
})

test("a room is a member's: set when it is made or later, and a list has those of one member", async () => {
  const world = await makeWholeApp()
  const [ann, bob] = [await addMember(world.live, 'ann@example.com'), await addMember(world.live, 'bob@example.com')]
  const { id } = await create(world, { owner_id: ann })
  await create(world)
  const ofMember = async (owner: string) =>
    (await world.live(`GET /v1/conference_rooms?owner_id=${owner}`)).body.data.map((room: { id: string }) => room.id)
  assert.equal([await ofMember(ann), await ofMember(bob)], [[id], []])
  assert.is((await world.live(`PATCH /v1/conference_rooms/${id}`, { owner_id: bob })).body.owner_id, bob)
  assert.equal([await ofMember(ann), await ofMember(bob)], [[], [id]])
  const nobody = await world.live('POST /v1/conference_rooms', { name: 'x', owner_id: 'usr_none' })
  assert.equal(refusal(nobody), [400, 'owner_id', undefined])
  assert.is((await world.live(`PATCH /v1/conference_rooms/${id}`, { owner_id: null })).body.owner_id, null)
  await world.close()
})

test.run()
