import Type, { type Static } from 'typebox'
import type { Context } from '../http/context.ts'
import { didYouMean } from '../http/did-you-mean.ts'
import { invalid, isProblem, type Problem } from '../http/errors.ts'
import { operations, type RawAnswer, type Route } from '../http/route.ts'
import { renderEvent } from '../http/versions/translate.ts'
import { EVENT_STREAM, eventStream, type StreamEvent, wantsEventStream } from '../http/wire/event-stream.ts'
import type { LiveParts } from '../http/wire/live-answer.ts'
import { LONGEST_STREAM_MS, limitOfOrganisation, limitsOfKey } from '../http/wire/open-streams.ts'
import { type EventType, eventTypes } from '../kernel/events/catalog.ts'
import { eventSchema, toEvent } from '../kernel/events/event.ts'
import { type EventPlace, endOfEvents, eventsBehind, placeOfEvent, settleEvents } from '../kernel/events/order.ts'
import { typesFitting } from '../kernel/events/patterns.ts'
import { input } from '../kernel/schema.ts'
import type { Store } from '../kernel/store/store.ts'
import type { Tenant } from '../kernel/tenancy.ts'
import { Waiting } from '../kernel/waiting.ts'

const api = operations('Events', 'events')

/** Events read per query. */
const PAGE = 100
/** Interval of looking for events that another node has written, or that waited for an earlier one to be committed [ms]. */
const LOOK_MS = 1000
const HEARTBEAT_MS = 15_000
/** Maximum number of streams of one organisation at a time, over all its keys. */
export const MAX_STREAMS_PER_ORGANISATION = 25

const CURSOR_PREFIX = 'cur_'

const feedSchema = () =>
  Type.Object(
    {
      object: Type.Literal('event_feed'),
      livemode: Type.Boolean(),
      events: Type.Array(eventSchema(), { description: 'Oldest first, 100 at most.' }),
      next_cursor: Type.String({ description: 'Send it as `Last-Event-ID` to continue.' }),
      has_more: Type.Boolean(),
    },
    { title: 'EventFeed' },
  )

const DESCRIPTION =
  'With `Accept: text/event-stream`, each event is sent when it is committed, under its type, with the same data as in a webhook. `ready` comes first. `ready`, each event and each heartbeat (every 15 s) have an `id`. `Last-Event-ID` with such an `id`, or with the ID of an event, continues after it, with none lost or repeated; without it the stream begins now. It ends after 15 min: reconnect then. At most ten live streams of a key and 25 of an organisation. Without that `Accept`, returns the events after `Last-Event-ID`.'

export function liveEventRoute({ store, live }: { store: Store; live: LiveParts }): Route {
  const parts = { store, live, news: new News(store) }
  return api.get({
    path: '/events/stream',
    id: 'streamEvents',
    summary: 'Follow events',
    description: DESCRIPTION,
    query: input({
      types: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 2000,
          description: 'Only events of these types, separated by commas; `call.*` means all with this prefix.',
        }),
      ),
    }),
    reply: feedSchema(),
    streamType: EVENT_STREAM,
    handler: async (context, { query, headers }) => {
      const types = query.types === undefined ? null : readTypes(query.types)
      if (isProblem(types)) return types
      const last = headers['last-event-id']
      const start = await startOf(store, context, Array.isArray(last) ? last[0] : last)
      if (isProblem(start)) return start
      const wanted = { types, start }
      return wantsEventStream(headers.accept) ? follow(parts, context, wanted) : feed(store, context, wanted)
    },
  })
}

interface Parts {
  store: Store
  live: LiveParts
  news: News
}

/** Notifies streams of commits; without streams, commits cost nothing. */
class News {
  readonly waiting = new Waiting()
  readonly #store: Store
  readonly #wake = ({ tenant }: { tenant: Tenant }): void => this.waiting.wake(keyOf(tenant))
  #streams = 0

  constructor(store: Store) {
    this.#store = store
  }

