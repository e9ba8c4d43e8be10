import type { Events } from '../../../media/protocol.ts'
import type { ParticipantRow } from '../../calls/tables.ts'
import { newId } from '../../kernel/ids.ts'
import type { Db, Trx } from '../../kernel/store/store.ts'
import { forTenant, tenantOf } from '../../kernel/tenancy.ts'
import type { Vault } from '../../kernel/vault.ts'
import type { PassageSearch } from '../../knowledge/search.ts'
import { isAsking } from '../../queues/ringing/rings.ts'
import type { CopilotInput, Party, SaidInput } from '../fast/state.ts'
import type { CopilotInputRow, CopilotSessionRow } from '../tables.ts'
import { lookUp } from './knowledge.ts'
import { type KnownVectors, meantBy } from './meant.ts'
import { sessionMs, sessionMsAt, settingsOfSession } from './records.ts'

/** Words as they were heard, with times of the session's clock [ms], which older versions did not store. */
interface HeardInput {
  utteranceId: string
  legId: string
  /** Null: the utterance was nothing, or must not be known. */
  text: string | null
  isFinal: boolean
  /** Time of day, ISO 8601. */
  beganAt: string
  fromMs?: number
  toMs?: number
}

/** Maximum number of waiting inputs of a session; further ones are dropped. */
const MAX_WAITING = 200

/** Stores what was heard as an input of its session, in the transaction of the event. Returns the session's ID; null: none. */
export async function keepWords(
  vault: Vault,
  trx: Trx,
  { at, body: said }: { at: string; body: Events['transcript.words'] },
  now: Date,
): Promise<string | null> {
  const { transcriptId, utteranceId, legId, text, isFinal, beganAgoMs, endedAgoMs } = said
  const sessions = trx.selectFrom('copilot_sessions').selectAll().where('id', '=', transcriptId)
  const row = await sessions.where('status', '=', 'running').executeTakeFirst()
  if (row === undefined || row.hearing === 'none') return null
  const toldMs = sessionMsAt(trx, row, at, now)
  const input: HeardInput = {
    utteranceId,
    legId,
    text,
    isFinal,
    beganAt: new Date(Date.parse(at) - beganAgoMs).toISOString(),
    fromMs: Math.max(0, toldMs - beganAgoMs),
    toMs: Math.max(0, toldMs - endedAgoMs),
  }
  const waiting = trx.selectFrom('copilot_inputs').select(({ fn }) => fn.countAll<number | string>().as('count'))
  const { count } = await waiting.where('session_id', '=', row.id).executeTakeFirstOrThrow()
  if (Number(count) >= MAX_WAITING) return row.id
  const id = newId('copilot_input')
  const body = vault.seal(JSON.stringify(input), id)
  await forTenant(trx, tenantOf(row)).insert('copilot_inputs', { id, session_id: row.id, body })
  return row.id
}

/** Reads what `keepWords` has stored. Older versions did not seal it. */
export const heardIn = (vault: Vault, { id, body }: CopilotInputRow): HeardInput =>
  JSON.parse(body.startsWith('{') ? body : vault.open(body, id))

/** The waiting inputs of a session, in order. */
export const waitingInputs = (db: Db, sessionId: string, limit: number): Promise<CopilotInputRow[]> =>
  db.selectFrom('copilot_inputs').selectAll().where('session_id', '=', sessionId).orderBy('id').limit(limit).execute()

/** The input of the fast path for what was heard, with party and times. */
export async function inputOf(
  db: Db,
  row: CopilotSessionRow,
  heard: HeardInput,
  now: Date,
): Promise<SaidInput | (CopilotInput & { kind: 'unsaid' }) | null> {
  const atMs = sessionMs(db, row, now)
  const { utteranceId: id, text, isFinal, beganAt, fromMs = atMs, toMs = atMs } = heard
  const party = await partyOf(db, row, heard.legId)
  if (party === null) return null
  if (text === null) return { kind: 'unsaid', atMs, id }
  const isAside = party === 'agent' && (await isOnHold(db, row, beganAt, now))
  return { kind: 'said', atMs, id, party, text, isFinal, fromMs, toMs, ...(isAside && { isAside }) }
}

/** Whether the call was on hold at that time, so that the customer did not hear the agent. */
async function isOnHold(db: Db, row: CopilotSessionRow, at: string, now: Date): Promise<boolean> {
  const scoped = forTenant(db, tenantOf(row))
  const held = scoped.select('participants').select('id').where('call_id', '=', row.call_id).where('on_hold', '=', 1)
  if ((await held.where('step', '!=', 'ended').limit(1).executeTakeFirst()) === undefined) return false
  const told = scoped.select('events').select('timestamp').where('call_id', '=', row.call_id)
  const since = await told.where('type', '=', 'call.held').orderBy('id', 'desc').limit(1).executeTakeFirst()
  // An event from the future means that the time of day was set back since.
  return since === undefined || since.timestamp <= at || since.timestamp > now.toISOString()
}

/** Adds what the knowledge base and vectors say about the words. */
export async function withKnowledge(
  { search, vectors }: { search: PassageSearch; vectors?: KnownVectors | null },
  db: Db,
  row: CopilotSessionRow,
  said: SaidInput,
): Promise<SaidInput> {
  if (said.party !== 'customer' || said.text === '') return said
  const [tenant, settings] = [tenantOf(row), settingsOfSession(row)]
  const known = { ...said, meant: meantBy(vectors ?? null, tenant, settings, said.text) }
  return { ...known, ...(await lookUp(search, db, tenant, settings, known)) }
}

/** The party that a leg belongs to. Null: a supervisor, whom the customer does not hear. `other`: a second agent, or a consulted party. */
async function partyOf(db: Db, row: CopilotSessionRow, legId: string): Promise<Party | null> {
  if (legId === row.participant_id) return 'agent'
  const leg = await forTenant(db, tenantOf(row)).find('participants', legId)
  if (leg === undefined || leg.role === 'supervisor') return null
  return leg.role === 'agent' || (await isAsked(db, row, leg)) ? 'other' : 'customer'
}

async function isAsked(db: Db, row: CopilotSessionRow, { ring_id }: Pick<ParticipantRow, 'ring_id'>): Promise<boolean> {
  const ring = ring_id === null ? undefined : await forTenant(db, tenantOf(row)).find('rings', ring_id)
  return ring !== undefined && isAsking(ring)
}
