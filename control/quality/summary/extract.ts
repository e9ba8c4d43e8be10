import { findPhoneNumbersInText } from 'libphonenumber-js'
import { compileSpoken } from '../../kernel/pattern.ts'
import type { Disposition } from '../../organisation/quality.ts'
import { evidenceOf, holdsAny } from '../analysis/compliance.ts'
import type { Conversation, Line, Profile } from '../analysis/conversation.ts'
import { topicsIn } from '../analysis/topics.ts'
import { isContent, plainWords } from '../analysis/words.ts'
import type { SummaryContent } from './schema.ts'

/** A summary from a call's words alone: the sentences that state its reason, its outcome and next steps, as they were said. What was not said is absent. */
export function extractedSummary(
  { lines, profile, heard }: Pick<Conversation, 'lines' | 'profile' | 'heard'>,
  dispositions: readonly Disposition[],
): SummaryContent {
  const said = sentencesOf(lines)
  const reason = reasonIn(said)
  const outcome = outcomeIn(said)
  const steps = stepsIn(said).filter(({ text }) => text !== outcome?.text)
  const used = [reason, outcome, ...steps].flatMap(one => (one === undefined ? [] : [one.line]))
  return {
    made_by: 'words',
    reason: reason?.text ?? null,
    outcome: outcome?.text ?? null,
    next_steps: steps.map(({ text }) => text),
    // Values that the copilot heard, and its agent corrected, take precedence.
    fields: { ...fieldsIn(lines, profile), ...heard?.fields },
    disposition: dispositionIn(lines, dispositions),
    topics: topicsIn(lines),
    evidence: [...new Set(used)].map(evidenceOf),
  }
}

interface Sentence {
  line: Line
  text: string
  words: string[]
}

const MAX_STEPS = 5
/** Minimum number of content words in the reason of a call. */
const MIN_CONTENT = 2
const MAX_CONTENT = 8
/** A wish counts as this many significant words. */
const WISH_WEIGHT = 4

const segmenter = new Intl.Segmenter(undefined, { granularity: 'sentence' })

const sentencesOf = (lines: readonly Line[]): Sentence[] =>
  lines.flatMap(line =>
    [...segmenter.segment(line.text)]
      .map(({ segment }) => segment.trim())
      .filter(text => text !== '')
      .map(text => ({ line, text, words: plainWords(text) })),
  )

const WISH =
  /\b(i(['’]d| would) like|i want|i need|i(['’]m| am) (calling|looking|having|trying)|calling (about|because|to)|problem|issue|broken|(does|is|did)n['’]?t work|not working|can(['’]t|not)|how (do|can) i|cancel|complain\w*|refund|wrong|never (came|arrived|received))\b|(רוצה|צריך|צריכה|בעיה|מתקשר|מתקשרת|לבטל|לא עובד|תקלה|החזר|לברר)/iu

/** The reason of the call: the most significant sentence in the first half of the customer's words. */
function reasonIn(said: readonly Sentence[]): Sentence | undefined {
  const own = said.filter(({ line }) => line.side === 'customer')
  const first = own.slice(0, Math.max(6, Math.ceil(own.length / 2)))
  const weightOf = ({ text, words }: Sentence): number => {
    const content = words.filter(isContent).length
    return content < MIN_CONTENT ? 0 : Math.min(content, MAX_CONTENT) + (WISH.test(text) ? WISH_WEIGHT : 0)
  }
  let best: Sentence | undefined
  for (const one of first) if (weightOf(one) > (best === undefined ? 0 : weightOf(best))) best = one
  return best
}

const DONE =
  /\b((i|we)(['’]ve| have)( just| now| already)?|(has|have) been|is( now)? (all )?|(that|it)(['’]s| is)( now)?( all)?)\s*(done|booked|cancell?ed|refunded|sent|changed|updated|fixed|resolved|ordered|scheduled|confirmed|opened|closed|processed|set up|sorted|added|removed|registered|activated|solved|working again)\b|(ביטלתי|הזמנתי|קבעתי|עדכנתי|שלחתי|זיכיתי|פתחתי|טופל|נפתר|בוצע|הזמנו|קבענו|ביטלנו)/iu

/** The outcome: the last sentence of ours that says something is done. */
const outcomeIn = (said: readonly Sentence[]): Sentence | undefined =>
  said.filter(({ line, text }) => line.side !== 'customer' && DONE.test(text)).at(-1)

const PROMISE =
  /\b(i|we|they|somebody|someone|he|she)(['’]ll| will| am going to| are going to|['’]re going to|['’]m going to)\s+(also |then |just )?(call|send|email|e-mail|text|mail|get back|ring|follow|contact|return|pay|ship|deliver|bring|come|check back|let you know|confirm|order|refund|transfer the|visit|arrive|reach out|write)|\byou(['’]ll| will) (get|receive|hear|have|find|be (called|contacted|charged|refunded))|\b(please|you (need|have) to|could you) (send|call|email|return|bring|fill|sign|upload)\b|(אתקשר|נתקשר|אשלח|נשלח|אחזור אליך|נחזור אליך|תקבל|תקבלי|יגיע|נעדכן|אעדכן)/iu

/** Next steps: promises and requests. */
function stepsIn(said: readonly Sentence[]): Sentence[] {
  const promised = said.filter(({ text }) => PROMISE.test(text))
  return promised.filter(({ text }, i) => promised.findIndex(other => other.text === text) === i).slice(-MAX_STEPS)
}

/** The disposition whose phrases were said last, since a call's end tells its outcome. */
function dispositionIn(lines: readonly Line[], dispositions: readonly Disposition[]): string | null {
  for (const line of lines.toReversed()) {
    const found = dispositions.find(({ phrases }) => holdsAny(line, phrases))
    if (found !== undefined) return found.key
  }
  return null
}

const EMAIL = /[\p{L}\p{N}._%+-]{1,64}@[\p{L}\p{N}-]{1,63}(?:\.[\p{L}\p{N}-]{2,63}){1,4}/u

/** The profile's fields that are recognisable by their form: the customer's last mention of each. */
function fieldsIn(lines: readonly Line[], profile: Profile | null): Record<string, string> {
  const own = lines.filter(({ side }) => side === 'customer').toReversed()
  const found = (profile?.settings.fields ?? []).flatMap((field): [string, string][] => {
    for (const line of own) {
      const value = valueIn(line, field)
      if (value !== null) return [[field.key, value]]
    }
    return []
  })
  return Object.fromEntries(found)
}

type Field = Profile['settings']['fields'][number]

function valueIn(line: Line, { type, pattern, options }: Field): string | null {
  const { text } = line
  if (pattern !== '') return matchOf(pattern, text)
  switch (type as string) {
    case 'email':
      return EMAIL.exec(text)?.[0] ?? null
    case 'phone':
      return findPhoneNumbersInText(text)[0]?.number.number ?? null
    case 'choice':
      return options.find(option => holdsAny(line, [option])) ?? null
    default:
      return null
  }
}

function matchOf(pattern: string, text: string): string | null {
  const compiled = compileSpoken(pattern)
  if (typeof compiled === 'string') return null
  const matcher = compiled.matcher(text)
  return matcher.find() ? matcher.group() : null
}
