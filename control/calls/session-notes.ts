import { appendEvent } from '../events/log.ts'
import type { FlowModel } from '../flows/model.ts'
import { isModelFailure } from '../flows/model.ts'
import { enqueue } from '../jobs/queue.ts'
import type { JobHandler } from '../jobs/runner.ts'
import type { Store, Trx } from '../store.ts'
import { forTenant, type Tenant } from '../tenancy.ts'
import { toConferenceSession } from './conference-session.ts'
import type { Of } from './event-handler.ts'
import type { NotesJob } from './notes-job.ts'
import { tenantOf } from './records.ts'
import { type SessionNotes, saveNotes } from './session-state.ts'
import { settingsOf } from './settings.ts'

export interface NotesDeps {
  store: Store
  now: () => Date
  log: { warn(fields: object, message: string): void }
  modelFor: (tenant: Tenant, assistantId: string | null, signal: AbortSignal) => Promise<FlowModel>
  /** What was said in a call, line by line; undefined when nobody wrote it down. */
  transcriptOf: (tenant: Tenant, callId: string) => Promise<string[] | undefined>
}

const MAX_ATTEMPTS = 5
const BACKOFF_MS = 30_000
/** What a model is asked to read at most; the end of a longer meeting is where it decides. */
const MAX_TEXT = 60_000
const MAX_ITEMS = 50

const GOAL = [
  'Write notes of this meeting. Answer with one JSON object and nothing else:',
  '{"summary": string, "decisions": string[], "action_items": string[]}.',
  'Write only what was said; leave a list empty when there was nothing.',
].join(' ')

export async function onTranscriptReady(trx: Trx, { body, at }: Of<'transcript.ready'>): Promise<null> {
  await wantNotes(trx, body.transcriptId, at)
  return null
}

/** A call's transcript is complete: notes are written, where it is the session of a room with a note taker. */
export async function wantNotes(trx: Trx, callId: string, at: string): Promise<void> {
  const session = await trx.selectFrom('calls').selectAll().where('id', '=', callId).executeTakeFirst()
  if (session?.kind !== 'conference' || session.room_id === null) return
  const tenant = tenantOf(session)
  const room = await forTenant(trx, tenant).find('conference_rooms', session.room_id)
  if (room === undefined || !settingsOf(room).ai_note_taker) return
  const job: NotesJob = { tenant, call_id: session.id }
  await enqueue(trx, 'conference.notes', job, {
    now: new Date(at),
    organisationId: tenant.organisationId,
    key: session.id,
  })
}

/** Has the notes written by a model. Without one there are none; what fails for now is tried again. */
export const notesHandler = (deps: NotesDeps): JobHandler<NotesJob> => ({
  maxAttempts: MAX_ATTEMPTS,
  backoffMs: BACKOFF_MS,
  run: async ({ tenant, call_id }, attempt) => {
    const { store, now, log } = deps
    const session = await forTenant(store.db, tenant).find('calls', call_id)
    const lines = await deps.transcriptOf(tenant, call_id)
    if (session === undefined || lines === undefined || lines.length === 0) return
    const model = await deps.modelFor(tenant, null, attempt.signal)
    const reply = await model.reply({
      goal: GOAL,
      model: null,
      instructions: 'You take notes of meetings.',
      language: 'en',
      history: [{ role: 'customer', text: lines.join('\n').slice(-MAX_TEXT) }],
    })
    if (isModelFailure(reply)) {
      if (reply.failure !== 'unavailable') throw new Error(`no notes: ${reply.message}`)
      log.warn({ callId: call_id, reason: reply.message }, 'nobody takes notes')
      return
    }
    const notes = readNotes(reply.value ?? reply.text)
    await store.transaction(async trx => {
      await saveNotes(trx, session, notes)
      const object = await toConferenceSession(trx, tenant, session, now())
      await appendEvent(trx, tenant, {
        type: 'conference.notes.ready',
        at: now().toISOString(),
        object,
        callId: call_id,
      })
      await attempt.finish(trx)
    })
  },
})

/** What a model answered, as notes; what is no JSON is a summary. */
export function readNotes(text: string): SessionNotes {
  const json = text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1)
  try {
    const { summary, decisions, action_items } = JSON.parse(json) as Record<string, unknown>
    return { summary: String(summary ?? ''), decisions: strings(decisions), action_items: strings(action_items) }
  } catch {
    return { summary: text.trim(), decisions: [], action_items: [] }
  }
}

const strings = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter(item => typeof item === 'string').slice(0, MAX_ITEMS) : []
