import { EventSourceParserStream } from 'eventsource-parser/stream'
import { sql } from 'kysely'
import * as assert from 'uvu/assert'
import { kindOfEvent } from '../../../control/kernel/events/catalog.ts'
import { appendEvent } from '../../../control/kernel/events/log.ts'
import { endOfEvents, isBehind, placeOfEvent } from '../../../control/kernel/events/order.ts'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import { MAX_STREAMS_PER_ORGANISATION } from '../../../control/webhooks/live-events.ts'
import { suite } from '../../harness.ts'
import { testEngine } from '../database.ts'
import { makeWholeApp, refusal } from '../whole-app.ts'

const test = suite('control/webhooks/live-events')
const app = await makeWholeApp()
const base = await app.app.listen({ port: 0, host: '127.0.0.1' })
const ours = { organisationId: app.ours.organisationId, livemode: false }
test.after(() => app.close())

interface Told {
  id: string
  event: string
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
  data: any
}

/** Follows events as a client does. */
async function follow(query = '', lastId = '', key = app.ours.keys.test) {
  const gone = new AbortController()
  const headers = {
    authorization: `Bearer ${key}`,
    accept: 'text/event-stream',
    ...(lastId === '' ? {} : { 'last-event-id': lastId }),
  }
  const answer = await fetch(`${base}/v1/events/stream${query}`, { headers, signal: gone.signal })
  const reader = answer
    .body!.pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream())
    .getReader()
  return {
    status: answer.status,
    retryAfter: answer.headers.get('retry-after'),
    next: async (): Promise<Told> => {
      const { value } = await reader.read()
      return { id: value?.id ?? '', event: value?.event ?? '', data: JSON.parse(value?.data ?? 'null') }
    },
    cut: () => gone.abort(),
  }
}

const write = async (type: string): Promise<string> =>
  (await app.test('POST /v1/test_helpers/events', { type })).body.id

/**
 * Written and reported to followers. PostgreSQL counts transactions by server, so an older transaction of any database, another test's too, delays
 * reports. A stream that begins meanwhile gets the event as well.
 */
async function happen(type: string): Promise<string> {
  const id = await write(type)
  for (;;) {
    const place = await placeOfEvent(app.store.db, ours, id)
    if (place === undefined || isBehind(place, await endOfEvents(app.store.db))) return id
  }
}

const endedCall = () => ({
  type: 'call.ended' as const,
  at: app.clock.now().toISOString(),
  object: kindOfEvent('call.ended')!.sample,
})

test('events come as they are committed, and go on behind the last one with none lost or doubled', async () => {
  await happen('call.ended')
  const first = await follow()
  const ready = await first.next()
  assert.equal([ready.event, ready.data], ['ready', { object: 'event_stream', livemode: false }])
  const one = await happen('call.created')
  const told = await first.next()
  assert.equal([told.event, told.data.id], ['call.created', one])
  assert.equal(told.data, (await app.test(`GET /v1/events/${one}`)).body)
  first.cut()
  const away: string[] = []
  await app.store.transaction(async trx => {
    for (let i = 0; i < 103; i++) away.push(await appendEvent(trx, ours, endedCall()))
  })
  for (const lastId of [told.id, one]) {
    const second = await follow('', lastId)
    assert.is((await second.next()).event, 'ready')
    const now = await happen('call.ended')
    const ids = []
    while (ids.at(-1) !== now) ids.push((await second.next()).data.id)
    assert.equal(ids, [...away, now])
    second.cut()
    away.push(now)
  }
  const begun = await follow('', ready.id)
  await begun.next()
  assert.is((await begun.next()).data.id, one)
  begun.cut()
})

test('only the types that are asked for, of this mode and organisation', async () => {
  const calls = await follow('?types=call.*,callback.created')
  const live = await follow('', '', app.ours.keys.live)
  const theirs = await follow('', '', app.theirs.keys.test)
  for (const stream of [calls, live, theirs]) await stream.next()
  await happen('flow.published')
  const wanted = [await happen('callback.created'), await happen('call.ended')]
  assert.equal([(await calls.next()).data.id, (await calls.next()).data.id], wanted)
  for (const organisationId of [app.ours.organisationId, app.theirs.organisationId]) {
    const livemode = organisationId === app.ours.organisationId
    await app.store.transaction(trx => appendEvent(trx, { organisationId, livemode }, endedCall()))
  }
  assert.equal([(await live.next()).data.livemode, (await theirs.next()).data.livemode], [true, false])
  for (const stream of [calls, live, theirs]) stream.cut()
})

