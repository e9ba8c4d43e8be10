import { digitRuns, digitsIn } from '../../organisation/redaction/digits.ts'
import { goesOn as connects, HELD, type Redactor, withoutGap } from '../../organisation/redaction/redactor.ts'
import type { Party, SaidInput } from '../fast/state.ts'

/** Words that end in digits, which with the next words may become a number that must not be kept. */
interface Piece extends Pick<SaidInput, 'id' | 'party' | 'text' | 'isFinal' | 'fromMs' | 'toMs'> {
  /** The text as it was last shown. */
  shown: string
  /** A card payment began after it: digits not shown by then are never shown. */
  isPaid?: true
}

/** By party: pieces that may continue, oldest first. Stored only sealed, in the session's row. */
export type Pieces = Partial<Record<Party, Piece[]>>

/** How words are to be shown now. */
export interface Shown {
  piece: Piece
  text: string
}

interface Heard {
  /** Earlier words that are now shown differently. */
  earlier: Shown[]
  text: string
  pieces: Pieces
}

/** How long a possible beginning of a number is held back: longer than people take to find the rest [ms]. */
const HELD_MS = 8000
/** How long what was then shown is remembered, and withdrawn if it continues after all [ms]. */
const FORGOTTEN_MS = 60_000
const MAX_PIECES = 64

/**
 * How an utterance is to be shown, given what the same party said before. Words that may still change do not affect earlier ones.
 * `isDetail`: it is an answer that was asked for, and is shown. `least`: fewer digits are not held back.
 */
export function hearPiece(
  pieces: Pieces,
  redact: Redactor,
  said: SaidInput,
  isDetail: (text: string) => boolean,
  least?: number,
): Heard {
  const others = (pieces[said.party] ?? []).filter(one => one.id !== said.id)
  const before = withoutGap(others, one => one.toMs, said.toMs, FORGOTTEN_MS)
  const goesOn = connects(
    before.map(one => one.text),
    said.text,
  )
  if (!said.isFinal) {
    const text = (goesOn ? withoutFirst(redact, said.text, least) : null) ?? alone(redact, said, isDetail, least)
    return { earlier: [], text, pieces: { ...pieces, [said.party]: before } }
  }
  const chain = goesOn ? before : []
  const { texts, from } = redact.soFar([...chain.map(one => one.text), said.text], least)
  const text = goesOn ? (texts.at(-1) ?? '') : alone(redact, said, isDetail, least)
  const now = goesOn ? texts : [...redact.all(before.map(one => one.text)), text]
  const earlier = before.flatMap((piece, i): Shown[] => {
    const next = shownOf(piece, now[i] ?? '')
    return next === piece.shown ? [] : [{ piece: { ...piece, shown: next }, text: next }]
  })
  const { id, party, isFinal, fromMs, toMs } = said
  const all = chain.map((piece, i) => ({ ...piece, shown: shownOf(piece, texts[i] ?? '') }))
  all.push({ id, party, text: said.text, shown: text, isFinal, fromMs, toMs })
  const open = from === null ? [] : all.slice(from).slice(-MAX_PIECES)
  return { earlier, text, pieces: { ...pieces, [said.party]: open } }
}

/** Marks pieces from before a card payment. `pausedMs`: when the last one began. */
export function beforePayment(pieces: Pieces, pausedMs: number): Pieces {
  const marked = Object.entries(pieces).map(([party, chain]): [string, Piece[]] => [
    party,
    chain.map(piece => (piece.toMs <= pausedMs ? { ...piece, isPaid: true } : piece)),
  ])
  return Object.fromEntries(marked)
}

const shownOf = ({ isPaid, shown }: Piece, text: string): string =>
  isPaid === true && digitsIn(text) > digitsIn(shown) ? shown : text

/** A text that continues an incomplete number, without its first digits. Null: it has no digit. */
function withoutFirst(redact: Redactor, text: string, least?: number): string | null {
  const [first] = digitRuns(text)
  return first === undefined
    ? null
    : `${text.slice(0, first.start)}${HELD}${redact.soFar([text.slice(first.end)], least).texts[0]}`
}

/** The last word of an unfinished utterance may be incomplete. */
const HALF_WORD = /[\p{L}\p{M}]+$/u

function alone(
  redact: Redactor,
  { text, isFinal }: SaidInput,
  isDetail: (text: string) => boolean,
  least?: number,
): string {
  const half = isFinal ? '' : (HALF_WORD.exec(text)?.[0] ?? '')
  for (const end of half === '' ? [''] : ['', half]) {
    const { texts, isHeld } = redact.soFar([text.slice(0, text.length - end.length)], least)
    if (isHeld) return isDetail(text) ? redact(text) : `${texts[0]}${end}`
  }
  return redact(text)
}

/** Releases pieces that have waited long enough (`atMs` null: all), and redacts them by what they look like. */
export function releasePieces(
  pieces: Pieces,
  redact: Redactor,
  atMs: number | null,
): { shown: Shown[]; pieces: Pieces } {
  const shown: Shown[] = []
  const left: Pieces = {}
  for (const [party, chain] of Object.entries(pieces) as [Party, Piece[]][]) {
    const lastMs = chain.at(-1)?.toMs ?? 0
    const isDue = atMs === null || atMs - lastMs >= HELD_MS
    const texts = isDue ? redact.all(chain.map(one => one.text)) : chain.map(one => one.shown)
    const next = chain.map((piece, i) => ({ ...piece, shown: shownOf(piece, texts[i] ?? '') }))
    for (const [i, piece] of next.entries()) {
      if (piece.shown !== chain[i]?.shown) shown.push({ piece, text: piece.shown })
    }
    if (next.length > 0 && atMs !== null && atMs - lastMs < FORGOTTEN_MS) left[party] = next
  }
  return { shown, pieces: left }
}
