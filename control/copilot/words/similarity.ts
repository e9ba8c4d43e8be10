import { nearness, rankOf } from '../../assistants/offline/word-vectors.ts'
import { remembered } from '../../kernel/remembered.ts'
import { isHebrew, type Word, wordsOf } from './fold.ts'
import { isLight, likeness } from './likeness.ts'
import { isNegation, negates } from './negations.ts'
import { areSynonyms } from './synonyms.ts'

/** Cache size for the examples of some profiles, which are compared with every utterance. */
const MAX_REMEMBERED = 20_000
/** Cache size for recent utterances, which are judged again as they grow. */
const MAX_SAID = 16
const MAX_PAIRS = 50_000
/** Frequent words weigh less: at this rank by frequency, half as much as a rare one. */
const HALF_RANK = 150
/** Weight of an introductory word, and of a stop word without a rank. */
const LEAD = 0.1
const LIGHT = 0.15
/** Minimum similarity in meaning of two words [cosine]; below it are words that merely occur in similar sentences. */
const MIN_NEAR = 0.6
const SYNONYM = 0.95
/** Factors if only one of two sentences is negated, and if only one is a question. */
const DENIED = 0.4
const ASKED = 0.85
/** Weight of the other words of what was said. */
const REST = 0.25
/**
 * The measure is lower than the cosine of sentence vectors, for which `objection_similarity` is set: 0.45, from which sentences of calls
 * meant the same, corresponds to 0.75 there.
 */
const SCALE = Math.log(0.75) / Math.log(0.45)

const LEADS = new Set(
  'i me my mine we us our you your it this that these those there is am are was be been do did does would will want need like just really quite simply actually honestly very so well please going get got some any such ממש פשוט בעצמ רוצה צריכ צריכה'.split(
    ' ',
  ),
)
/** Words with similar vectors, since they occur in similar sentences, that never mean the same. */
const APART = new Set(
  'monday tuesday wednesday thursday friday saturday sunday day week month quarter year years hour minute morning evening night today tomorrow yesterday now later early late before after first last next high higher low lower more less cheap expensive buy sell open close good bad better worse old new big small long short husband wife mother father son daughter one two three four five six seven eight nine ten my your his her our their'.split(
    ' ',
  ),
)
const QUESTION = /^(?:how|what|when|where|which|who|is|are|do|does|did|איכ|מה|מתי|איפה|כמה)$/
/** Questions about what somebody else thinks or does. */
const OF_OTHERS = /^(?:\S+ ){0,2}(?:what|how) (?:do|does|did|would) (?:you|he|she|they)\b/
const NOW = /\b(?:at|in|for) (?:the|this) (?:moment|time|minute)\b|\bright now\b|\bcurrently\b/gi

/** A word with its weight in a sentence. */
interface Token {
  text: string
  weight: number
  /** Number of the clause, between punctuation marks. */
  part: number
}

interface Sentence {
  tokens: readonly Token[]
  weight: number
  isDenied: boolean
  isAsked: boolean
  isOfOthers: boolean
}

function weightOf(word: string): number {
  if (LEADS.has(word)) return LEAD
  const rank = isHebrew(word) ? null : rankOf(word)
  if (rank !== null) return rank / (rank + HALF_RANK)
  return isLight(word) || word.length === 1 ? LIGHT : 1
}

const weightIn = (tokens: readonly Token[]): number => tokens.reduce((sum, { weight }) => sum + weight, 0)

const sentenceOf = remembered(MAX_REMEMBERED, (text: string): Sentence => {
  const words = wordsOf(text.replace(NOW, 'now'))
  let part = 0
  const tokens = words.flatMap((word): Token[] => {
    if (word.opens) part++
    return isNegation(word.text) ? [] : [{ text: word.text, weight: weightOf(word.text), part }]
  })
  return {
    tokens,
    weight: weightIn(tokens),
    isDenied: words.some((_, at) => negates(words, at) && !isAnswer(words, at)),
    isAsked: QUESTION.test(words[0]?.text ?? ''),
    isOfOthers: OF_OTHERS.test(words.map(word => word.text).join(' ')),
  }
})

