import { removeRecordingFiles } from '../calls/capture/recording-files.ts'
import type { Context } from '../http/context.ts'
import { isProblem, missing, type Problem, problem } from '../http/errors.ts'
import { type Route, route } from '../http/route.ts'
import type { Scope } from '../http/scopes.ts'
import { deletedObject, idParams } from '../kernel/schema.ts'
import type { Store, Trx } from '../kernel/store/store.ts'
import type { Tenant } from '../kernel/tenancy.ts'
import { removeCall, removeRecording, removeTranscript, removeVoicemail } from './removal.ts'

interface KeptDataDeps {
  store: Store
  dataDir: string
  now: () => Date
}

interface Deletion {
  path: string
  id: string
  object: string
  summary: string
  description: string
  scope: Scope
  tag: string
  remove: (trx: Trx, tenant: Tenant, id: string, at: string) => Promise<Problem | null | undefined>
}

const DELETIONS: Deletion[] = [
  {
    path: '/calls/:id/recording',
    id: 'deleteRecording',
    object: 'call_recording',
    summary: "Delete a call's recording",
    description: 'Also deletes its file in every form. 409 while the call is being recorded.',
    scope: 'recordings:write',
    tag: 'Recordings',
    remove: removeRecording,
  },
  {
    path: '/calls/:id/transcript',
    id: 'deleteTranscript',
    object: 'call_transcript',
    summary: "Delete a call's transcript",
    description:
      'Also deletes the turns of its assistant, its summary and evaluation, and the events that quote it. 409 while it is being written.',
    scope: 'recordings:write',
    tag: 'Recordings',
    remove: removeTranscript,
  },
  {
    path: '/voicemails/:id',
    id: 'deleteVoicemail',
    object: 'voicemail',
    summary: 'Delete a voicemail',
    description: 'Also deletes its audio. 409 while it is being recorded.',
    scope: 'recordings:write',
    tag: 'Recordings',
    remove: removeVoicemail,
  },
  {
    path: '/calls/:id',
    id: 'deleteCall',
    object: 'call',
    summary: 'Delete a call',
    description:
      'Also deletes its recording, transcript, summary, evaluation, participants, streams, turns and events. A message left in it stays a voicemail. 409 until it has ended.',
    scope: 'calls:write',
    tag: 'Calls',
    remove: removeCall,
  },
]

/** Routes that delete records of calls. */
export const keptDataRoutes = ({ dataDir, now }: KeptDataDeps): Route[] =>
  DELETIONS.map(({ path, id: operation, object, summary, description, scope, tag, remove }) =>
    route({
      method: 'DELETE',
      path,
      id: operation,
      summary,
      description,
      tag,
      scope,
      params: idParams,
      reply: deletedObject(object),
      errors: [409],
      handler: async (context: Context, { params: { id } }: { params: { id: string } }) => {
        const deleted = await context.transaction(async trx => {
          const removed = await remove(trx, context, id, now().toISOString())
          if (removed === undefined) return noSuch(object, id)
          return removed ?? { object, id, deleted: true as const, livemode: context.livemode }
        })
        if (!isProblem(deleted)) await removeRecordingFiles(dataDir, id)
        return deleted
      },
    }),
  )

const noSuch = (object: string, id: string): Problem =>
  object === 'call' || object === 'voicemail'
    ? missing(object, id)
    : problem('resource_missing', `The call has no ${object.replace('call_', '')}: ${id}`, { param: 'id' })
