import type { DateTime } from 'luxon'
import { dayAsked } from './day-question.ts'
import { hoursAnswer } from './hours-answer.ts'
import type { Fact, Kind } from './knowledge.ts'
import type { Part } from './question.ts'
import { isOfKind, type Ranked, rank } from './ranking.ts'

/** Minimum share of the question that a sentence must cover; more if it lacks the kind of answer asked for. */
const MIN_COVERAGE = 0.5
const MIN_COVERAGE_OTHER_KIND = 0.75
/** Minimum match of the most telling word. */
const MIN_HEAD = 0.45
/** If no word is shared, similarity must be greater. */
const MIN_STRONGEST = 0.68
const MIN_COVERAGE_BY_LIKENESS = 0.58
/** With this coverage, the most telling word need not match. */
const MIN_COVERAGE_WITHOUT_HEAD = 0.55
const TIME_BONUS = 0.1
/** Kinds of answers that a sentence must contain, if asked for: "how much" asks for a number. */
const STRICT: ReadonlySet<Kind> = new Set<Kind>(['money', 'number', 'distance', 'duration', 'time'])
/** A second sentence is added if its score is at least this share of the best one's. */
const NEARLY = 0.9
/** A sentence that begins like this needs the one before it, and that one needs it. */
const GOES_ON = /^(it|they|this|that|these|those|there|then|otherwise|after that|in that case|he|she)\b/i

/** Minimum coverage for a number or address of the kind that was asked for, of which there are few. */
const MIN_COVERAGE_CONTACT = 0.3
/** Words that mean the business itself. */
const ITSELF =
  /^(shop|store|place|practice|office|clinic|restaurant|hotel|business|company|salon|museum|studio|school|gallery|cafe|bar|bakery|pharmacy|garage|gym|library|theatre|cinema|bank|building|branch|firm|agency|surgery|exactly|based|now)$/

/** What an answer to a short question such as `what's your number` or `where are you` contains. */
const CONTACT: Readonly<Partial<Record<Kind, RegExp>>> = {
  place: /\b([Aa]ddress|[Ff]ind us|located|situated|[Ww]e are (at|in|on)\b|(is|are) (at|in|on) (the )?[A-Z\d])/,
  phone: /\b(phone|telephone|call|reach)\b/i,
  email: /@/,
}

/** The sentences that answer a question; null: the documents have no answer. */
export function knowledgeAnswer(part: Part, facts: readonly Fact[], now: DateTime): string | null {
  const hours = hoursAnswer(part, facts, now)
  if (hours !== null) return hours
  const contact = contactAnswer(part, facts)
  if (contact !== null) return contact
  const isTimed = part.wants === null && dayAsked(part.plain, now) !== null
  const ranked = rank(part, facts)
  if (isTimed) ranked.sort((a, b) => timedScore(b) - timedScore(a))
  const [best] = ranked
  if (best === undefined || !fits(best, part)) return null
  return withNeighbours(best, ranked, part, facts)
}

/** If a time is named, sentences with times come first among those that match equally well. */
const timedScore = ({ fact, score }: Ranked): number => score + (fact.kinds.has('time') ? TIME_BONUS : 0)

function fits({ fact, coverage, head, strongest }: Ranked, { wants }: Part): boolean {
  if (wants !== null && !isOfKind(fact.kinds, wants))
    return !STRICT.has(wants) && coverage >= MIN_COVERAGE_OTHER_KIND && head >= MIN_HEAD
  if (strongest < MIN_STRONGEST && coverage < MIN_COVERAGE_BY_LIKENESS) return false
  return coverage >= (head >= MIN_HEAD ? MIN_COVERAGE : MIN_COVERAGE_WITHOUT_HEAD)
}

function withNeighbours(best: Ranked, ranked: readonly Ranked[], part: Part, facts: readonly Fact[]): string {
  const chosen = [best.fact]
  const at = facts.indexOf(best.fact)
  const isNext = (fact: Fact | undefined): fact is Fact => fact !== undefined && fact.paragraph === best.fact.paragraph
  const [before, after] = [facts[at - 1], facts[at + 1]]
  if (GOES_ON.test(best.fact.text) && isNext(before)) chosen.unshift(before)
  else if (isNext(after) && GOES_ON.test(after.text)) chosen.push(after)
  const [, second] = ranked
  if (
    second !== undefined &&
    !chosen.includes(second.fact) &&
    second.score >= best.score * NEARLY &&
    fits(second, part)
  ) {
    chosen.push(second.fact)
  }
  return chosen.map(({ text }) => text).join(' ')
}

/** The sentence with the business's address or number or, if the question names a topic, with the one for that. */
function contactAnswer(part: Part, facts: readonly Fact[]): string | null {
  const { wants, words } = part
  const pattern = wants === null ? undefined : CONTACT[wants]
  if (wants === null || pattern === undefined) return null
  const found = facts.filter(({ kinds }) => kinds.has(wants))
  const about = words.filter(word => !ITSELF.test(word))
  if (about.length === 0) {
    return (found.find(({ text }) => pattern.test(text)) ?? (wants === 'place' ? undefined : found[0]))?.text ?? null
  }
  if (wants === 'place') return null
  const [best] = rank({ ...part, words: about, wants: null }, facts).filter(({ fact }) => found.includes(fact))
  return best !== undefined && best.coverage >= MIN_COVERAGE_CONTACT ? best.fact.text : null
}
