import Type, { type Static } from 'typebox'
import { type EndedReason, globalTel, isFailure, isUndecided, type Quality } from '../../media/protocol.ts'
import { captureFields } from '../capture-settings/settings.ts'
import type { StreamsProblem } from '../capture-settings/streams-problem.ts'
import { callerFault } from '../flows/caller-fault.ts'
import type { Context } from '../http/context.ts'
import { conflict, invalid, isProblem, missing, type Problem } from '../http/errors.ts'
import { type List, listOf, listQuery, page, pageOf } from '../http/list.ts'
import { operations, type Route } from '../http/route.ts'
import { readPhone } from '../kernel/phone.ts'
import { input, metadata, oneOf, partialInput } from '../kernel/schema.ts'
import { inList, type Place, rowsOf } from '../kernel/store/compiled.ts'
import { isOutage } from '../kernel/store/outage.ts'
import type { Db, Store } from '../kernel/store/store.ts'
import { forTenant, ofTenant, tenantOf, valuesOf } from '../kernel/tenancy.ts'
import type { MediaPort } from '../media-link/events.ts'
import { answeringInput, answeringOf } from './answering/schema.ts'
import { type Call, callSchema, toCall } from './call-schema.ts'
import { callSearch, searchCalls } from './call-search.ts'
import { roomProblem } from './conductor/rooms/room-door.ts'
import type { RunningCall, RunningCalls } from './conductor/running-calls.ts'
import { type DialDeps, type DialedTarget, mediaUnavailable, placeCall } from './dial.ts'
import { hangUpLeg, mainLeg } from './legs.ts'
import { participantSchema } from './participant-schema.ts'
import { callsOf, legsOf, noteRequest } from './records.ts'
import { hasEnded } from './running-call.ts'
import { audioInput } from './sound/audio-schema.ts'
import { participantAudioRoute, shownLive } from './sound/participant-audio.ts'
import type { CallRow, ParticipantRow } from './tables.ts'

const api = operations('Calls', 'calls')

/** How long a list may wait for the quality figures of its running calls [ms]. */
const QUALITY_DEADLINE_MS = 500

interface CallDeps extends DialDeps {
  streamsProblem: StreamsProblem
  /** Calls that can be ended while the store is unavailable. */
  running: Pick<RunningCalls, 'find'>
}

const targetId = (description: string) => Type.Optional(Type.String({ maxLength: 200, description }))
const targetParameters = {
  room_id: targetId(
    'Joins this conference room. At most one target; without any, the call hears music until it gets one.',
  ),
  flow_id: targetId('Is led by this flow, in its published version.'),
  assistant_id: targetId('Talks with this assistant.'),
  queue_id: targetId('Waits in this queue.'),
  user_id: targetId('Is put through to this member.'),
}
/** The tables of a call's target objects, by parameter. */
const TARGETS = {
  room_id: { type: 'room', table: 'conference_rooms' },
  flow_id: { type: 'flow', table: 'flows' },
  assistant_id: { type: 'assistant', table: 'assistants' },
  queue_id: { type: 'queue', table: 'queues' },
  user_id: { type: 'user', table: 'users' },
} as const

const createBody = input({
  to: Type.String({
    minLength: 1,
    maxLength: 512,
    description: 'A number in E.164, also as a `tel:` URI, or a SIP URI.',
  }),
  from: Type.Optional(Type.String({ minLength: 1, maxLength: 512 })),
  caller_id: Type.Optional(
    oneOf(['shown', 'anonymous'], {
      description:
        "anonymous: the called party does not see `from`. The connection's `identity` says how the carrier learns it.",
      default: 'shown',
    }),
  ),
  ...targetParameters,
  timeout_s: Type.Optional(Type.Integer({ minimum: 5, maximum: 180, default: 45 })),
  ...partialInput(captureFields).properties,
  audio: Type.Optional(audioInput),
  answering_machine_detection: Type.Optional(answeringInput),
  metadata: Type.Optional(metadata),
})
const write = { reply: callSchema, errors: [409, 503] as number[] } as const

