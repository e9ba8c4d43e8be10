import type { DateTime } from 'luxon'
import { type AskedDay, dayAsked } from './day-question.ts'
import { areSame, isStopWord, stem } from './english.ts'
import type { Fact } from './knowledge.ts'
import { DAY_NAMES, type DayRule, hoursIn, MIDNIGHT, type Span, spansOn } from './opening-hours.ts'
import type { Part } from './question.ts'
import { rank } from './ranking.ts'
import { timeInWords } from './speakable.ts'

/** Words of questions about opening hours. */
const ABOUT_HOURS =
  /\b(open|opens|opened|opening|close|closes|closed|closing|shut|hours|until when|till when|how late|are you (guys )?(there|here|in)|anybody (there|here|in)|is (anybody|anyone|somebody)|still there|come (by|in|over|tomorrow|today)|staffed|(visit|come in|get in|enter)\b.*\b(now|today|tonight|tomorrow|(mon|tues|wednes|thurs|fri|satur|sun)days?))\b/
const NOT_A_TOPIC =
  /^(open|opens|opened|opening|close|closes|closed|closing|shut|hours?|business|shop|store|place|practice|office|clinic|salon|museum|studio|gallery|bakery|pharmacy|library|branch|visit|come|today|tonight|tomorrow|now|night|morning|afternoon|evening|weekends?|weekdays?|(mon|tues|wednes|thurs|fri|satur|sun)days?|day|time|time|week|late|early|until|when|always|currently|still|call|reach|people|drop|by|pm|am|\d+|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|noon|midnight|clock|usually|normally|stop|person|personally|visit|see|around|already)$/
const YES_NO =
  /^(is|are|do|does|can|could|will|would|may|so you|you)\b|^(?!when|what|how|until).*\bopen (on|at|today|now|tomorrow)\b/
/** Such a question is about now. */
const OPEN_NOW = /^(is|are) (you|the|this|your)( \w+){0,3} open$/
/** Topics that stand for a business which names no hours of its own. */
const FRONT = /^(reception|desk|customer|counter|surgery|office|support|team)$/
/** Minimum share of a question's topic that the sentences of some hours must cover. */
const MIN_TOPIC = 0.5
/** Hours still win if another sentence covers the question by this much more. */
const SLACK = 0.03
const MAX_SENTENCES = 3

/** Sentences with the hours of one thing. */
interface Hours {
  /** Words for the thing; empty: the business itself. */
  topic: string[]
  facts: { fact: Fact; rules: readonly DayRule[] }[]
}

/** An answer about opening hours; null: the question is not about them, or the documents do not tell. */
export function hoursAnswer(part: Part, facts: readonly Fact[], now: DateTime): string | null {
  const asked = dayAsked(part.plain, now) ?? (OPEN_NOW.test(part.plain) ? dayAsked('now', now) : null)
  const topic = part.words.filter(word => !NOT_A_TOPIC.test(word))
  const isAbout = ABOUT_HOURS.test(part.plain) || (asked !== null && (part.wants === 'time' || topic.length === 0))
  if (!isAbout) return null
  const hours = hoursOf(topic, part, facts)
  if (hours === null) return null
  if (asked === null) return verbatim(hours.facts.map(({ fact }) => fact))
  return dayAnswer(hours, asked, { isYesNo: YES_NO.test(part.plain), now, facts })
}

const verbatim = (facts: readonly Fact[]): string =>
  facts
    .slice(0, MAX_SENTENCES)
    .map(({ text }) => text)
    .join(' ')

function hoursOf(topic: string[], part: Part, facts: readonly Fact[]): Hours | null {
  const all = groupsOf(facts)
  if (topic.length === 0) {
    return (
      all.find(({ topic: of }) => of.length === 0) ??
      all.find(({ topic: of }) => of.some(word => FRONT.test(word))) ??
      all.find(
        ({ facts: [first] }) => (first?.rules.length ?? 0) > 1 && first?.rules.every(({ days }) => days.length < 7),
      ) ??
      null
    )
  }
  const ranked = rank({ ...part, words: topic, wants: null }, facts)
  const best = ranked.find(({ fact }) => all.some(hours => hours.facts.some(entry => entry.fact === fact)))
  if (best === undefined || best.coverage < MIN_TOPIC || best.coverage < (ranked[0]?.coverage ?? 0) - SLACK) return null
  return all.find(hours => hours.facts.some(({ fact }) => fact === best.fact)) ?? null
}

/** Sentences of one paragraph and topic belong together; `On Sunday we are closed` belongs to the one before it. */
function groupsOf(facts: readonly Fact[]): Hours[] {
  const groups: (Hours & { paragraph: number })[] = []
  for (const fact of facts) {
    const rules = hoursIn(fact.text)
    if (rules.length === 0) continue
    const topic = topicOf(fact.text)
    const open = groups.findLast(
      group => group.paragraph === fact.paragraph && (topic.length === 0 || sameTopic(group.topic, topic)),
    )
    if (open === undefined) groups.push({ topic, paragraph: fact.paragraph, facts: [{ fact, rules }] })
    else open.facts.push({ fact, rules })
  }
  return groups.sort((a, b) => Number(isMain(b)) - Number(isMain(a)))
}

const isMain = ({ facts: [first] }: Hours): boolean =>
  /\b(open|opening|hours)\b/i.test(`${first?.fact.heading} ${first?.fact.text}`)

const sameTopic = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every(word => b.some(other => stem(word) === stem(other) || areSame(word, other)))

