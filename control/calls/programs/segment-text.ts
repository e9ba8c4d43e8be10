import type { Trx } from '../../kernel/store/store.ts'
import { forTenant, tenantOf } from '../../kernel/tenancy.ts'
import type { Vault } from '../../kernel/vault.ts'
import { digitsIn } from '../../organisation/redaction/digits.ts'
import { goesOn, leastHeld, withoutGap } from '../../organisation/redaction/redactor.ts'
import { redactorOf } from '../../organisation/redaction/settings.ts'
import { lastPause, pausesOf } from '../pci.ts'
import { retell } from './redacted.ts'
import type { TranscriptRow, TranscriptSegmentRow } from './tables.ts'

/** The pieces of a number follow each other within this time [ms]. */
const PIECES_MS = 60_000
const MAX_PIECES = 64

type Piece = Pick<TranscriptSegmentRow, 'id' | 'text' | 'held' | 'start_ms'>

interface Said {
  id: string
  legId: string
  startMs: number
  text: string
}

/**
 * The part of a segment that is stored and emitted. Its final digits may be the beginning of a number that must not be kept. They are held
 * back, sealed, until the same person continues or says nothing more. Then the earlier segments and their events are rewritten.
 */
export async function segmentText(
  vault: Vault,
  trx: Trx,
  row: TranscriptRow,
  { id, legId, startMs, text }: Said,
): Promise<Pick<TranscriptSegmentRow, 'text' | 'held'>> {
  const redact = await redactorOf(trx, tenantOf(row))
  const before = withoutGap(await heldOf(trx, row, legId), piece => piece.start_ms, startMs, PIECES_MS)
  const said = before.map(piece => openPiece(vault, piece))
  const isOne = goesOn(said, text)
  const least = leastHeld([...(await lastSaid(trx, row)), ...said, text])
  const { texts, from } = redact.soFar(isOne ? [...said, text] : [text], least)
  const earlier = isOne ? texts : redact.all(said)
  const isPaid = await paidOf(trx, row, before)
  for (const [i, piece] of before.entries()) {
    const held = isOne && from !== null && i >= from ? piece.held : null
    await rewrite(trx, row, piece, isPaid(piece) ? noMore(piece, earlier[i] ?? '') : (earlier[i] ?? ''), held)
  }
  // If a card payment is running that began after these words, their held-back digits are never shown.
  const isOver = from === null || (await pausesOf(trx, tenantOf(row), row.id)).length > 0
  return { text: texts.at(-1) ?? '', held: isOver ? null : vault.seal(text, id) }
}

/** The pieces right before a card payment: digits of them that are not visible by then never will be. */
async function paidOf(trx: Trx, row: TranscriptRow, pieces: readonly Piece[]): Promise<(piece: Piece) => boolean> {
  const pause = pieces.length === 0 ? undefined : await lastPause(trx, tenantOf(row), row.id)
  return ({ id }) => pause !== undefined && timeIn(id) < timeIn(pause.id)
}

/** Allows no digits beyond those that the piece already shows. */
const noMore = ({ text }: Piece, next: string): string => (digitsIn(next) > digitsIn(text) ? text : next)

/** IDs of all kinds contain their time in the same form. */
const timeIn = (id: string): string => id.slice(id.indexOf('_') + 1)

/** After a card is mentioned, this many segments count as being about it. */
const OF_A_CARD = 12

/** The last segments of the call, by any speaker. */
async function lastSaid(trx: Trx, row: TranscriptRow): Promise<string[]> {
  const last = forTenant(trx, tenantOf(row)).select('transcript_segments').select('text').where('call_id', '=', row.id)
  const rows = await last.orderBy('id', 'desc').limit(OF_A_CARD).execute()
  return rows.map(({ text }) => text)
}

/** Nobody continues: held-back text is resolved to what it looks like. */
export async function showHeld(vault: Vault, trx: Trx, row: TranscriptRow): Promise<void> {
  const redact = await redactorOf(trx, tenantOf(row))
  const held = await heldOf(trx, row)
  const isPaid = await paidOf(trx, row, held)
  for (const legId of new Set(held.map(piece => piece.participant_id))) {
    const pieces = held.filter(piece => piece.participant_id === legId)
    const texts = redact.all(pieces.map(piece => openPiece(vault, piece)))
    for (const [i, piece] of pieces.entries())
      await rewrite(trx, row, piece, isPaid(piece) ? noMore(piece, texts[i] ?? '') : (texts[i] ?? ''), null)
  }
}

const openPiece = (vault: Vault, { id, held, text }: Piece): string => (held === null ? text : vault.open(held, id))

async function heldOf(trx: Trx, row: TranscriptRow, legId?: string) {
  let rows = forTenant(trx, tenantOf(row))
    .select('transcript_segments')
    .select(['id', 'text', 'held', 'start_ms', 'participant_id'])
    .where('call_id', '=', row.id)
    .where('held', 'is not', null)
  if (legId !== undefined) rows = rows.where('participant_id', '=', legId).limit(MAX_PIECES)
  return (await rows.orderBy('start_ms', 'desc').orderBy('id', 'desc').execute()).reverse()
}

async function rewrite(trx: Trx, row: TranscriptRow, piece: Piece, text: string, held: string | null): Promise<void> {
  if (text === piece.text && held === piece.held) return
  const tenant = tenantOf(row)
  const { id } = piece
  await forTenant(trx, tenant).change('transcript_segments', id, { text, held })
  if (text !== piece.text) await retell(trx, tenant, { id, text }, (object, next) => ({ ...object, text: next }))
}
