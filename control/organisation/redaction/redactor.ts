import { RE2JS } from 're2js'
import { type DigitRun, digitRuns, numbersIn } from './digits.ts'
import { isCardNumber, isIsraeliId, isIssuedCard, isSocialSecurityNumber } from './numbers.ts'

/** What is removed. */
export interface RedactionRules {
  card_numbers: boolean
  identity_numbers: ('il_id' | 'us_ssn')[]
  /** Regular expressions of RE2. */
  patterns: { name: string; pattern: string }[]
}

interface Span {
  start: number
  end: number
  label: string
}

/** Removes from texts what an organisation does not want to keep. */
export interface Redactor {
  (text: string): string
  /** Consecutive texts of one person: a number that continues from one to the next is found too. */
  all(texts: readonly string[]): string[]
  /**
   * As `all`, for texts that may continue. An end that may be the beginning of a number is held back from its first digit on, if it has at
   * least `least` digits. `from`: index of the first text that is to be judged again with the next one; null: none.
   */
  soFar(texts: readonly string[], least?: number): { texts: string[]; from: number | null; isHeld: boolean }
}

/** The words before the security code of a card, by which it is recognised. */
const CARD_CODE =
  /\b(?:cvv2?|cvc2?|cv2|(?:security|card) (?:code|number)|card verification (?:code|value|number)|(?:code|digits|numbers?) (?:is |are )?on the (?:back|front)|(?:the|last) (?:three|four|[34]) digits)\b[^\d]{0,30}$|(?:קוד (?:ה)?אבטחה|שלוש הספרות)[^\d]{0,30}$/iu
const CODE_BEFORE = 60
/** Separator between texts. It is no word, and ends no number. */
const SEAM = '\n'
/** Fewer digits reveal nothing and often end a sentence, so they are held back only after words about a card. */
const MIN_HELD = 4
const CARD = /\b(?:cards?|credit|debit|visa|mastercard|amex|iban)\b|כרטיס|אשראי/iu
export const speaksOfCard = (text: string): boolean => CARD.test(text)
/** How many digits at the end of an utterance are held back after such a word. */
export const leastHeld = (before: readonly string[]): number => (before.some(speaksOfCard) ? 1 : MIN_HELD)
const LONGEST_CARD = 19
const LONGEST_IDENTITY = 9
/** Placeholder for digits that are not classified yet. It contains no words, so nothing can match it. */
const HELD_LABEL = '…'
export const HELD = `[${HELD_LABEL}]`

/** Whether a text has a part that is not classified yet. */
export const isHeldBack = (text: string): boolean => text.includes(HELD)

/** Makes a redactor with these rules, whose patterns must be valid. They are matched in linear time (RE2). */
export function makeRedactor({ card_numbers, identity_numbers, patterns }: RedactionRules): Redactor {
  const compiled = patterns.map(({ name, pattern }) => ({ label: name, expression: RE2JS.compile(pattern) }))
  const find = (text: string): Span[] => {
    const spans: Span[] = []
    if (card_numbers || identity_numbers.length > 0) {
      for (const run of digitRuns(text)) {
        const label = card_numbers && isCard(text, run) ? 'card number' : identityIn(run, identity_numbers)
        if (label !== null) spans.push({ start: run.start, end: run.end, label })
      }
    }
    for (const { label, expression } of compiled) {
      const matcher = expression.matcher(text)
      while (matcher.find()) {
        if (matcher.end() > matcher.start()) spans.push({ start: matcher.start(), end: matcher.end(), label })
      }
    }
    return spans.sort((a, b) => a.start - b.start)
  }
  const longest = card_numbers ? LONGEST_CARD : identity_numbers.length > 0 ? LONGEST_IDENTITY : 0
  const all = (texts: readonly string[]): string[] => cut(texts, find(texts.join(SEAM)))
  const soFar = (texts: readonly string[], least = MIN_HELD): ReturnType<Redactor['soFar']> => {
    const whole = texts.join(SEAM)
    const spans = find(whole)
    const open = longest === 0 ? undefined : digitRuns(whole).findLast(({ isOpen }) => isOpen)
    if (open === undefined) return { texts: cut(texts, spans), from: null, isHeld: false }
    const isFound = spans.some(({ start, end }) => start <= open.start && end >= open.end)
    const isHeld = !isFound && open.digits.length >= least && open.digits.length < longest
    if (isHeld) spans.push({ start: open.start, end: open.end, label: HELD_LABEL })
    spans.sort((a, b) => a.start - b.start)
    return { texts: cut(texts, spans), from: firstOf(spans, texts, open.start), isHeld }
  }
  return Object.assign((text: string) => all([text])[0] ?? '', { all, soFar })
}