/** The thing that opens, by the words before the verb; empty for `we`, `our hours`, `the shop`. */
function topicOf(text: string): string[] {
  const [, subject = ''] =
    /^(.{2,80}?)\b(?:is|are|opens?|closes?|starts?|leaves?|works?|see|stays?|serves?|answers?|runs?|do not|does not|takes?|deliver\w*|ends?)\b/i.exec(
      text,
    ) ?? []
  return subject
    .toLowerCase()
    .split(/[^a-z]+/)
    .filter(
      word => word !== '' && !isStopWord(word) && !NOT_A_TOPIC.test(word) && !/^(public|holidays?|check)$/.test(word),
    )
}

interface Manner {
  facts: readonly Fact[]
  isYesNo: boolean
  now: DateTime
}

function dayAnswer(hours: Hours, asked: AskedDay, manner: Manner): string | null {
  const rules = hours.facts.flatMap(entry => entry.rules)
  const told = asked.days.map(day => ({ day, spans: spansOn(rules, day) })).filter(({ spans }) => spans !== null)
  if (told.length === 0) return undecided(hours, asked, manner.facts)
  const isOurs = hours.topic.length === 0
  if (told.every(({ spans }) => spans!.length === 0)) return closedAnswer(hours, rules, asked, manner)
  const sentences = verbatim(
    hours.facts
      .filter(entry =>
        told.some(({ day }) => ruleFor(rules, day) !== null && entry.rules.includes(ruleFor(rules, day)!)),
      )
      .map(({ fact }) => fact),
  )
  const { minutes } = asked
  const spans = told[0]!.spans!
  if (manner.isYesNo && minutes !== null && asked.days.length === 1) {
    const isOpen = isWithin(spans, minutes)
    if (isOpen === null) return sentences
    if (isOpen) return asked.isNow && isOurs ? openNow(spans, minutes) : `Yes. ${sentences}`
    return asked.isNow || !isOurs ? notNow(hours, rules, asked, manner, sentences) : `No. ${sentences}`
  }
  const relative = asked.isRelative && isOurs ? openThen(asked.label, spans) : null
  if (relative === null) return `${manner.isYesNo ? 'Yes. ' : ''}${sentences}`
  const answer = manner.isYesNo ? `Yes, ${relative}` : relative
  return answer.replace(/^./, first => first.toUpperCase())
}

function openNow(spans: readonly Span[], minutes: number): string {
  const until = spans.find(span => isWithin([span], minutes) === true)!.to!
  const isAllDay = until === MIDNIGHT && spans[0]!.from === 0
  return `Yes, we are open now${isAllDay ? '' : `, until ${timeInWords(until)}`}.`
}

/** "tomorrow we are open from nine to five."; null: the hours have no times. */
function openThen(label: string, spans: readonly Span[]): string | null {
  const times = spans.map(spanInWords).filter(words => words !== '')
  return times.length === 0 ? null : `${label}${label.includes(',') ? ',' : ''} we are open ${times.join(' and ')}.`
}

/** If the hours do not mention the day: another sentence that does, or the hours as written. */
function undecided(hours: Hours, asked: AskedDay, facts: readonly Fact[]): string {
  const names = asked.days.map(day => DAY_NAMES[day]!)
  const naming = facts.filter(({ text }) => names.some(name => text.includes(name)))
  return verbatim(naming.length > 0 ? naming.slice(0, 2) : hours.facts.map(({ fact }) => fact))
}

const ruleFor = (rules: readonly DayRule[], day: number): DayRule | null => {
  const spans = spansOn(rules, day)
  return rules.find(rule => rule.spans === spans) ?? null
}

const spanInWords = ({ from, to }: Span): string =>
  `${from === null ? '' : `from ${timeInWords(from)} `}${to === null ? '' : `${from === null ? 'until' : 'to'} ${timeInWords(to)}`}`.trim()

/** Whether the time is within the hours; null: they do not tell. */
function isWithin(spans: readonly Span[], minutes: number): boolean | null {
  if (spans.some(({ from, to }) => from !== null && to !== null && minutes >= from && minutes < to)) return true
  if (spans.some(({ to }) => to !== null && minutes >= to))
    return spans.length === 1 ? false : spans.some(({ from }) => from === null) ? null : false
  return spans.some(({ from, to }) => from === null || to === null) ? null : false
}

function closedAnswer(hours: Hours, rules: readonly DayRule[], asked: AskedDay, manner: Manner): string {
  if (hours.topic.length > 0) {
    return `${manner.isYesNo ? `No, not ${asked.label}. ` : ''}${verbatim(hours.facts.map(({ fact }) => fact))}`
  }
  const next = asked.isRelative ? nextOpening(rules, asked, manner.now) : ''
  return `${manner.isYesNo ? 'No, we' : 'We'} are closed ${asked.label}.${next}`
}

function notNow(hours: Hours, rules: readonly DayRule[], asked: AskedDay, { now }: Manner, sentences: string): string {
  if (hours.topic.length > 0) return `No, not ${asked.isNow ? 'now' : 'then'}. ${sentences}`
  return `No, we are closed now.${nextOpening(rules, asked, now)}`
}

/** When it opens again within a week. */
function nextOpening(rules: readonly DayRule[], asked: AskedDay, now: DateTime): string {
  const first = asked.label.startsWith('tomorrow') ? 1 : 0
  const at = now.hour * 60 + now.minute
  for (let later = first; later <= first + 7; later++) {
    const day = (now.weekday - 1 + later) % 7
    const opening = (spansOn(rules, day) ?? [])
      .map(({ from }) => from)
      .find(from => from !== null && (later > 0 || from > at))
    if (opening === undefined || opening === null) continue
    const label = later === 0 ? 'today' : later === 1 ? 'tomorrow' : `on ${DAY_NAMES[day]}`
    return ` We open again ${label} at ${timeInWords(opening)}.`
  }
  return ''
}
