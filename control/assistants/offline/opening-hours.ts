import { remembered } from '../../kernel/remembered.ts'

/** How many sentences are cached. */
const MAX_REMEMBERED = 2000

export const DAY_NAMES = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'] as const
const WEEKDAYS = [0, 1, 2, 3, 4]
const WEEKEND = [5, 6]
const EVERY_DAY = [0, 1, 2, 3, 4, 5, 6]
const NOON = 12 * 60
export const MIDNIGHT = 24 * 60

/** Opening and closing in minutes since midnight; null: the text does not tell. */
export interface Span {
  from: number | null
  to: number | null
}

/** What a text says about a day, 0: Monday. No spans: closed. */
export interface DayRule {
  days: number[]
  spans: Span[]
}

type Token = { kind: 'days'; days: number[]; except: boolean } | { kind: 'span'; span: Span } | { kind: 'closed' }

const HOURS: Readonly<Record<string, number>> = Object.fromEntries(
  'twelve one two three four five six seven eight nine ten eleven'.split(' ').map((name, at) => [name, at || 12]),
)
const TIME = String.raw`(?:(\d{1,2}|${Object.keys(HOURS).join('|')})(?: ?[:.] ?(\d\d)| (thirty|fifteen|forty-five))?(?: o'?clock)?(?: ?([ap])\.?m\b\.?| in the (morning|afternoon|evening)| at (night))?|(noon|midday|midnight))`
const DAY = String.raw`(mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?s?\b\.?`
const ALWAYS =
  /\b(day and night|around the clock|(open|here) (24|twenty-four) hours|(24|twenty-four) hours a day|24\/7|at any hour)\b/
const PATTERNS: readonly (readonly [RegExp, (found: RegExpExecArray) => Token | null])[] = [
  [ALWAYS, () => ({ kind: 'span', span: { from: 0, to: MIDNIGHT } })],
  [
    new RegExp(
      `(?:from |between )?${TIME} ?(?:to|until|till|and|-|–|—) ?${TIME}(?! ?(?:working|business|minutes?|days?|weeks?|hours?|euros?|dollars?|pounds?|months?|years?|percent|people|miles))`,
    ),
    found => rangeOf(timeParts(found, 1), timeParts(found, 8)),
  ],
  [new RegExp(`(?:until|till|closes? at|ends? at|not .{1,12} after) ${TIME}`), found => ending(timeParts(found, 1))],
  [
    new RegExp(`(?:opens? at|starts? at|from|begins? at) ${TIME}(?! ?(?:euros?|dollars?|pounds?|minutes|days))`),
    found => starting(timeParts(found, 1)),
  ],
  [
    new RegExp(`${DAY} ?(?:to|through|until|till|-|–|—) ?${DAY}`),
    found => days(daysBetween(dayOf(found[1]!), dayOf(found[2]!))),
  ],
  [new RegExp(String.raw`(except )?(?:for |on )*\b${DAY}`), found => days([dayOf(found[2]!)], found[1] !== undefined)],
  [
    /(except )?(?:for |on |at )*\bweekdays?\b|\bworking days\b(?= from)/,
    found => days(WEEKDAYS, found[1] !== undefined),
  ],
  [/(except )?(?:for |on |at )*(?:the )?\bweekends?\b/, found => days(WEEKEND, found[1] !== undefined)],
  [/\b(?:every day|daily|all week|seven days a week)\b/, () => days(EVERY_DAY)],
  [/\b(?:closed|not open|does not work|do not work|not available|no service)\b/, () => ({ kind: 'closed' })],
]

const days = (list: number[], except = false): Token => ({ kind: 'days', days: list, except })
const dayOf = (name: string): number => DAY_NAMES.findIndex(day => day.toLowerCase().startsWith(name.slice(0, 3)))

function daysBetween(first: number, last: number): number[] {
  const count = ((last - first + 7) % 7) + 1
  return Array.from({ length: count }, (_, later) => (first + later) % 7)
}

interface TimeParts {
  minutes: number
  half: 'a' | 'p' | null
}

/** Reads a time from the match of `TIME`. `at`: index of the first of its seven groups. */
function timeParts(found: RegExpExecArray, at: number): TimeParts {
  const [hour, minute, spoken, meridiem, part, night, named] = found.slice(at, at + 7)
  if (named !== undefined) return { minutes: named === 'midnight' ? MIDNIGHT : NOON, half: 'p' }
  const hours = HOURS[hour!] ?? Number(hour)
  const more =
    minute === undefined ? ({ thirty: 30, fifteen: 15, 'forty-five': 45 }[spoken ?? ''] ?? 0) : Number(minute)
  const half = meridiem ?? (part === 'morning' ? 'a' : part !== undefined || night !== undefined ? 'p' : null)
  return { minutes: hours * 60 + more, half: half as TimeParts['half'] }
}