  hear(): void {
    if (this.#streams++ === 0) this.#store.committed.add(this.#wake)
  }

  leave(): void {
    if (--this.#streams === 0) this.#store.committed.delete(this.#wake)
  }
}

interface Wanted {
  /** Null: all. */
  types: EventType[] | null
  start: EventPlace
}

const keyOf = ({ organisationId, livemode }: Tenant): string => `${organisationId} ${livemode}`

function readTypes(patterns: string): EventType[] | Problem {
  const types = typesFitting(patterns, eventTypes())
  if (!('unknown' in types)) return types
  return noSuchType(types.unknown, 'types')
}

export function noSuchType(type: string, param: string): Problem {
  const near = didYouMean(type, eventTypes())
  const hint = near === null ? '' : ` Did you mean ${near}?`
  return invalid(param, `No event type is "${type}".${hint}`)
}

const makeCursor = ({ at, id }: EventPlace): string => CURSOR_PREFIX + Buffer.from(`${at} ${id}`).toString('base64url')

function readCursor(text: string): EventPlace | null {
  if (!text.startsWith(CURSOR_PREFIX)) return null
  const plain = Buffer.from(text.slice(CURSOR_PREFIX.length), 'base64url').toString()
  const [, at, id] = /^(\d{1,15}) (z|evt_[0-9a-z]{26}|)$/.exec(plain) ?? []
  return at === undefined || id === undefined ? null : { at: Number(at), id }
}

async function startOf(store: Store, tenant: Tenant, lastId: string | undefined): Promise<EventPlace | Problem> {
  await settleEvents(store, tenant)
  const end = await endOfEvents(store.db)
  if (lastId === undefined || lastId === '') return end
  const cursor = readCursor(lastId)
  const found = await placeOfEvent(store.db, tenant, cursor?.id ?? lastId)
  if (found !== undefined) return found
  // The event may have been deleted, but its place remains valid. A place in the future comes from another database.
  if (cursor !== null && cursor.at <= end.at) return cursor
  return invalid('Last-Event-ID', 'No such event, or it is no longer kept: start without it.')
}

async function feed(store: Store, context: Context, { types, start }: Wanted) {
  const { events, reached } = await eventsBehind(store.db, context, start, { types, limit: PAGE })
  return {
    object: 'event_feed' as const,
    livemode: context.livemode,
    events: events.map(({ row }) => shown(row, context)),
    next_cursor: makeCursor(reached),
    has_more: events.length === PAGE,
  }
}

const shown = (row: Parameters<typeof toEvent>[0], { apiVersion }: Context): Static<ReturnType<typeof eventSchema>> =>
  renderEvent(toEvent(row), apiVersion)

async function follow(parts: Parts, context: Context, wanted: Wanted): Promise<RawAnswer | Problem> {
  const limits = [limitOfOrganisation(context, MAX_STREAMS_PER_ORGANISATION), ...limitsOfKey(context)]
  const place = await parts.live.streams.take(limits)
  if (isProblem(place)) return place
  parts.news.hear()
  const leave = (): void => {
    parts.news.leave()
    place.leave()
  }
  return eventStream(told(parts, context, wanted, place.signal), leave)
}

/** Reads events from their rows page by page, so that nothing accumulates for a slow reader. */
async function* told(
  { store, news: { waiting }, live: { heartbeatMs = HEARTBEAT_MS, longestMs = LONGEST_STREAM_MS } }: Parts,
  context: Context,
  { types, start }: Wanted,
  signal: AbortSignal,
): AsyncGenerator<StreamEvent, void> {
  const until = performance.now() + longestMs
  let [place, silentSince] = [start, performance.now()]
  yield { id: makeCursor(place), event: 'ready', data: { object: 'event_stream', livemode: context.livemode } }
  while (!signal.aborted && performance.now() < until) {
    // Registered before reading, so that events committed meanwhile wake it.
    const next = waiting.next(keyOf(context), Math.min(LOOK_MS, heartbeatMs), signal)
    const { events, reached } = await eventsBehind(store.db, context, place, { types, limit: PAGE })
    for (const event of events) {
      yield { id: makeCursor(event.place), event: event.row.type, data: shown(event.row, context) }
    }
    place = reached
    if (events.length > 0) silentSince = performance.now()
    if (events.length === PAGE) continue
    if (performance.now() - silentSince >= heartbeatMs) {
      silentSince = performance.now()
      yield { id: makeCursor(place), comment: 'heartbeat' }
    }
    await next
  }
}
