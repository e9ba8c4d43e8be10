import type { Events } from '../../../media/protocol.ts'
import { tenantOf } from '../../calls/records.ts'
import { newId } from '../../kernel/ids.ts'
import type { Db, Trx } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import type { PassageSearch } from '../../knowledge/search.ts'
import { redactorOf } from '../../organisation/redaction/settings.ts'
import type { CopilotInput, Party, SaidInput } from '../fast/state.ts'
import type { CopilotInputRow, CopilotSessionRow } from '../tables.ts'
import { lookUp } from './knowledge.ts'
import { sessionMs, settingsOfSession, stateOf } from './records.ts'

/** Words as they were heard, with times of the day. */
export interface HeardInput {
  utteranceId: string
  legId: string
  /** Null: what was being said is not to be known. */
  text: string | null
  isFinal: boolean
  beganAt: string
  endedAt: string
}

/** Inputs of a session that wait at most: who speaks faster than we can write is not heard further. */
const MAX_WAITING = 200

/** Keeps what was heard for its session, in the transaction of the event. Returns the session's ID; null: it has none. */
export async function keepWords(
  trx: Trx,
  { transcriptId, utteranceId, legId, text, isFinal, beganAgoMs, endedAgoMs }: Events['transcript.words'],
  at: string,
): Promise<string | null> {
  const sessions = trx.selectFrom('copilot_sessions').selectAll().where('id', '=', transcriptId)
  const row = await sessions.where('status', '=', 'running').executeTakeFirst()
  if (row === undefined) return null
  const ago = (ms: number): string => new Date(Date.parse(at) - ms).toISOString()
  const input: HeardInput = {
    utteranceId,
    legId,
    text,
    isFinal,
    beganAt: ago(beganAgoMs),
    endedAt: ago(endedAgoMs),
  }
  const waiting = trx.selectFrom('copilot_inputs').select(({ fn }) => fn.countAll<number | string>().as('count'))
  const { count } = await waiting.where('session_id', '=', row.id).executeTakeFirstOrThrow()
  if (Number(count) >= MAX_WAITING) return row.id
  const id = newId('copilot_input')
  await forTenant(trx, tenantOf(row)).insert('copilot_inputs', { id, session_id: row.id, body: JSON.stringify(input) })
  return row.id
}

/** The inputs of a session that have not been dealt with, in their order. */
export const waitingInputs = (db: Db, sessionId: string, limit: number): Promise<CopilotInputRow[]> =>
  db.selectFrom('copilot_inputs').selectAll().where('session_id', '=', sessionId).orderBy('id').limit(limit).execute()

/** What was heard as the fast path takes it: by party, on the session's clock, with what the knowledge base has on it. */
export async function inputOf(
  search: PassageSearch,
  db: Db,
  row: CopilotSessionRow,
  heard: HeardInput,
  now: Date,
): Promise<CopilotInput | null> {
  const atMs = sessionMs(row, now)
  const { utteranceId: id, text } = heard
  const party = await partyOf(db, row, heard.legId)
  if (party === null) return null
  if (text === null) return { kind: 'unsaid', atMs, id }
  const times = { fromMs: sessionMs(row, new Date(heard.beganAt)), toMs: sessionMs(row, new Date(heard.endedAt)) }
  return saidInput(search, db, row, { kind: 'said', atMs, id, party, text, isFinal: heard.isFinal, ...times })
}

/** Words without what the organisation does not want to keep, and with what is known of them. Null: they are of a card payment. */
export async function saidInput(
  search: PassageSearch,
  db: Db,
  row: CopilotSessionRow,
  said: SaidInput,
): Promise<SaidInput> {
  const tenant = tenantOf(row)
  const text = await withoutSecrets(db, tenant, row, said)
  const shown = { ...said, text }
  if (said.party !== 'customer' || text === '') return shown
  return { ...shown, ...(await lookUp(search, db, tenant, settingsOfSession(row), shown)) }
}

/** A number that was said in pieces is known by its last: what stands before it is looked at too. */
async function withoutSecrets(
  db: Db,
  tenant: Tenant,
  row: CopilotSessionRow,
  { id, party, text }: SaidInput,
): Promise<string> {
  const redact = await redactorOf(db, tenant)
  const before = Object.entries(stateOf(row).slots)
    .filter(
      ([name, slot]) => name.startsWith('transcript:') && name !== `transcript:${id}` && slot.more?.party === party,
    )
    .slice(-MAX_PIECES)
    .flatMap(([, { told }]) => (told === null ? [] : [(JSON.parse(told.value) as [string, boolean])[0]]))
  return redact.all([...before, text]).at(-1) ?? ''
}

const MAX_PIECES = 8

/** Null: a supervisor, whom the customer does not hear. */
async function partyOf(db: Db, row: CopilotSessionRow, legId: string): Promise<Party | null> {
  if (legId === row.participant_id) return 'agent'
  const leg = await forTenant(db, tenantOf(row)).find('participants', legId)
  if (leg === undefined || leg.role === 'supervisor') return null
  return leg.role === 'agent' ? 'other' : 'customer'
}
