import { DateTime } from 'luxon'
import { lastPause } from '../../calls/pci.ts'
import { listWhoAsks, takeBackRecording } from '../../do-not-call/by-word.ts'
import type { Db, Trx } from '../../kernel/store/store.ts'
import { forTenant, tenantOf } from '../../kernel/tenancy.ts'
import type { Vault } from '../../kernel/vault.ts'
import type { PassageSearch } from '../../knowledge/search.ts'
import { digitRuns } from '../../organisation/redaction/digits.ts'
import { leastHeld, speaksOfCard } from '../../organisation/redaction/redactor.ts'
import { redactorOf } from '../../organisation/redaction/settings.ts'
import { ASKED_MS } from '../fast/hear.ts'
import { kindOf } from '../fast/slots.ts'
import type { CopilotInput, SaidInput } from '../fast/state.ts'
import { mentions } from '../fields/mention.ts'
import { fieldValue } from '../fields/values.ts'
import type { CopilotSessionRow } from '../tables.ts'
import { wordsOf } from '../words/fold.ts'
import { withKnowledge } from './inputs.ts'
import type { KnownVectors } from './meant.ts'
import { beforePayment, hearPiece, type Pieces, releasePieces, type Shown } from './pieces.ts'
import { apply, type RecordParts, sessionMsAt, settingsOfSession, stateOf } from './records.ts'
import { followScript } from './script-moves.ts'
import { takeBack } from './take-back.ts'

export interface HearingParts extends RecordParts {
  search: PassageSearch
  vault: Vault
  /** Vectors of the operator's embedding provider; absent, or null: only our own. */
  vectors?: KnownVectors | null
}

/** Processes an utterance, in this transaction. What may be the beginning of a number that must not be kept is not shown. */
export async function hearSaid(
  parts: HearingParts,
  trx: Trx,
  row: CopilotSessionRow,
  said: SaidInput,
): Promise<CopilotSessionRow> {
  const told = await tellOfRefusal(parts, trx, row, said)
  const redact = await redactorOf(trx, tenantOf(row))
  const least = leastHeld([...lastSaid(row), said.text])
  const heard = hearPiece(
    await piecesOf(parts, trx, told),
    redact,
    said,
    text => isDetail(row, { ...said, text }),
    least,
  )
  let next = await keep(parts.vault, trx, told, heard.pieces)
  next = await showAgain(parts, trx, next, heard.earlier, { atMs: said.atMs, becauseMs: said.toMs })
  const input = await withKnowledge(parts, trx, next, { ...said, text: heard.text })
  next = await apply(parts, trx, next, [input])
  if (heard.text !== said.text)
    next = await takeBack(parts, trx, next, [{ said: said.text, id: said.id, text: heard.text }])
  return followScript(parts, trx, next, input)
}

/**
 * Puts a customer who asks so on the do-not-call list; the agent sees that once for each entry, and how to undo it. A customer who asks not
 * to be recorded revokes the consent, and what depends on it ends.
 */
async function tellOfRefusal(
  parts: HearingParts,
  trx: Trx,
  row: CopilotSessionRow,
  { isFinal, party, text, id, atMs, toMs }: SaidInput,
): Promise<CopilotSessionRow> {
  if (!isFinal || party !== 'customer') return row
  const at = parts.now().toISOString()
  const words = { callId: row.call_id, text, at }
  await takeBackRecording(trx, tenantOf(row), words)
  const entry = await listWhoAsks(trx, tenantOf(row), words)
  if (entry === null) return row
  const messages = forTenant(trx, tenantOf(row)).select('copilot_messages').select('body')
  const earlier = await messages.where('session_id', '=', row.id).where('type', '=', 'compliance').execute()
  if (earlier.some(({ body }) => (JSON.parse(body) as { number_id?: string }).number_id === entry.id)) return row
  const body = {
    kind: 'do_not_call',
    number_id: entry.id,
    phone: entry.phone,
    message: 'The customer asked not to be called again, and is now on the do-not-call list.',
    undo: { method: 'DELETE', path: `/v1/do_not_call/${entry.id}` },
  }
  return apply(parts, trx, row, [
    { kind: 'told', atMs, type: 'compliance', path: 'fast', body, utterances: [id], wordsEndMs: toMs },
  ])
}

