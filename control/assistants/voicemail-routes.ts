import { basename, join } from 'node:path'
import Type from 'typebox'
import { fileOfCallMissing } from '../calls/capture/file-missing.ts'
import { conflict, missing } from '../http/errors.ts'
import { listParameters } from '../http/list.ts'
import { listRoute, plainOf, retrieveRoute } from '../http/plain-resource.ts'
import { operations, type Route } from '../http/route.ts'
import { recordingAnswer } from '../http/sealed-answer.ts'
import { input } from '../kernel/schema.ts'
import type { Store } from '../kernel/store/store.ts'
import { forTenant } from '../kernel/tenancy.ts'
import { toVoicemail, voicemailSchema } from './voicemail-schema.ts'

const api = operations('Recordings', 'recordings')

/** Routes of messages that callers left. */
export function voicemailRoutes({ store, dataDir }: { store: Store; dataDir: string }): Route[] {
  const plain = plainOf({ store, table: 'voicemails', api, reply: voicemailSchema, toObject: toVoicemail })
  return [
    listRoute(plain, {
      query: input({ ...listParameters, queue_id: Type.Optional(Type.String({ maxLength: 200 })) }),
    }),
    retrieveRoute(plain),
    api.get({
      path: '/voicemails/:id/content',
      id: 'getVoicemailContent',
      summary: "Download a voicemail's audio",
      description: 'A WAV file. `Range: bytes=…` gives a part of it.',
      reply: Type.String({ format: 'binary' }),
      rawType: 'audio/wav',
      errors: [409, 416],
      handler: async (context, { params, headers }) => {
        const row = await forTenant(store.db, context).find('voicemails', params.id)
        if (row === undefined) return missing('voicemail', params.id)
        if (row.status !== 'ready' || row.file === null) {
          return conflict(
            'not_ready',
            row.status === 'failed' ? 'The recording failed.' : 'The voicemail is still being recorded.',
          )
        }
        const path = join(dataDir, 'recordings', basename(row.file))
        const file = { dataDir, id: row.id, path, encrypted: row.encrypted === 1 }
        const answer = await recordingAnswer(file, 'audio/wav', headers.range)
        const missed = { kind: 'voicemail', id: params.id, callId: row.call_id }
        return answer ?? fileOfCallMissing(store.db, context, missed)
      },
    }),
  ]
}
