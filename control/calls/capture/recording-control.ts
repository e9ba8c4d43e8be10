import { isFailure, isUndecided } from '../../../media/protocol.ts'
import type { Context } from '../../http/context.ts'
import { conflict, isProblem, missing, type Problem, problem } from '../../http/errors.ts'
import { operations, type Route } from '../../http/route.ts'
import { appendEvent } from '../../kernel/events/log.ts'
import type { Db, Store } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import type { MediaPort } from '../../media-link/events.ts'
import { beingStarted, mediaUnavailable } from '../dial.ts'
import { insertRecording } from '../records.ts'
import { keepableCall, refusedByMedia } from '../running-call.ts'
import type { RecordingRow } from '../tables.ts'
import { encryptsRecordings } from './call-capture.ts'
import { endedMeanwhile, unconsentedProblem } from './demanded-consent.ts'
import { type CallRecording, callRecordingSchema, toCallRecording } from './recording-schema.ts'

const api = operations('Recordings', 'recordings')

export interface CaptureControlDeps {
  store: Store
  media: MediaPort
  now: () => Date
}

const common = { errors: [409, 503], reply: callRecordingSchema }

/** Starts, pauses, resumes and stops the recording of a running call. */
export function recordingControlRoutes(deps: CaptureControlDeps): Route[] {
  return [
    api.post({
      ...common,
      path: '/calls/:id/recording/start',
      id: 'startRecording',
      summary: 'Record a running call',
      description:
        'From now on, with everybody in it and everybody who joins. A call has one recording: 409 if it has one, or had one that was deleted.',
      status: 201,
      handler: (context, { params }) => start(deps, context, params.id),
    }),
    api.post({
      ...common,
      path: '/calls/:id/recording/pause',
      id: 'pauseRecording',
      summary: "Pause a call's recording",
      description:
        'Every channel is silent until the recording is resumed. The timeline continues, and `segments` lists the pause.',
      handler: (context, { params }) => setPaused(deps, context, params.id, true),
    }),
    api.post({
      ...common,
      path: '/calls/:id/recording/resume',
      id: 'resumeRecording',
      summary: "Resume a call's recording",
      handler: (context, { params }) => setPaused(deps, context, params.id, false),
    }),
    api.post({
      ...common,
      path: '/calls/:id/recording/stop',
      id: 'stopRecording',
      summary: "Stop a call's recording",
      description: 'The call continues. `call.recording.ready` reports that the file is available.',
      handler: (context, { params }) => stop(deps, context, params.id),
    }),
  ]
}

const recordingOf = (db: Db, tenant: Tenant, callId: string): Promise<RecordingRow | undefined> =>
  forTenant(db, tenant).findBy('recordings', { call_id: callId })

async function start(deps: CaptureControlDeps, context: Context, id: string): Promise<CallRecording | Problem> {
  const { store, media, now } = deps
  const made = await store.transaction(async trx => {
    const call = await keepableCall(trx, context, id)
    if (isProblem(call)) return call
    const existing = await recordingOf(trx, context, id)
    if (existing !== undefined) {
      return context.isResumed ? toCallRecording(existing) : conflict('already_recorded', 'The call has a recording.')
    }
    const unconsented = await unconsentedProblem(trx, context, call, now().toISOString())
    if (unconsented !== null) return unconsented
    await forTenant(trx, context).change('calls', id, { record: 1 })
    await insertRecording(trx, call, now().toISOString())
    const row = await recordingOf(trx, context, id)
    if (row === undefined) return missing('call', id)
    await context.keep(trx, toCallRecording(row))
    return toCallRecording(row)
  })
  if (isProblem(made)) return made
  const encrypted = await encryptsRecordings(store.db, context)
  const reply = await media.request('recording.start', { recordingId: id, target: { roomId: id }, encrypted })
  // Without an answer, the next snapshot tells whether it runs, and starts it if it does not.
  if (!isFailure(reply) || reply.failure === 'conflict' || reply.failure === 'unanswered') {
    if ((await recordingOf(store.db, context, id))?.status !== 'failed') return made
    await media.request('recording.stop', { recordingId: id })
    return endedMeanwhile('recording')
  }
  const rows = forTenant(store.db, context).delete('recordings').where('call_id', '=', id)
  await rows.where('status', '=', 'recording').execute()
  await forTenant(store.db, context).change('calls', id, { record: 0 })
  return refusedByMedia('recorded', reply)
}

/** What the recording is now, or why it cannot be changed. */
async function runningRecording(db: Db, context: Context, id: string): Promise<RecordingRow | Problem> {
  const call = await forTenant(db, context).find('calls', id)
  if (call === undefined) return missing('call', id)
  const row = await recordingOf(db, context, id)
  if (row === undefined) return problem('resource_missing', `The call has no recording: ${id}`, { param: 'id' })
  return row.status === 'recording' ? row : conflict('not_running', 'The recording has ended.')
}

async function setPaused(
  deps: CaptureControlDeps,
  context: Context,
  id: string,
  isPaused: boolean,
): Promise<CallRecording | Problem> {
  const { store, media, now } = deps
  const running = await runningRecording(store.db, context, id)
  if (isProblem(running)) return running
  const reply = await media.request(isPaused ? 'recording.pause' : 'recording.resume', { recordingId: id })
  if (isFailure(reply) && isUndecided(reply)) return mediaUnavailable(reply.message)
  if (isFailure(reply) && reply.failure === 'not_found') return beingStarted('recording')
  // Media may have told of its end before the answer.
  await media.settled()
  return context.transaction(async trx => {
    const row = await runningRecording(trx, context, id)
    if (isProblem(row)) return row
    const paused = isPaused ? 1 : 0
    const object = toCallRecording({ ...row, paused })
    if (row.paused !== paused) {
      // If media has refused, an earlier request got that far, and nobody wrote it down.
      await forTenant(trx, context).update('recordings').set({ paused }).where('call_id', '=', id).execute()
      const type = isPaused ? 'call.recording.paused' : 'call.recording.resumed'
      await appendEvent(trx, context, { type, at: now().toISOString(), object, callId: id })
    } else if (isFailure(reply) && !context.isResumed) {
      return isPaused
        ? conflict('already_paused', 'The recording is paused already.')
        : conflict('not_paused', 'The recording is not paused.')
    }
    return object
  })
}

async function stop(deps: CaptureControlDeps, context: Context, id: string): Promise<CallRecording | Problem> {
  const { store, media } = deps
  const row = await runningRecording(store.db, context, id)
  if (isProblem(row)) {
    const ended = context.isResumed ? await recordingOf(store.db, context, id) : undefined
    return ended === undefined ? row : toCallRecording(ended)
  }
  const reply = await media.request('recording.stop', { recordingId: id })
  if (isFailure(reply) && isUndecided(reply)) return mediaUnavailable(reply.message)
  await media.settled()
  const current = (await recordingOf(store.db, context, id)) ?? row
  if (isFailure(reply) && current.status === 'recording') return beingStarted('recording')
  return context.transaction(async () => toCallRecording(current))
}