export function callRoutes(deps: CallDeps): Route[] {
  const { store, media } = deps
  return [
    api.post({
      ...write,
      path: '/calls',
      id: 'createCall',
      summary: 'Place a call',
      body: createBody,
      status: 201,
      handler: (context, { body }) => createCall(deps, context, body),
    }),
    api.get({
      path: '/calls',
      id: 'listCalls',
      summary: 'List calls',
      description:
        'By ID, the newest first. An ID that is known before its call begins (of a client token; of a callback or a call from a softphone, while the member is rung) keeps its place: so `ending_before` does not find every new call. `call.created` of `GET /events` does.',
      query: callSearch,
      reply: listOf(callSchema),
      reads: ['calls', 'participants'],
      handler: async (context, { query }) => {
        const list = await listCalls(store, context, query)
        return isProblem(list) ? list : { ...list, data: await toCalls(deps, context, list.data) }
      },
    }),
    api.get({
      path: '/calls/:id',
      id: 'getCall',
      summary: 'Retrieve a call',
      reply: callSchema,
      reads: ['calls', 'participants'],
      handler: (context, { params }) => retrieve(deps, context, params.id),
    }),
    api.post({
      ...write,
      path: '/calls/:id/hangup',
      id: 'hangUpCall',
      summary: 'Hang up a call',
      description:
        'For a conference session: hangs up every leg in it. 409 if the call has ended. While the database is unavailable, a running call is still hung up, and the answer shows its last known state.',
      withoutStore: true,
      handler: async (context, { params }) => {
        const known = deps.running.find(context, params.id)
        try {
          const refused = await hangUp(deps, context, params.id)
          if (refused !== null) return refused
          await media.settled()
          return await retrieve(deps, context, params.id)
        } catch (error) {
          if (known === undefined || !isOutage(error)) throw error
          const reply = await endLine(media, known)
          if (isFailure(reply) && isUndecided(reply)) return mediaUnavailable(reply.message)
          return toCall(known.call, known.legs)
        }
      },
    }),
    api.get({
      path: '/calls/:id/participants',
      id: 'listCallParticipants',
      summary: "List a call's participants",
      description: 'For a conference session: everybody who is or was in it. For the call of a phone: that phone.',
      query: listQuery,
      reply: listOf(participantSchema),
      handler: async (context, { params, query }) => {
        const call = await forTenant(store.db, context).find('calls', params.id)
        if (call === undefined) return missing('call', params.id)
        const column = call.kind === 'conference' ? 'session_call_id' : 'call_id'
        const rows = forTenant(store.db, context).select('participants').selectAll().where(column, '=', call.id)
        const list = await page(rows, query, `/v1/calls/${call.id}/participants`, row => row)
        if (isProblem(list)) return list
        const calls = await callsOf(store.db, context, list.data)
        const rowsOf = list.data.map(row => ({ participant: row, call: calls.get(row.call_id) ?? call }))
        return { ...list, data: await shownLive(media, rowsOf) }
      },
    }),
    participantAudioRoute(deps),
  ]
}

/** A number given as a `tel:` URI (RFC 3966) is treated like any other. */
const dialledAs = (address: string): string => {
  const number = globalTel(address)
  return number === null ? address : (readPhone(number, null) ?? number)
}

async function createCall(deps: CallDeps, context: Context, body: Static<typeof createBody>): Promise<Call | Problem> {
  const target = await targetOf(deps, context, body)
  if (isProblem(target)) return target
  const refused = await deps.streamsProblem(body.streams, 'call')
  if (refused !== null) return refused
  const placed = await placeCall(
    deps,
    context,
    {
      to: dialledAs(body.to),
      from: body.from === undefined ? undefined : dialledAs(body.from),
      isAnonymous: body.caller_id === 'anonymous',
      target,
      timeoutS: body.timeout_s ?? 45,
      capture: body,
      metadata: body.metadata ?? {},
      role: 'member',
      muted: false,
      audio: body.audio,
      answering: answeringOf(body.answering_machine_detection),
    },
    async (trx, { call, participant }) => {
      await context.keep(trx, toCall(call, [participant]))
    },
  )
  return 'problem' in placed ? placed : toCall(placed.call, [placed.participant])
}

/** The one target object of the call, or null; 400 if it does not exist, 409 if it cannot take the call now. */
async function targetOf(
  { store: { db }, now }: CallDeps,
  context: Context,
  body: Partial<Record<keyof typeof TARGETS, string>>,
): Promise<DialedTarget | Problem | null> {
  const named = (Object.keys(TARGETS) as (keyof typeof TARGETS)[]).filter(param => body[param] !== undefined)
  const [param, another] = named
  if (param === undefined) return null
  if (another !== undefined) return invalid(another, `A call has one target, and ${param} is set already.`)
  const { type, table } = TARGETS[param]
  const id = body[param] ?? ''
  const scoped = forTenant(db, context)
  if ((await scoped.find(table, id)) === undefined) {
    return invalid(param, `No such ${type === 'room' ? 'conference room' : type}: ${id}`)
  }
  const room = type === 'room' ? await scoped.find('conference_rooms', id) : undefined
  const shut = room === undefined ? null : await roomProblem(db, room, { now: now(), isInvited: false })
  if (shut !== null) return shut
  const flow = type === 'flow' ? await scoped.find('flows', id) : undefined
  if (flow?.status === 'archived') return conflict('archived', 'The flow is archived.')
  const fault = flow === undefined ? null : callerFault(flow)
  if (fault !== null) return invalid(param, `The flow ${fault}: ${id}`)
  if (flow?.published_version === null) return conflict('flow_unpublished', 'The flow has not been published.')
  return { type, id }
}

