/** Digits that belong together, as they are written or said: "4580 1111", "four five eight oh". */
export interface DigitRun {
  /** Range in the text, from the first digit to after the last one. */
  start: number
  end: number
  digits: string
  /** Number of digits before each group. A number begins and ends at one of these, or at the end of the run. */
  groups: number[]
  /** Only filler words follow it: the number may continue in the next utterance. */
  isOpen: boolean
}

/** A table of words has no prototype, which knows the word `constructor`. */
const WORDS: Readonly<Record<string, string>> = {
  __proto__: null as never,
  ...{ zero: '0', oh: '0', o: '0', nought: '0', one: '1', two: '2', three: '3', four: '4', five: '5', six: '6' },
  ...{ seven: '7', eight: '8', nine: '9' },
  ...{ אפס: '0', אחת: '1', אחד: '1', שתיים: '2', שניים: '2', שלוש: '3', שלושה: '3', ארבע: '4', ארבעה: '4' },
  ...{ חמש: '5', חמישה: '5', שש: '6', שישה: '6', שבע: '7', שבעה: '7', שמונה: '8', תשע: '9', תשעה: '9' },
}
/** Words for two digits. Those that end in 0 are combined with a following digit. */
const PAIRS: Readonly<Record<string, string>> = {
  __proto__: null as never,
  ...{ ten: '10', eleven: '11', twelve: '12', thirteen: '13', fourteen: '14', fifteen: '15', sixteen: '16' },
  ...{ seventeen: '17', eighteen: '18', nineteen: '19', twenty: '20', thirty: '30', forty: '40', fifty: '50' },
  ...{ sixty: '60', seventy: '70', eighty: '80', ninety: '90' },
  ...{ עשר: '10', עשרה: '10', עשרים: '20', שלושים: '30', ארבעים: '40', חמישים: '50', שישים: '60', שבעים: '70' },
  ...{ שמונים: '80', תשעים: '90' },
}
/** After a digit it makes a number of two digits: "two ten" is twelve in Hebrew. */
const TEEN = /^עשרה?$/
/** Fewer digits said in pairs are a price, a year or a time ("forty-nine ninety-nine"). */
const MIN_PAIRED = 8
const TIMES: Readonly<Record<string, number>> = { __proto__: null as never, double: 2, triple: 3, כפול: 2 }
/** Filler words between digits. */
const FILLERS = new Set(['uh', 'um', 'uhm', 'er', 'erm', 'and', 'then', 'dash', 'space', 'hyphen', 'אה', 'ואז'])
/** Letters, marks and digits in a row. A token with letters and digits is a name or an ID, not a number. */
const TOKEN = /[\p{L}\p{M}\p{N}]+/gu
/** Between two groups of a number. */
const GAP = /^[\s.,;:…/()\-‐-―]*$/u

/** Every run of digits in a text; a preceding "plus" or currency sign makes no difference. */
export function digitRuns(text: string): DigitRun[] {
  const paired = runsIn(text, true).filter(run => run.isPaired && run.digits.length >= MIN_PAIRED)
  const single = runsIn(text, false).filter(run => !paired.some(one => run.start < one.end && one.start < run.end))
  return [...single, ...paired].sort((a, b) => a.start - b.start).map(({ isPaired, ...run }) => run)
}

interface Run extends DigitRun {
  isPaired: boolean
}

/** Which part of a pair the last word may be: the tens, or the ones; null: none. */
type Open = 'tens' | 'ones' | null

/** @param inPairs whether words for two digits count */
function runsIn(text: string, inPairs: boolean): Run[] {
  const runs: Run[] = []
  let run: Run | null = null
  let open: Open = null
  let [times, last] = [1, 0]
  const close = (): void => {
    if (run !== null && run.digits !== '') runs.push(run)
    run = null
    times = 1
    open = null
  }
  for (const match of text.matchAll(TOKEN)) {
    const [start, end] = [match.index, match.index + match[0].length]
    const word = match[0].toLowerCase()
    if (run !== null && !GAP.test(text.slice(last, start))) close()
    last = end
    if (run !== null && FILLERS.has(word)) {
      open = null
      continue
    }
    const said = digitsOf(word, open === 'tens', inPairs)
    const repeated = TIMES[word]
    if (said === null && repeated === undefined) {
      close()
      continue
    }
    run ??= { start, end, digits: '', groups: [], isOpen: false, isPaired: false }
    if (said === null) times = repeated!
    else {
      open = add(run, said, { word, open, times })
      run.end = end
      times = 1
    }
  }
  const unfinished = run as Run | null
  if (unfinished !== null) unfinished.isOpen = GAP.test(text.slice(last))
  close()
  return runs
}

interface Said {
  digits: string
  form: 'written' | 'word' | 'pair'
}

/** The digits that a word stands for; null: none. */
function digitsOf(word: string, isAfterTens: boolean, inPairs: boolean): Said | null {
  if (/^\p{Nd}+$/u.test(word)) return { digits: asciiDigits(word), form: 'written' }
  // Hebrew says "and three" in one word.
  const one = WORDS[word] ?? (isAfterTens ? WORDS[word.replace(/^ו/, '')] : undefined)
  if (one !== undefined) return { digits: one, form: 'word' }
  const pair = inPairs ? PAIRS[word] : undefined
  return pair === undefined ? null : { digits: pair, form: 'pair' }
}

/** Adds to a run what a word says, and returns which part of a pair the word may be. */
function add(
  run: Run,
  { digits, form }: Said,
  { word, open, times }: { word: string; open: Open; times: number },
): Open {
  run.isPaired ||= form === 'pair'
  if (open === 'tens' && form === 'word' && digits !== '0') {
    run.digits = run.digits.slice(0, -1) + digits
    return null
  }
  if (open === 'ones' && TEEN.test(word)) {
    run.digits = `${run.digits.slice(0, -1)}1${run.digits.at(-1)}`
    return null
  }
  run.groups.push(run.digits.length)
  run.digits += digits.repeat(times)
  if (form === 'pair' && /[2-9]0/.test(digits)) return 'tens'
  return form !== 'written' && times === 1 && digits !== '0' ? 'ones' : null
}

/** Number of digits in a text, written or said. */
export const digitsIn = (text: string): number => digitRuns(text).reduce((sum, { digits }) => sum + digits.length, 0)

/** Decimal digits of any script, as 0 to 9: each script has a block of ten. */
function asciiDigits(text: string): string {
  return [...text]
    .map(char => {
      if (char >= '0' && char <= '9') return char
      const code = char.codePointAt(0) ?? 0
      let zero = code
      while (code - zero < 9 && /\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero--
      return String(code - zero)
    })
    .join('')
}

/** The parts of a run that begin and end at group boundaries and have from `least` to `most` digits, longest first. */
export function* numbersIn({ digits, groups }: DigitRun, least: number, most: number): Generator<string> {
  const ends = [...groups.slice(1), digits.length]
  for (let length = Math.min(most, digits.length); length >= least; length--) {
    for (const start of groups) if (ends.includes(start + length)) yield digits.slice(start, start + length)
  }
}
