import type { Trx } from '../../kernel/store/store.ts'
import { forTenant, tenantOf } from '../../kernel/tenancy.ts'
import { digitRuns } from '../../organisation/redaction/digits.ts'
import { isHeldBack } from '../../organisation/redaction/redactor.ts'
import { kindOf } from '../fast/slots.ts'
import type { Verdict } from '../fast/state.ts'
import type { CopilotSessionRow } from '../tables.ts'
import { apply, type RecordParts, stateOf } from './records.ts'

/** What was said, and how it is now shown. */
interface Hidden {
  id: string
  said: string
  text: string
}

/** Fewer digits may occur elsewhere by chance. */
const MIN_DIGITS = 4

/** Removes what is now hidden from earlier messages, in their rows, and from the fields that a model has filled with it. */
export async function takeBack(
  parts: RecordParts,
  trx: Trx,
  row: CopilotSessionRow,
  hidden: readonly Hidden[],
): Promise<CopilotSessionRow> {
  if (hidden.length === 0) return row
  const pieces = hidden.map(digitsHidden).filter(piece => piece.length >= MIN_DIGITS)
  const digits = hidden.map(digitsHidden).join('')
  const isIn = (value: unknown): boolean => {
    const own = String(value ?? '').replaceAll(/\D/g, '')
    return own.length >= MIN_DIGITS && (digits.includes(own) || pieces.some(piece => own.includes(piece)))
  }
  const verdicts: Verdict[] = Object.entries(stateOf(row).slots).flatMap(([slot, { told, person }]) =>
    kindOf(slot) === 'field' && person === null && isIn(told?.value) ? [{ slot, value: null }] : [],
  )
  const judged = { kind: 'judged' as const, atMs: 0, utterances: [], wordsEndMs: null, verdicts }
  const next = verdicts.length === 0 ? row : await apply(parts, trx, row, [judged])
  await rewrite(trx, next, hidden, isIn)
  return next
}

/** The hidden digits. What is only held back does not count, since a field may contain it rightly. */
const digitsHidden = ({ said, text }: Hidden): string =>
  isHeldBack(text)
    ? ''
    : digitRuns(said)
        .filter(({ start, end }) => !text.includes(said.slice(start, end)))
        .map(run => run.digits)
        .join('')

async function rewrite(
  trx: Trx,
  row: CopilotSessionRow,
  hidden: readonly Hidden[],
  isIn: (value: unknown) => boolean,
): Promise<void> {
  const scoped = forTenant(trx, tenantOf(row))
  const rows = await scoped
    .select('copilot_messages')
    .select(['id', 'type', 'body'])
    .where('session_id', '=', row.id)
    .where('type', 'in', ['transcript', 'field'])
    .orderBy('seq', 'desc')
    .limit(MAX_ROWS)
    .execute()
  for (const { id, type, body } of rows) {
    const told = JSON.parse(body) as { utterance_id?: string; text?: string; value?: unknown }
    const now = hidden.find(one => one.id === told.utterance_id)
    if (type === 'field' ? !isIn(told.value) : now === undefined || told.text === now.text) continue
    const next = type === 'field' || now === undefined ? {} : { ...told, text: now.text }
    await scoped.change('copilot_messages', id, { body: JSON.stringify(next) })
  }
}

/** How many of the last messages are searched; a number is said within a minute. */
const MAX_ROWS = 500
