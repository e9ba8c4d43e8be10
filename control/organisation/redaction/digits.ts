/** Digits that belong together, as they are written or said: "4580 1111", "four five eight oh". */
export interface DigitRun {
  /** In the text, from the first digit to behind the last. */
  start: number
  end: number
  digits: string
  /** How many digits had come before each group; a number begins and ends at one of these, or with the run. */
  groups: number[]
  /** Nothing but what people say between digits comes after it: it may go on in what is said next. */
  isOpen: boolean
}

const WORDS: Readonly<Record<string, string>> = {
  ...{ zero: '0', oh: '0', o: '0', nought: '0', one: '1', two: '2', three: '3', four: '4', five: '5', six: '6' },
  ...{ seven: '7', eight: '8', nine: '9' },
  ...{ אפס: '0', אחת: '1', אחד: '1', שתיים: '2', שניים: '2', שלוש: '3', שלושה: '3', ארבע: '4', ארבעה: '4' },
  ...{ חמש: '5', חמישה: '5', שש: '6', שישה: '6', שבע: '7', שבעה: '7', שמונה: '8', תשע: '9', תשעה: '9' },
}
const TIMES: Readonly<Record<string, number>> = { double: 2, triple: 3, כפול: 2 }
/** What people say between digits without meaning anything by it. */
const FILLERS = new Set(['uh', 'um', 'uhm', 'er', 'erm', 'and', 'then', 'dash', 'space', 'hyphen', 'אה', 'ואז'])
/** Letters, marks and digits in a row; what holds letters beside digits is a name or an ID, and no number. */
const TOKEN = /[\p{L}\p{M}\p{N}]+/gu
/** Between two groups of a number. */
const GAP = /^[\s.,;:…/()\-‐-―]*$/u

/** Every run of digits in a text. Of a "plus" or a currency sign before it nothing is known here. */
export function digitRuns(text: string): DigitRun[] {
  const runs: DigitRun[] = []
  let run: DigitRun | null = null
  let [times, last] = [1, 0]
  const close = (): void => {
    if (run !== null && run.digits !== '') runs.push(run)
    run = null
    times = 1
  }
  for (const match of text.matchAll(TOKEN)) {
    const [start, end] = [match.index, match.index + match[0].length]
    const word = match[0].toLowerCase()
    if (run !== null && !GAP.test(text.slice(last, start))) close()
    last = end
    if (run !== null && FILLERS.has(word)) continue
    const digits: string | undefined = /^\p{Nd}+$/u.test(word) ? asciiDigits(word) : WORDS[word]
    if (digits !== undefined) {
      run ??= { start, end, digits: '', groups: [], isOpen: false }
      run.groups.push(run.digits.length)
      run.digits += digits.repeat(times)
      run.end = end
      times = 1
    } else if (TIMES[word] !== undefined) {
      run ??= { start, end, digits: '', groups: [], isOpen: false }
      times = TIMES[word]
    } else close()
  }
  const open = run as DigitRun | null
  if (open !== null) open.isOpen = GAP.test(text.slice(last))
  close()
  return runs
}

/** How many digits a text tells, written or said. */
export const digitsIn = (text: string): number => digitRuns(text).reduce((sum, { digits }) => sum + digits.length, 0)

/** Decimal digits of any script, as 0 to 9: those of a script stand in a row of ten. */
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

/** The parts of a run that begin and end where a group does, of a length from `least` to `most`; the longest of them first. */
export function* numbersIn({ digits, groups }: DigitRun, least: number, most: number): Generator<string> {
  const ends = [...groups.slice(1), digits.length]
  for (let length = Math.min(most, digits.length); length >= least; length--) {
    for (const start of groups) if (ends.includes(start + length)) yield digits.slice(start, start + length)
  }
}
