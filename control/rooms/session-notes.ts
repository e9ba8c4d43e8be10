import Type from 'typebox'
import { cutTo } from '../../media/protocol.ts'
import { readTranscript } from '../calls/capture/transcripts.ts'
import type { CallTranscript } from '../calls/programs/transcript-schema.ts'
import { type SessionNotes, saveNotes } from '../calls/session-state.ts'
import { settingsOf } from '../calls/settings.ts'
import type { CallRow } from '../calls/tables.ts'
import { appendEvent } from '../kernel/events/log.ts'
import { enqueue } from '../kernel/jobs/queue.ts'
import type { JobHandler } from '../kernel/jobs/runner.ts'
import { input } from '../kernel/schema.ts'
import { type Fact, only } from '../kernel/store/after-commit.ts'
import type { Db, Store, Trx } from '../kernel/store/store.ts'
import { forTenant, type Tenant, tenantOf } from '../kernel/tenancy.ts'
import { jsonIn } from '../models/ask.ts'
import { isModelFailure } from '../models/model.ts'
import type { WriterFor, Written } from '../models/writer.ts'
import { toConferenceSession } from './conference-session.ts'
import type { NotesJob } from './notes-job.ts'

interface NotesDeps {
  store: Store
  now: () => Date
  log: { warn(fields: object, message: string): void }
  writerFor: WriterFor
}

const MAX_ATTEMPTS = 5
const BACKOFF_MS = 30_000
/** Maximum length of the text for the model [characters]. The end is kept, where long meetings decide. */
const MAX_TEXT = 60_000
const MAX_ITEMS = 50
const MAX_SUMMARY = 10_000

const INSTRUCTIONS =
  'You take notes of meetings. Write notes of this one: only what was said; leave a list empty when there was nothing.'

const items = (description: string) => Type.Array(Type.String(), { description })
const notesSchema = input({
  summary: Type.String({ description: 'What the meeting was about and what came of it, in a few sentences.' }),
  decisions: items('What was decided.'),
  action_items: items('Who does what, by when.'),
})

/** Runs in the transaction that completes a transcript (`store.within`). */
export const onTranscriptTold = only(
  ['call.transcript.ready'],
  (trx: Trx, { object, at }: Fact): Promise<void> => wantNotes(trx, (object as CallTranscript).call_id, at),
)

/** Requests notes for a complete transcript, if it is of a session in a room with a note taker. */
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

/** Asks a model to write the notes. Without a model there are none; temporary failures are retried. */
export const notesHandler = (deps: NotesDeps): JobHandler<NotesJob> => ({
  maxAttempts: MAX_ATTEMPTS,
  backoffMs: BACKOFF_MS,
  run: async ({ tenant, call_id }, attempt) => {
    const { store, now, log } = deps
    const session = await forTenant(store.db, tenant).find('calls', call_id)
    const transcript = await readTranscript(store.db, tenant, call_id)
    if (session === undefined || transcript === undefined) return
    const lines = linesOf(transcript)
    if (lines.length === 0) return
    const writer = deps.writerFor(tenant, attempt.signal)
    if (writer === null) {
      log.warn({ callId: call_id, reason: 'no model is configured' }, 'nobody takes notes')
      return
    }
    const written = await writer.write({
      name: 'meeting_notes',
      schema: notesSchema,
      instructions: INSTRUCTIONS,
      language: await languageOf(store.db, tenant, session),
      text: lines.join('\n').slice(-MAX_TEXT),
    })
    // A later try may succeed. After the last one, the runner gives up with this reason.
    if (isModelFailure(written)) throw new Error(`no notes: ${written.message}`)
    const notes = notesIn(written)
    await store.transaction(async trx => {
      // The words may have been deleted meanwhile.
      if ((await readTranscript(trx, tenant, call_id)) === undefined) return attempt.finish(trx)
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

/** The members' words only. What the product said ("You are the first person in this room") is not part of the meeting. */
const linesOf = ({ segments }: CallTranscript): string[] =>
  segments
    .filter(({ speaker }) => speaker === 'participant')
    .map(({ participant_id, text }) => `${participant_id}: ${text}`)

/** The room's current language. */
async function languageOf(db: Db, tenant: Tenant, { room_id }: CallRow): Promise<string> {
  const room = room_id === null ? undefined : await forTenant(db, tenant).find('conference_rooms', room_id)
  return room === undefined ? 'en' : settingsOf(room).language
}

/** The model's text as notes. Nothing is lost if it violates the schema: anything outside our fields becomes the summary. */
function notesIn({ value, text }: Written<typeof notesSchema>): SessionNotes {
  if (value !== null) return capped(value)
  const { summary, decisions, action_items } = (jsonIn(text) ?? {}) as Record<string, unknown>
  const notes = { summary: textOf(summary), decisions: strings(decisions), action_items: strings(action_items) }
  const isEmpty = notes.summary === '' && notes.decisions.length + notes.action_items.length === 0
  return capped(isEmpty ? { ...notes, summary: text.trim() } : notes)
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

const strings = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter(item => typeof item === 'string') : textOf(value) === '' ? [] : [textOf(value)]

const capped = ({ summary, decisions, action_items }: SessionNotes): SessionNotes => ({
  summary: cutTo(summary, MAX_SUMMARY),
  decisions: decisions.slice(0, MAX_ITEMS),
  action_items: action_items.slice(0, MAX_ITEMS),
})
