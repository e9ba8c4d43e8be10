import type { Word } from './fold.ts'

/** A number that was said, in digits or in words. */
export interface SaidNumber {
  /** The amount; null: a sequence of digits, as in a telephone number. */
  value: number | null
  digits: string
  /** Range of words, `from` inclusive, `to` exclusive. */
  from: number
  to: number
}

type Kind = { kind: 'unit' | 'tens' | 'times' | 'figures' | 'half'; value: number; digits: string }

const UNITS =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'
const TENS = '_ _ twenty thirty forty fifty sixty seventy eighty ninety'
const UNITS_HE =
  'אפס אחת|אחד שתיימ|שניימ|שתי|שני שלוש|שלושה|שלושת ארבע|ארבעה|ארבעת חמש|חמישה|חמשת שש|ששה|ששת שבע|שבעה|שבעת שמונה|שמונת תשע|תשעה|תשעת עשר|עשרה|עשרת'
const TENS_HE = '_ _ עשרימ שלושימ ארבעימ חמישימ שישימ שבעימ שמונימ תשעימ'

const KNOWN = new Map<string, Kind>()
const learn = (list: string, kind: Kind['kind'], step: number): void => {
  for (const [at, names] of list.split(' ').entries()) {
    for (const name of names.split('|')) KNOWN.set(name, { kind, value: at * step, digits: String(at * step) })
  }
}
learn(UNITS, 'unit', 1)
learn(UNITS_HE, 'unit', 1)
learn(TENS, 'tens', 10)
learn(TENS_HE, 'tens', 10)
KNOWN.delete('_')
for (const [names, value] of [
  ['dozen', 12],
  ['hundred מאה מאות', 100],
  ['thousand grand אלפ אלפימ', 1000],
  ['million מיליונ', 1_000_000],
] as const) {
  for (const name of names.split(' ')) KNOWN.set(name, { kind: 'times', value, digits: String(value) })
}
for (const [name, value] of [
  ['מאתיימ', 200],
  ['אלפיימ', 2000],
] as const) {
  KNOWN.set(name, { kind: 'unit', value, digits: String(value) })
}
KNOWN.set('oh', { kind: 'unit', value: 0, digits: '0' })

function kindOf({ text }: Word): Kind | null {
  if (/^\d+$/.test(text)) return { kind: 'figures', value: Number(text), digits: text }
  if (/^\d{1,3}(,\d{3})+(\.\d+)?$|^\d+\.\d+$/.test(text)) {
    const digits = text.replaceAll(',', '')
    return { kind: 'figures', value: Number(digits), digits }
  }
  const thousands = /^(\d+(?:\.\d+)?)k$/.exec(text)
  if (thousands !== null) {
    const value = Number(thousands[1]) * 1000
    return { kind: 'figures', value, digits: String(value) }
  }
  return KNOWN.get(text) ?? (JOINED.test(text) ? (KNOWN.get(text.slice(1)) ?? null) : null)
}

/** Hebrew prefixes written together with the number: and, in, to, the. */
const JOINED = /^[ובלה]/
const AND = new Set(['and', 'ו'])
const HALF: Kind = { kind: 'half', value: 0.5, digits: '' }
const AND_A_HALF = ['and', 'a', 'half']
const DOUBLED: Readonly<Record<string, number>> = { __proto__: null as never, double: 2, triple: 3 }

/** The numbers in what was said, in order. */
export function numbersIn(words: readonly Word[]): SaidNumber[] {
  const found: SaidNumber[] = []
  for (let at = 0; at < words.length; ) {
    const run = runAt(words, at)
    if (run === null) {
      at++
      continue
    }
    found.push({ ...amountOf(run.kinds), from: at, to: run.to })
    at = run.to
  }
  return found
}

/** The words of a number that begins here; null: none. `oh` alone is no number. */
function runAt(words: readonly Word[], from: number): { kinds: Kind[]; to: number } | null {
  const kinds: Kind[] = []
  let to = from
  for (let at = from; at < words.length; at++) {
    const word = words[at]!
    const times = DOUBLED[word.text]
    const next = words[at + 1]
    const doubled = times !== undefined && next !== undefined ? kindOf(next) : null
    if (times !== undefined && doubled?.kind === 'unit') {
      for (let again = 0; again < times; again++) kinds.push(doubled)
      at++
    } else if (kinds.length > 0 && AND_A_HALF.every((one, i) => words[at + i]?.text === one)) {
      kinds.push(HALF)
      at += AND_A_HALF.length - 1
    } else {
      const kind = kindOf(word)
      const isJoined = AND.has(word.text) && kinds.at(-1)?.kind === 'times' && next !== undefined && kindOf(next)
      if (kind === null && !isJoined) break
      if (kind !== null) kinds.push(kind)
      else continue
    }
    to = at + 1
  }
  const isOh = kinds.length === 1 && words[from]!.text === 'oh'
  return kinds.length === 0 || isOh ? null : { kinds, to }
}

/** `two hundred and fifty` is an amount; `four one five` and `twenty five twelve` are sequences of digits. */
function amountOf(kinds: readonly Kind[]): Pick<SaidNumber, 'value' | 'digits'> {
  let [total, group] = [0, 0]
  let last: Kind | null = null
  const parts: string[] = []
  let isAmount = true
  for (const kind of kinds) {
    if (kind.kind === 'half') {
      group += kind.value
      parts.push('.5')
    } else if (kind.kind === 'times') {
      const scaled = Math.max(1, group) * kind.value
      if (kind.value === 100) group = scaled
      else [total, group] = [total + scaled, 0]
      if (parts.length > 0) parts.pop()
      parts.push(String(scaled))
    } else if (last === null || last.kind === 'times') {
      group += kind.value
      parts.push(kind.digits)
    } else if (last.kind === 'tens' && kind.kind === 'unit' && kind.value > 0 && kind.value < 10) {
      group += kind.value
      parts[parts.length - 1] = String(Number(parts.at(-1)) + kind.value)
    } else {
      isAmount = false
      parts.push(kind.digits)
    }
    last = kind
  }
  const value = isAmount ? total + group : null
  return value === null
    ? { value, digits: parts.join('') }
    : { value, digits: kinds.length === 1 ? parts[0]! : String(value) }
}