test('what is no type, no event and not allowed is refused', async () => {
  const wrong = await app.test('GET /v1/events/stream?types=call.endet')
  assert.equal(refusal(wrong).slice(0, 2), [400, 'types'])
  assert.match(wrong.body.error.message, 'Did you mean call.ended?')
  const cursor = `cur_${Buffer.from('999999999999 z').toString('base64url')}`
  for (const id of ['evt_none', 'cur_x', cursor]) {
    const gone = await app.test('GET /v1/events/stream', undefined, { headers: { 'last-event-id': id } })
    assert.equal(refusal(gone).slice(0, 2), [400, 'Last-Event-ID'], id)
  }
  const { body } = await app.test('POST /v1/api_keys', { name: 'Calls', scopes: ['calls:read'] })
  assert.is((await follow('', '', body.secret)).status, 403)
})

test('without a stream it is what is there behind an event, and where to go on, though that one is erased', async () => {
  const begin = (await app.test('GET /v1/events/stream')).body
  assert.equal([begin.object, begin.events, begin.has_more], ['event_feed', [], false])
  const id = await happen('call.ended')
  const behind = async (lastId: string) =>
    (await app.test('GET /v1/events/stream', undefined, { headers: { 'last-event-id': lastId } })).body
  const next = await behind(begin.next_cursor)
  assert.equal([next.events.map((event: { id: string }) => event.id), next.has_more], [[id], false])
  await forTenant(app.store.db, ours).delete('events').where('id', '=', id).execute()
  const later = await happen('call.ended')
  const rest = await behind(next.next_cursor)
  assert.equal(
    rest.events.map((event: { id: string }) => event.id),
    [later],
  )
})

test('an organisation has a bounded number of streams, whatever its keys, and gets them back', async () => {
  const keys = []
  for (let i = 0; i < 3; i++) keys.push((await app.test('POST /v1/api_keys', { name: `Key ${i}` })).body.secret)
  const open = []
  for (let i = 0; i < MAX_STREAMS_PER_ORGANISATION; i++) open.push(await follow('', '', keys[i % 3]))
  assert.ok(open.every(({ status }) => status === 200))
  const refused = await follow('', '', keys[0])
  assert.equal([refused.status, refused.retryAfter], [429, '5'])
  for (const stream of open) stream.cut()
  let again = await follow('', '', keys[0])
  for (let i = 0; again.status !== 200 && i < 200; i++) again = await follow('', '', keys[0])
  assert.is(again.status, 200)
  again.cut()
})

const onServer = testEngine === 'postgres' ? test : (name: string) => test.skip(name, 'PostgreSQL alone')

onServer('an event whose transaction ends after a later one is told too, in its place', async () => {
  const stream = await follow()
  await stream.next()
  let end = (): void => {}
  const ended = new Promise<void>(resolve => {
    end = resolve
  })
  let written = (_id: string): void => {}
  const early = new Promise<string>(resolve => {
    written = resolve
  })
  const slow = app.store.transaction(async trx => {
    written(await appendEvent(trx, ours, endedCall()))
    await ended
  })
  const first = await early
  const second = await write('call.created')
  end()
  await slow
  assert.equal([(await stream.next()).data.id, (await stream.next()).data.id], [first, second])
  stream.cut()
})

onServer('events of a database that was restored on another server are before all others', async () => {
  const old = await happen('call.ended')
  await sql`update events set written_by = 999999999999 where id = ${old}`.execute(app.store.db)
  const stream = await follow('', old)
  await stream.next()
  const now = await happen('call.ended')
  let last = ''
  while (last !== now) last = (await stream.next()).data.id
  stream.cut()
})

test.run()
