import { basename, join } from 'node:path'
import Type, { type Static } from 'typebox'
import type { Context } from '../../http/context.ts'
import { conflict, invalid, isProblem, type Problem, problem } from '../../http/errors.ts'
import { operations, type RawAnswer, type Route } from '../../http/route.ts'
import { recordingAnswer } from '../../http/sealed-answer.ts'
import { input, oneOf } from '../../kernel/schema.ts'
import type { Store } from '../../kernel/store/store.ts'
import { forTenant } from '../../kernel/tenancy.ts'
import type { RecordingRow } from '../tables.ts'
import { fileOfCallMissing } from './file-missing.ts'
import type { FormOf, RecordingForms } from './recording-forms.ts'
import { callRecordingSchema, toCallRecording } from './recording-schema.ts'

const api = operations('Recordings', 'recordings')

interface RecordingDeps {
  store: Store
  dataDir: string
  /** Makes the mixes. */
  forms: RecordingForms
}

const contentQuery = input({
  channels: Type.Optional(
    oneOf(['all', 'mono', 'stereo'], {
      default: 'all',
      description:
        "all: as recorded. mono: all channels mixed. stereo: the call's own party on the left, everybody else and the product on the right.",
    }),
  ),
  format: Type.Optional(
    oneOf(['wav', 'ogg'], { default: 'wav', description: 'ogg: Opus in Ogg, of `channels` mono or stereo.' }),
  ),
})

export function recordingRoutes(deps: RecordingDeps): Route[] {
  return [
    api.get({
      path: '/calls/:id/recording',
      id: 'getRecording',
      summary: "Retrieve a call's recording",
      reply: callRecordingSchema,
      handler: async (context, { params }) => {
        const row = await findRecording(deps, context, params.id)
        return isProblem(row) ? row : toCallRecording(row)
      },
    }),
    api.get({
      path: '/calls/:id/recording/content',
      id: 'getRecordingContent',
      summary: "Download a call's recording",
      description:
        'WAV with a channel for each participant and one for the product. `channels` mixes them; `format=ogg` compresses a mix (Ogg Opus). `Range: bytes=…` returns a part.',
      query: contentQuery,
      reply: Type.String({ format: 'binary' }),
      rawType: 'audio/wav',
      errors: [409, 416, 429],
      handler: (context, { params, query, headers }) => content(deps, context, params.id, query, headers.range),
    }),
  ]
}

async function findRecording(deps: RecordingDeps, context: Context, callId: string): Promise<RecordingRow | Problem> {
  const row = await forTenant(deps.store.db, context).findBy('recordings', { call_id: callId })
  return row ?? problem('resource_missing', `The call has no recording: ${callId}`, { param: 'id' })
}

async function content(
  deps: RecordingDeps,
  context: Context,
  callId: string,
  { channels = 'all', format = 'wav' }: Static<typeof contentQuery>,
  range: string | string[] | undefined,
): Promise<RawAnswer | Problem> {
  const row = await findRecording(deps, context, callId)
  if (isProblem(row)) return row
  if (row.status !== 'ready' || row.file === null) {
    return conflict(
      'not_ready',
      row.status === 'failed' ? 'The recording failed.' : 'The call is still being recorded.',
    )
  }
  if (channels !== 'all') return mixed(deps, context, row, { layout: channels, format }, range)
  if (format === 'ogg') return invalid('channels', 'Ogg Opus needs `channels` mono or stereo.')
  const path = join(deps.dataDir, 'recordings', basename(row.file))
  const encrypted = row.encrypted === 1
  const file = { dataDir: deps.dataDir, id: callId, path, encrypted }
  return (await recordingAnswer(file, 'audio/wav', range)) ?? notHere(deps, context, callId)
}

async function mixed(
  deps: RecordingDeps,
  context: Context,
  { call_id: callId, encrypted: sealed }: RecordingRow,
  form: FormOf,
  range: string | string[] | undefined,
): Promise<RawAnswer | Problem> {
  const { forms, dataDir } = deps
  const encrypted = sealed === 1
  const made = await forms.file(callId, form, encrypted)
  if (made === 'busy') return problem('capacity_exhausted', 'Too many recordings are being mixed.', { retryAfterS: 10 })
  if (made === 'later') return conflict('being_made', 'The file is being made: try again later.')
  const type = form.format === 'ogg' ? 'audio/ogg' : 'audio/wav'
  const answer =
    made === null ? null : await recordingAnswer({ dataDir, id: callId, path: made.path, encrypted }, type, range)
  return answer ?? notHere(deps, context, callId)
}

const notHere = ({ store }: RecordingDeps, context: Context, callId: string): Promise<Problem> =>
  fileOfCallMissing(store.db, context, { kind: 'recording', id: callId, callId })
