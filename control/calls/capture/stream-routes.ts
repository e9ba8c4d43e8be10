import Type from 'typebox'
import { isFailure, isUndecided } from '../../../media/protocol.ts'
import { type StreamInput, streamInput } from '../../capture-settings/stream-input.ts'
import { MAX_TRACKS, streamUrlProblem, tooManyTracks, tracksOf } from '../../capture-settings/streams-problem.ts'
import type { Context } from '../../http/context.ts'
import { conflict, invalid, isProblem, missing, type Problem, problem } from '../../http/errors.ts'
import { listOf, listQuery, page } from '../../http/list.ts'
import { operations, type Route } from '../../http/route.ts'
import type { Resolve } from '../../http/url-policy.ts'
import { idParams } from '../../kernel/schema.ts'
import type { Store } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import type { Turns } from '../../kernel/turns.ts'
import type { MediaPort } from '../../media-link/events.ts'
import { mediaUnavailable } from '../dial.ts'
import { applyStream, endStream, progressOf, runningStreams, STOPPED } from '../records.ts'
import { hasEnded } from '../running-call.ts'
import type { MediaStreamRow } from '../tables.ts'
import { insertStream } from './call-capture.ts'
import { unconsentedProblem } from './demanded-consent.ts'
import { type MediaStream, mediaStreamSchema, toMediaStream } from './stream-schema.ts'
import { type StreamDeps as StartDeps, startStream } from './streams.ts'

const api = operations('Media streams', 'calls')

interface StreamDeps extends StartDeps {
  store: Store
  media: MediaPort
  now: () => Date
  resolve: Resolve
  /** By stream. */
  stops: Turns
}

const READ_DEADLINE_MS = 500
const RETRY_AFTER_S = 5

const streamParams = Type.Object({ ...idParams.properties, stream_id: idParams.properties.id })
const write = { reply: mediaStreamSchema, errors: [409, 503] as number[] } as const

export function streamRoutes(deps: StreamDeps): Route[] {
  const { store } = deps
  return [
    api.post({
      scope: 'streams:write',
      ...write,
      path: '/calls/:id/streams',
      id: 'createStream',
      summary: "Send a call's audio to a WebSocket",
      description:
        "Starts at once, or when the call is answered. A call has at most 4 tracks; more answer 409. 403 (`consent_missing`) if the organisation requires consent to recording and the other party has not given it. With `mode` `bidirectional` the receiver's audio is also played in the call.",
      body: streamInput,
      status: 201,
      handler: (context, { params, body }) => createStream(deps, context, params.id, body),
    }),
    api.get({
      path: '/calls/:id/streams',
      id: 'listStreams',
      summary: "List a call's media streams",
      query: listQuery,
      reply: listOf(mediaStreamSchema),
      handler: async (context, { params, query }) => {
        const call = await forTenant(store.db, context).find('calls', params.id)
        if (call === undefined) return missing('call', params.id)
        const rows = forTenant(store.db, context).select('media_streams').selectAll().where('call_id', '=', call.id)
        const list = await page(rows, query, `/v1/calls/${call.id}/streams`, row => row)
        return isProblem(list) ? list : { ...list, data: (await withCounters(deps, list.data)).map(toMediaStream) }
      },
    }),
    api.get({
      path: '/calls/:id/streams/:stream_id',
      id: 'getStream',
      summary: 'Retrieve a media stream',
      params: streamParams,
      reply: mediaStreamSchema,
      handler: async (context, { params }) => {
        const row = await findStream(deps, context, params.id, params.stream_id)
        if (row === undefined) return noStream(deps, context, params.id, params.stream_id)
        const [current] = await withCounters(deps, [row])
        return toMediaStream(current ?? row)
      },
    }),
    api.delete({
      scope: 'streams:write',
      ...write,
      path: '/calls/:id/streams/:stream_id',
      id: 'stopStream',
      summary: 'Stop a media stream',
      description:
        'Queued frames are sent, then `stop`. The call continues. Returns the final counters; 409 if the stream has ended.',
      params: streamParams,
      handler: (context, { params: { id, stream_id } }) =>
        deps.stops.take(stream_id, () => stopStream(deps, context, id, stream_id)),
    }),
  ]
}

/** For the event of what media does. */
const requestOf = ({ requestId, idempotencyKey }: Context) => ({ requestId, idempotencyKey })

