import Type, { type Static } from 'typebox'
import { isFailure, isUndecided } from '../../../media/protocol.ts'
import type { Context } from '../../http/context.ts'
import { conflict, isProblem, missing, type Problem, problem } from '../../http/errors.ts'
import { operations, type Route } from '../../http/route.ts'
import { input, languageTag } from '../../kernel/schema.ts'
import { forTenant } from '../../kernel/tenancy.ts'
import { beingStarted, mediaUnavailable } from '../dial.ts'
import { type CallTranscript, callTranscriptSchema } from '../programs/transcript-schema.ts'
import { keepableCall, refusedByMedia } from '../running-call.ts'
import { endedMeanwhile, unconsentedProblem } from './demanded-consent.ts'
import type { CaptureControlDeps } from './recording-control.ts'
import { wantTranscript } from './transcript-rows.ts'
import { readTranscript } from './transcripts.ts'

const api = operations('Recordings', 'recordings')

const startBody = input({
  language: Type.Optional(languageTag('Spoken language (BCP 47); absent: detected, or English.')),
})

const common = { errors: [409, 503], reply: callTranscriptSchema }

/** Starts and stops the transcript of a running call. */
export function transcriptControlRoutes(deps: CaptureControlDeps): Route[] {
  return [
    api.post({
      ...common,
      path: '/calls/:id/transcript/start',
      id: 'startTranscript',
      summary: 'Transcribe a running call',
      description:
        'From now on: everybody in it, everybody who joins, and the product. A call has one transcript. 409 if it has one, had one that was deleted, or if no engine here understands the language.',
      body: startBody,
      status: 201,
      handler: (context, { params, body }) => start(deps, context, params.id, body),
    }),
    api.post({
      ...common,
      path: '/calls/:id/transcript/stop',
      id: 'stopTranscript',
      summary: "Stop a call's transcript",
      description: 'The call continues. Speech in progress is still transcribed; then `call.transcript.ready` is sent.',
      handler: (context, { params }) => stop(deps, context, params.id),
    }),
  ]
}

async function start(
  { store, media, now }: CaptureControlDeps,
  context: Context,
  id: string,
  { language: spoken }: Static<typeof startBody>,
): Promise<CallTranscript | Problem> {
  const language = spoken ?? null
  const made = await store.transaction(async trx => {
    const call = await keepableCall(trx, context, id)
    if (isProblem(call)) return call
    const existing = await readTranscript(trx, context, id)
    if (existing !== undefined) {
      return context.isResumed ? existing : conflict('already_transcribed', 'The call has a transcript.')
    }
    const unconsented = await unconsentedProblem(trx, context, call, now().toISOString())
    if (unconsented !== null) return unconsented
    await wantTranscript(trx, context, { id, language, at: now().toISOString(), status: 'running' })
    const transcript = await readTranscript(trx, context, id)
    if (transcript === undefined) return missing('call', id)
    await context.keep(trx, transcript)
    return transcript
  })
  if (isProblem(made)) return made
  const reply = await media.request('transcript.start', { transcriptId: id, target: { roomId: id }, language })
  // Without an answer, the next snapshot tells whether it runs, and starts it if it does not.
  if (!isFailure(reply) || reply.failure === 'conflict' || reply.failure === 'unanswered') {
    if ((await readTranscript(store.db, context, id))?.status !== 'failed') return made
    await media.request('transcript.stop', { transcriptId: id })
    return endedMeanwhile('transcript')
  }
  const rows = forTenant(store.db, context).delete('transcripts').where('id', '=', id)
  await rows.where('status', '=', 'running').execute()
  return refusedByMedia('transcribed', reply)
}

async function stop(
  { store, media }: CaptureControlDeps,
  context: Context,
  id: string,
): Promise<CallTranscript | Problem> {
  if ((await forTenant(store.db, context).find('calls', id)) === undefined) return missing('call', id)
  const before = await readTranscript(store.db, context, id)
  if (before === undefined) return problem('resource_missing', `The call has no transcript: ${id}`, { param: 'id' })
  if (before.status !== 'running') {
    return context.isResumed ? before : conflict('not_running', 'The call is not being transcribed.')
  }
  const reply = await media.request('transcript.stop', { transcriptId: id })
  if (isFailure(reply) && isUndecided(reply)) return mediaUnavailable(reply.message)
  await media.settled()
  const current = (await readTranscript(store.db, context, id)) ?? before
  if (isFailure(reply) && current.status === 'running') return beingStarted('transcript')
  return context.transaction(async () => current)
}