/** If `from` names no half of the day, it takes that of `to`, as in `9 to 11 am`; otherwise it is in the morning. */
function rangeOf(from: TimeParts, to: TimeParts): Token | null {
  if (from.minutes > MIDNIGHT || to.minutes > MIDNIGHT) return null
  let end = to.minutes === MIDNIGHT ? MIDNIGHT : onClock(to)
  let start = onClock({ ...from, half: from.half ?? (to.half === 'a' ? 'a' : null) })
  if (from.half === null && to.half === 'p' && from.minutes < to.minutes && to.minutes < NOON && from.minutes < 7 * 60)
    start = onClock({ ...from, half: 'p' })
  if (end <= start && end < NOON) end += NOON
  if (end <= start) end += end < start && end < MIDNIGHT ? MIDNIGHT : 0
  if (start > end) start = 0
  return { kind: 'span', span: { from: start, to: end } }
}

const onClock = ({ minutes, half }: TimeParts): number =>
  half === 'p' && minutes < NOON ? minutes + NOON : half === 'a' && minutes >= NOON ? minutes - NOON : minutes

/** A closing time of five means the afternoon. */
const ending = (to: TimeParts): Token => ({
  kind: 'span',
  span: { from: null, to: to.half === null && to.minutes <= 10 * 60 ? to.minutes + NOON : onClock(to) },
})
const starting = (from: TimeParts): Token => ({ kind: 'span', span: { from: onClock(from), to: null } })

function tokensOf(text: string): Token[] {
  const tokens: Token[] = []
  let left = text.toLowerCase()
  while (left !== '') {
    let first: { token: Token; index: number; end: number } | null = null
    for (const [pattern, make] of PATTERNS) {
      const found = pattern.exec(left)
      if (found === null || (first !== null && found.index >= first.index)) continue
      const token = make(found)
      if (token !== null) first = { token, index: found.index, end: found.index + found[0].length }
    }
    if (first === null) break
    tokens.push(first.token)
    left = left.slice(first.end)
  }
  return tokens
}

/** Sentences about a part of the year are read out as they are, not interpreted. */
const SEASON =
  /\b(January|February|March|April|June|July|August|September|October|November|December|in summer|in winter|school holidays)\b/
const ONCE_A_MONTH =
  /(,? (and|but) )?(until [^,]+ |from [^,]+ )?on the (first|second|third|fourth|last) \w+ (of|in) (the|each|every) month/i

/** The opening hours that a sentence tells; empty: none. */
export const hoursIn = remembered(MAX_REMEMBERED, (sentence): readonly DayRule[] => {
  // Each clause is read by itself: `… from ten to six; it does not work on Saturdays`.
  if (SEASON.test(sentence)) return []
  return sentence.split(/;/).flatMap(clause => rulesOf(tokensOf(clause.replace(ONCE_A_MONTH, ''))))
})

function rulesOf(tokens: Token[]): DayRule[] {
  const rules: DayRule[] = []
  const except = tokens.filter(token => token.kind === 'days' && token.except)
  const plain = tokens.filter(token => token.kind !== 'days' || !token.except)
  const isTimeFirst = plain[0]?.kind !== 'days'
  const endsWithDays = plain.at(-1)?.kind === 'days'
  const add = (list: number[], token: Token): void => {
    const spans = token.kind === 'span' ? [token.span] : []
    const rule = rules.find(({ days: of }) => of.join() === list.join())
    if (rule !== undefined && token.kind === 'span') rule.spans.push(token.span)
    else rules.push({ days: list, spans })
  }
  // The days may follow their hours: `from 8 to 6 on weekdays and from 9 to 5 at weekends`.
  const ordered = isTimeFirst && endsWithDays ? plain.toReversed() : plain
  let open: number[] = []
  let hasRule = true
  for (const token of ordered) {
    if (token.kind === 'days') {
      open = hasRule ? token.days : [...open, ...token.days]
      hasRule = false
    } else if (token.kind === 'closed' && open.length === 0) {
      // `Closed for renovation`, `closed on 24 December`: no day of the week.
    } else {
      add(open.length === 0 ? EVERY_DAY : open, token)
      hasRule = true
    }
  }
  if (rules.length > 0)
    for (const token of except) if (token.kind === 'days') rules.push({ days: token.days, spans: [] })
  return rules
}

/** The hours on a day. The rule for the fewest days wins, and of several the last one; null: there is none. */
export function spansOn(rules: readonly DayRule[], day: number): Span[] | null {
  const naming = rules.filter(({ days: list }) => list.includes(day))
  if (naming.length === 0) return null
  const fewest = Math.min(...naming.map(({ days: list }) => list.length))
  return naming.findLast(({ days: list }) => list.length === fewest)!.spans
}