async function createStream(
  deps: StreamDeps,
  context: Context,
  callId: string,
  body: StreamInput,
): Promise<MediaStream | Problem> {
  const { store } = deps
  if ((await forTenant(store.db, context).find('calls', callId)) === undefined) return missing('call', callId)
  const refused = await streamUrlProblem(deps, body)
  if (refused !== null) return refused
  const made = await store.transaction(async trx => {
    const call = await forTenant(trx, context).find('calls', callId)
    if (call === undefined) return missing('call', callId)
    if (call.ended_at !== null) return hasEnded()
    const running = await runningStreams(trx, context, callId)
    if (tracksOf(running) + tracksOf([body]) > MAX_TRACKS) return tooManyTracks()
    const at = deps.now().toISOString()
    const unconsented = await unconsentedProblem(trx, context, call, at)
    if (unconsented !== null) return unconsented
    const row = await insertStream(trx, context, call.id, body, at)
    await context.keep(trx, toMediaStream(row))
    return { call, row }
  })
  if (isProblem(made)) return made
  // An unanswered call has no audio; the stream starts with the answer.
  if (made.call.answered_at === null) return toMediaStream(made.row)
  const reply = await startStream(store.db, deps, deps.media, made.call, made.row, requestOf(context))
  // Without an answer, the next snapshot tells whether it runs, and starts it if it does not.
  if (!isFailure(reply) || reply.failure === 'conflict' || reply.failure === 'unanswered')
    return toMediaStream(await reread(deps, context, made.row))
  const rows = forTenant(store.db, context).delete('media_streams').where('id', '=', made.row.id)
  await rows.where('status', '=', 'connecting').execute()
  if (reply.failure === 'capacity') {
    return problem('stream_limit', 'Too many streams at once.', { retryAfterS: RETRY_AFTER_S })
  }
  if (reply.failure === 'invalid') return invalid('url', reply.message)
  return reply.failure === 'not_found' ? hasEnded() : mediaUnavailable(reply.message)
}

async function stopStream(
  deps: StreamDeps,
  context: Context,
  callId: string,
  streamId: string,
): Promise<MediaStream | Problem> {
  const row = await findStream(deps, context, callId, streamId)
  if (row === undefined) return noStream(deps, context, callId, streamId)
  if (row.ended_reason !== null) {
    return context.isResumed ? toMediaStream(row) : conflict('not_running', 'The stream has ended.')
  }
  const request = requestOf(context)
  const reply = await deps.media.request('stream.stop', { streamId, request })
  if (isUndecided(reply)) return mediaUnavailable(reply.message)
  await deps.media.settled()
  const stopped = await context.transaction(async trx => {
    const streams = forTenant(trx, context)
    const current = await streams.find('media_streams', streamId)
    const at = deps.now().toISOString()
    // A failure: media does not know it, as it waits for the answer of the call, or has just ended.
    if (current !== undefined)
      await (isFailure(reply)
        ? endStream(trx, current, at, { ...STOPPED, request })
        : applyStream(trx, current, { ...reply, request }, at))
    return toMediaStream((await streams.find('media_streams', streamId)) ?? row)
  })
  // Its start may have come to media meanwhile; one that comes later is stopped by its event.
  if (isFailure(reply)) await deps.media.request('stream.stop', { streamId })
  return stopped
}

/** 404 for whichever part of the path does not exist. */
async function noStream(deps: StreamDeps, tenant: Tenant, callId: string, streamId: string): Promise<Problem> {
  const call = await forTenant(deps.store.db, tenant).find('calls', callId)
  return call === undefined ? missing('call', callId) : { ...missing('media_stream', streamId), param: 'stream_id' }
}

async function findStream(
  deps: StreamDeps,
  tenant: Tenant,
  callId: string,
  streamId: string,
): Promise<MediaStreamRow | undefined> {
  const row = await forTenant(deps.store.db, tenant).find('media_streams', streamId)
  return row?.call_id === callId ? row : undefined
}

async function reread(deps: StreamDeps, tenant: Tenant, row: MediaStreamRow): Promise<MediaStreamRow> {
  await deps.media.settled()
  return (await forTenant(deps.store.db, tenant).find('media_streams', row.id)) ?? row
}

/** The rows with the current counters, if media still counts. */
async function withCounters(deps: StreamDeps, rows: readonly MediaStreamRow[]): Promise<MediaStreamRow[]> {
  const streamIds = rows.filter(row => row.ended_reason === null).map(row => row.id)
  if (streamIds.length === 0) return [...rows]
  const reply = await deps.media.request('stream.read', { streamIds }, READ_DEADLINE_MS)
  const live = new Map(isFailure(reply) ? [] : reply.streams.map(stream => [stream.streamId, stream]))
  return rows.map(row => {
    const now = live.get(row.id)
    return now === undefined ? row : { ...row, ...progressOf(now) }
  })
}