/** Whether a negation is an answer, as in "No, …", and negates nothing that follows. */
const isAnswer = (words: readonly Word[], at: number): boolean => at === 0 && words[1]?.opens === true

const pair = remembered(MAX_PAIRS, (words: string): number => {
  const [said = '', wanted = ''] = words.split(' ')
  const form = likeness(said, wanted)
  if (form > 0) return form
  if (areSynonyms(said, wanted)) return SYNONYM
  if (APART.has(said) || APART.has(wanted) || isLight(said) || isLight(wanted)) return 0
  const near = nearness(said, wanted) ?? 0
  return near >= MIN_NEAR ? near : 0
})

/** Similarity in meaning of two words, 0 to 1. */
const alike = (said: string, wanted: string): number => (said === wanted ? 1 : pair(`${said} ${wanted}`))

/** The token most similar to a word, and how similar it is; `at` -1: none. */
interface Nearest {
  like: number
  at: number
}

/** Thousands of examples consist of some hundred words, so each word is searched for only once in what is said. */
const saidOf = remembered(MAX_SAID, (text: string) => ({
  sentence: sentenceOf(text),
  nearest: new Map<string, Nearest>(),
}))

function nearestTo({ sentence, nearest }: ReturnType<typeof saidOf>, wanted: string): Nearest {
  const known = nearest.get(wanted)
  if (known !== undefined) return known
  const found = { like: 0, at: -1 }
  for (const [at, token] of sentence.tokens.entries()) {
    const like = alike(token.text, wanted)
    if (like > found.like) Object.assign(found, { like, at })
  }
  nearest.set(wanted, found)
  return found
}

/** The tokens that match an example's words, with how well they do. */
function meet(said: readonly Nearest[]): Map<number, number> {
  const by = new Map<number, number>()
  for (const { like, at } of said) if (at >= 0) by.set(at, Math.max(by.get(at) ?? 0, like))
  return by
}

/** Share of the matched words in what was said from the first to the last of them; of a single one, in its clause. */
function shareOf(said: readonly Token[], by: ReadonlyMap<number, number>): { share: number; isOne: boolean } {
  const telling = [...by.keys()].filter(at => said[at]!.weight > LIGHT)
  const isOne = telling.length < 2
  const [from, to] = [Math.min(...telling), Math.max(...telling)]
  const isAround = ({ part }: Token, at: number): boolean =>
    isOne ? part === said[from]?.part : at >= from && at <= to
  let [own, all] = [0, 0]
  for (const [at, token] of said.entries()) {
    if (!isAround(token, at)) continue
    all += token.weight
    own += token.weight * (by.get(at) ?? 0)
  }
  return { share: all === 0 ? 0 : own / all, isOne }
}

/**
 * Similarity in meaning of a sentence and an example, 0 to 1: the share of the example that the sentence expresses in similar words, in any
 * order; less if there are other words in between, or if only one of the two is negated or asks. `least`: anything not above it may be 0.
 */
export function similarity(sentence: string, example: string, least = 0): number {
  const [heard, wanted] = [saidOf(sentence), sentenceOf(example)]
  const { sentence: said } = heard
  if (wanted.weight === 0) return 0
  const nearest = wanted.tokens.map(({ text }) => nearestTo(heard, text))
  const got = nearest.reduce((sum, { like }, i) => sum + like * wanted.tokens[i]!.weight, 0)
  if ((got / wanted.weight) ** SCALE <= least) return 0
  const { share, isOne } = shareOf(said.tokens, meet(nearest))
  const denied = said.isDenied === wanted.isDenied ? 1 : DENIED
  const asked = said.isOfOthers && !wanted.isAsked ? DENIED : said.isAsked && !wanted.isAsked ? ASKED : 1
  return ((got / wanted.weight) * share ** (isOne ? 1 : REST) * denied * asked) ** SCALE
}
