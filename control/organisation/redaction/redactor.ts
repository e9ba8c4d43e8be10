import { RE2JS } from 're2js'
import { type DigitRun, digitRuns, numbersIn } from './digits.ts'
import { isCardNumber, isIsraeliId, isIssuedCard, isSocialSecurityNumber } from './numbers.ts'

/** What is taken out. */
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

/** Takes out of texts what an organisation does not want to keep. */
export interface Redactor {
  (text: string): string
  /** Texts that one person said one after the other: a number that goes on from one into the next is found too. */
  all(texts: readonly string[]): string[]
}

/** A code that stands on a card, by what it is called before it is said. */
const CARD_CODE = /\b(?:cvv2?|cvc2?|cv2|security code)\b[^\d]{0,30}$|(?:קוד (?:ה)?אבטחה|שלוש הספרות)[^\d]{0,30}$/iu
const CODE_BEFORE = 60
/** Between texts: no word, and no end of a number. */
const SEAM = '\n'

/** Finds by these rules; the patterns are known to be well-formed. Patterns are matched in time linear in the text (RE2). */
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
  const all = (texts: readonly string[]): string[] => {
    const spans = find(texts.join(SEAM))
    let from = 0
    return texts.map(text => {
      const shifted = spans.map(({ start, end, label }) => ({ start: start - from, end: end - from, label }))
      from += text.length + SEAM.length
      return without(text, shifted)
    })
  }
  return Object.assign((text: string) => all([text])[0] ?? '', { all })
}

/** Of a card the whole run goes, for what follows its number is its date and its code. */
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

/** What spans cover, from its own start, is named instead of said. */
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

/** Whether it goes on with a number, or may end in one: then what came before and after belongs to it. */
export function touchesNumber(text: string): boolean {
  const [first] = digitRuns(text)
  return first !== undefined && !/[\p{L}\p{N}]/u.test(text.slice(0, first.start))
}

/** Lines of a call, with what its caller has said as it may be shown. */
export function redactedLines<L extends { role: string }>(redact: Redactor, lines: readonly L[]): L[] {
  const isSaid = (line: L): line is L & { text: string } => line.role === 'customer' && 'text' in line
  const texts = redact.all(lines.filter(isSaid).map(({ text }) => text))
  let next = 0
  return lines.map(line => (isSaid(line) ? { ...line, text: texts[next++] ?? '' } : line))
}
