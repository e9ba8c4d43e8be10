import { basename, join } from 'node:path'
import Type from 'typebox'
import type { RecordingRow } from '../calls/tables.ts'
import type { Context } from '../http/context.ts'
import { conflict, fileMissing, isProblem, type Problem, problem } from '../http/errors.ts'
import { fileAnswer } from '../http/file-answer.ts'
import { type RawAnswer, type Route, route } from '../http/route.ts'
import { idParams } from '../http/schema.ts'
import { callRecordingSchema, toCallRecording } from '../schemas/call-recording.ts'
import type { Store } from '../store.ts'
import { forTenant } from '../tenancy.ts'

export interface RecordingDeps {
  store: Store
  dataDir: string
}

export function recordingRoutes(deps: RecordingDeps): Route[] {
  return [
    route({
      method: 'GET',
      path: '/calls/:id/recording',
      id: 'getRecording',
      summary: "Retrieve a call's recording",
      tag: 'Recordings',
      scope: 'recordings:read',
      params: idParams,
      status: 200,
      reply: callRecordingSchema,
      errors: [404],
      handler: async (context, { params }) => {
        const row = await findRecording(deps, context, params.id)
        return isProblem(row) ? row : toCallRecording(row)
      },
    }),
    route({
      method: 'GET',
      path: '/calls/:id/recording/content',
      id: 'getRecordingContent',
      summary: "Download a call's recording",
      description: 'A WAV file, one channel for each participant. `Range: bytes=…` gives a part of it.',
      tag: 'Recordings',
      scope: 'recordings:read',
      params: idParams,
      status: 200,
      reply: Type.String({ format: 'binary' }),
      rawType: 'audio/wav',
      errors: [404, 409, 416],
      handler: (context, { params, headers }) => content(deps, context, params.id, headers.range),
    }),
  ]
}

async function findRecording(deps: RecordingDeps, context: Context, callId: string): Promise<RecordingRow | Problem> {
  const row = await forTenant(deps.store.db, context)
    .select('recordings')
    .selectAll()
    .where('call_id', '=', callId)
    .executeTakeFirst()
  return row ?? problem('resource_missing', `The call has no recording: ${callId}`, { param: 'id' })
}

async function content(
  deps: RecordingDeps,
  context: Context,
  callId: string,
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
  const path = join(deps.dataDir, 'recordings', basename(row.file))
  return (await fileAnswer(path, 'audio/wav', range)) ?? fileMissing('recording', callId)
}