/** Most requests ask for all calls: their query is compiled once. */
function listCalls(store: Store, context: Context, query: Static<typeof callSearch>): Promise<List<CallRow> | Problem> {
  const { limit: _limit, starting_after: _after, ending_before: _before, ...search } = query
  if (Object.keys(search).length === 0)
    return pageOf({ db: store.db, tenant: context, table: 'calls' }, query, '/v1/calls', row => row)
  // The search also reads other tables.
  context.passing()
  // By its index each filter but one finds its calls at once; by several it may look through very many.
  const isLong = search.direction !== undefined || Object.keys(search).length > 1
  const { rows, ordering } = searchCalls(isLong ? store.reads : store.db, context, search)
  return page(rows, query, '/v1/calls', row => row, ordering)
}

async function retrieve(deps: CallDeps, context: Context, id: string): Promise<Call | Problem> {
  const call = await forTenant(deps.store.db, context).find('calls', id)
  if (call === undefined) return missing('call', id)
  const [object] = await toCalls(deps, context, [call])
  return object ?? missing('call', id)
}

async function hangUp(deps: CallDeps, context: Context, id: string): Promise<Problem | null> {
  const call = await forTenant(deps.store.db, context).find('calls', id)
  if (call === undefined) return missing('call', id)
  if (call.ended_at !== null) return context.isResumed ? null : hasEnded()
  const legs = await legsOf(deps.store.db, call)
  await deps.store.transaction(trx => noteRequest(trx, context, legs))
  const reply = await endLine(deps.media, { call, legs })
  if (!isFailure(reply)) return null
  if (isUndecided(reply)) return mediaUnavailable(reply.message)
  await deps.media.settled()
  // It has ended meanwhile, or media does not know it yet: then the wish is stored, and carried out as soon as possible.
  if (call.kind === 'party') await wishItEnded(deps, context, call.id, 'api_hangup')
  return null
}

/** Makes media end the call. */
function endLine(media: MediaPort, { call, legs }: RunningCall): Promise<object> {
  const reason = 'api_hangup' as const
  return call.kind === 'conference'
    ? media.request('room.close', { roomId: call.id, reason })
    : media.request('leg.hangup', { legId: legs.find(leg => leg.ring_id === null)?.id ?? '', reason })
}

async function wishItEnded({ store }: CallDeps, context: Context, callId: string, reason: EndedReason) {
  await store.transaction(async trx => {
    const leg = await mainLeg(trx, context, callId)
    if (leg !== undefined && leg.step !== 'ended') await hangUpLeg(trx, context, leg.id, reason)
  })
  await store.followUps.done(callId)
}

type ShownLeg = Pick<ParticipantRow, 'id' | 'call_id' | 'session_call_id' | 'step' | 'quality'>

/** The legs shown with calls, by two queries for any number of calls of a tenant. */
async function legsByCall(db: Db, rows: readonly CallRow[]): Promise<Map<string, ShownLeg[]>> {
  const legs = new Map<string, ShownLeg[]>(rows.map(row => [row.id, []]))
  for (const column of ['call_id', 'session_call_id'] as const) {
    const calls = rows.filter(row => (row.kind === 'conference') === (column === 'session_call_id'))
    const [first] = calls
    if (first === undefined) continue
    const ids = inList(
      'id',
      calls.map(({ id }) => id),
    )
    const build = (place: Place) =>
      ofTenant(db, 'participants', place)
        .select(['id', 'call_id', 'session_call_id', 'step', 'quality'])
        .where(column, 'in', ids.places(place))
        .orderBy('id')
    const values = { ...valuesOf(tenantOf(first)), ...ids.values }
    const found: ShownLeg[] = await rowsOf(db, `legs by ${column} ${ids.length}`, build, values)
    for (const leg of found) legs.get(leg[column] ?? '')?.push(leg)
  }
  return legs
}

/** Calls with the quality of their legs: live from media while they run. */
async function toCalls(deps: CallDeps, context: Context, rows: readonly CallRow[]): Promise<Call[]> {
  const legs = await legsByCall(deps.store.db, rows)
  const running = [...legs.values()].flat().filter(leg => leg.step !== 'ended')
  const live = new Map<string, Quality>()
  if (running.length > 0) {
    context.passing()
    const legIds = running.map(leg => leg.id)
    const reply = await deps.media.request('leg.read', { legIds }, QUALITY_DEADLINE_MS)
    if (!isFailure(reply)) for (const leg of reply.legs) live.set(leg.legId, leg.quality)
  }
  return rows.map(row => toCall(row, legs.get(row.id) ?? [], live))
}