/** An utterance turns out to be nothing, or must not be known. */
export async function hearNothing(
  parts: HearingParts,
  trx: Trx,
  row: CopilotSessionRow,
  input: CopilotInput & { kind: 'unsaid' },
): Promise<CopilotSessionRow> {
  const pieces = await piecesOf(parts, trx, row)
  const left = Object.entries(pieces).map(([party, chain]) => [party, chain.filter(({ id }) => id !== input.id)])
  return apply(parts, trx, await keep(parts.vault, trx, row, Object.fromEntries(left)), [input])
}

/** Shows what was held back for long enough; `atMs` null: all of it, since nothing more will be said. */
export async function release(
  parts: HearingParts,
  trx: Trx,
  row: CopilotSessionRow,
  atMs: number | null,
): Promise<CopilotSessionRow> {
  if (row.held === null) return row
  const redact = await redactorOf(trx, tenantOf(row))
  const { shown, pieces } = releasePieces(await piecesOf(parts, trx, row), redact, atMs)
  const next = await keep(parts.vault, trx, row, pieces)
  return showAgain(parts, trx, next, shown, { atMs: atMs ?? 0, becauseMs: null })
}

async function showAgain(
  parts: HearingParts,
  trx: Trx,
  row: CopilotSessionRow,
  shown: readonly Shown[],
  { atMs, becauseMs }: { atMs: number; becauseMs: number | null },
): Promise<CopilotSessionRow> {
  let next = row
  for (const { piece, text } of shown) {
    const { id, party, isFinal, fromMs, toMs } = piece
    const said: SaidInput = { kind: 'said', atMs, id, party, text, isFinal, fromMs, toMs, again: { becauseMs } }
    next = await apply(parts, trx, next, [await withKnowledge(parts, trx, next, said)])
  }
  return takeBack(
    parts,
    trx,
    next,
    shown.map(({ piece, text }) => ({ id: piece.id, said: piece.text, text })),
  )
}

async function piecesOf({ vault, now }: HearingParts, db: Db, row: CopilotSessionRow): Promise<Pieces> {
  if (row.held === null) return {}
  const pieces = JSON.parse(vault.open(row.held, row.id)) as Pieces
  const pause = await lastPause(db, tenantOf(row), row.call_id)
  return pause === undefined ? pieces : beforePayment(pieces, sessionMsAt(db, row, pause.at, now()))
}

async function keep(vault: Vault, trx: Trx, row: CopilotSessionRow, pieces: Pieces): Promise<CopilotSessionRow> {
  const isEmpty = Object.values(pieces).every(chain => chain.length === 0)
  if (isEmpty && row.held === null) return row
  const held = isEmpty ? null : vault.seal(JSON.stringify(pieces), row.id)
  await forTenant(trx, tenantOf(row)).change('copilot_sessions', row.id, { held })
  return { ...row, held }
}

/** A sum of money or a day of the year. */
const OWN_FORM =
  /(?:[$€£₪]|\b(?:jan|feb|mar|apr|may|june?|july?|aug|sep|oct|nov|dec)\w*|(?:ינואר|פברואר|מרץ|אפריל|מאי|יוני|יולי|אוגוסט|ספטמבר|אוקטובר|נובמבר|דצמבר))\s*$/iu
/** Number of utterances for which a mention of a card still counts. */
const OF_A_CARD = 12

/** The last utterances, as they are shown. */
const lastSaid = (row: CopilotSessionRow): string[] =>
  Object.entries(stateOf(row).slots)
    .filter(([name, { told }]) => kindOf(name) === 'transcript' && told !== null)
    .slice(-OF_A_CARD)
    .map(([, { told }]) => told?.value ?? '')

/**
 * Whether digits answer a question for a field of the profile. They are then shown at once, and withdrawn if they turn out to be the
 * beginning of a card number.
 */
function isDetail(row: CopilotSessionRow, { party, text }: SaidInput): boolean {
  if (party !== 'customer') return false
  const [{ fields, language }, { asked, nowMs, startedAt }] = [settingsOfSession(row), stateOf(row)]
  const run = digitRuns(text).at(-1)
  if (run !== undefined && OWN_FORM.test(text.slice(0, run.start))) return true
  const words = wordsOf(text)
  const today = DateTime.fromISO(startedAt, { zone: 'utc' })
  return fields.some(field => {
    const { key, label, hint } = field
    if (speaksOfCard(`${key.replaceAll(/[_.-]/g, ' ')} ${label} ${hint}`)) return false
    const isAsked = (nowMs - asked.atMs <= ASKED_MS && asked.keys.includes(key)) || mentions(words, field)
    return (
      isAsked &&
      /\d/.test(fieldValue(field, { text, words, language, today, isAsked, isAnswer: isAsked, isOnly: true }) ?? '')
    )
  })
}