/**
 * Index of the text at this offset of all texts joined, or of the one where a number begins whose end it has: without its beginning, that
 * number would not be found once more.
 */
function firstOf(spans: readonly Span[], texts: readonly string[], place: number): number {
  const starts = texts.map((_, i) => [...texts.slice(0, i), ''].join(SEAM).length)
  const index = starts.findLastIndex(start => start <= place)
  const crossing = spans.find(({ start, end }) => start < starts[index]! && end > starts[index]!)
  return crossing === undefined ? index : firstOf(spans, texts, crossing.start)
}

/** The pieces that are still one with what is said now: none is older than this before the next one. */
export function withoutGap<P>(pieces: readonly P[], atOf: (piece: P) => number, nowMs: number, limitMs: number): P[] {
  const times = [...pieces.map(atOf), nowMs]
  return pieces.slice(pieces.findLastIndex((_, i) => times[i + 1]! - times[i]! >= limitMs) + 1)
}

/** The texts without what spans of the joined text cover. */
function cut(texts: readonly string[], spans: readonly Span[]): string[] {
  let from = 0
  return texts.map(text => {
    const shifted = spans.map(({ start, end, label }) => ({ start: start - from, end: end - from, label }))
    from += text.length + SEAM.length
    return without(text, shifted)
  })
}

/** Whether a run is a card number. The whole run is then removed, since expiry date and code follow the number. */
function isCard(text: string, run: DigitRun): boolean {
  if (isCardNumber(run.digits)) return true
  for (const number of numbersIn(run, 13, 19)) if (isIssuedCard(number)) return true
  return (
    run.digits.length >= 3 &&
    run.digits.length <= 4 &&
    CARD_CODE.test(text.slice(Math.max(0, run.start - CODE_BEFORE), run.start))
  )
}

function identityIn(run: DigitRun, kinds: RedactionRules['identity_numbers']): string | null {
  for (const number of numbersIn(run, 9, 9)) {
    if (kinds.includes('il_id') && isIsraeliId(number)) return 'identity number'
    if (kinds.includes('us_ssn') && isSocialSecurityNumber(number)) return 'identity number'
  }
  return null
}

/** Replaces what spans cover by their labels. `spans` are offsets in this text. */
function without(text: string, spans: readonly Span[]): string {
  let [kept, at] = ['', 0]
  for (const { start, end, label } of spans) {
    const from = Math.max(start, at, 0)
    const to = Math.min(end, text.length)
    if (to <= from) continue
    kept += `${text.slice(at, from)}[${label}]`
    at = to
  }
  return kept + text.slice(at)
}

/** Whether a number continues from the utterances before into this one, or is not ended by it. */
export function goesOn(before: readonly string[], text: string): boolean {
  if (before.length === 0) return false
  const said = before.join(SEAM)
  const runs = digitRuns(said + SEAM + text)
  return runs.some(({ start, end, isOpen }) => start < said.length && (end > said.length || isOpen))
}

/** Lines of a call, with the caller's words redacted. */
export function redactedLines<L extends { role: string }>(redact: Redactor, lines: readonly L[]): L[] {
  const isSaid = (line: L): line is L & { text: string } => line.role === 'customer' && 'text' in line
  const texts = redact.all(lines.filter(isSaid).map(({ text }) => text))
  let next = 0
  return lines.map(line => (isSaid(line) ? { ...line, text: texts[next++] ?? '' } : line))
}
