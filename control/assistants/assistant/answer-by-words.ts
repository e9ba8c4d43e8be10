import { plainWords } from '../../flows/engine/conditions.ts'
import type { ChatMessage, ChatPart, ChatRequest } from '../../models/model.ts'
import { END_CALL } from './tool-names.ts'

/** Words that say nothing about the topic of a question. */
const STOP_WORDS = new Set(
  'a about also am an and any are as at be been but by can could did do does for from get give had has have hello hey hi how i if in is it its just know like may me my need of on one or our please should so tell than that the their them then there these they this to us was we were what when where which who will with would you your'.split(
    ' ',
  ),
)

const GOODBYE = /\b(bye|goodbye|good bye?|that s all|that is all|nothing else|no thank you|no thanks)\b/
const THANKS = /\b(thanks|thank you)\b/
const AGENT =
  /\b(agent|human|operator|representative|real person|speak (to|with) (a person|someone|somebody)|talk (to|with) (a person|someone|somebody))\b/
const GREETING = /^(hello|hi|hey|good (morning|afternoon|evening))( there)?$/
/** Minimum share of a question's words that a sentence must contain to be an answer. */
const MIN_SCORE = 0.25
/** Number of sentences in an answer whose best one is a title; otherwise one. */
const MAX_SENTENCES = 2

/** Answers in a language other than English: with the sentence that contains most of the question's words. */
export function* answerByWords({ messages, tools, passages }: ChatRequest): Generator<ChatPart> {
  const last = messages.at(-1)
  if (last?.role === 'result') return yield text(spokenResult(last.output))
  const said = plainWords(lastOfCustomer(messages))
  const handOver = tools.find(tool => tool.name.startsWith('transfer_to_'))
  if (AGENT.test(said)) {
    if (handOver === undefined) return yield text('I am sorry, nobody can take your call at the moment.')
    yield text('One moment, I will put you through.')
    return yield call(handOver.name)
  }
  if (GOODBYE.test(said)) {
    yield text('Thank you for calling. Goodbye.')
    return yield call(END_CALL)
  }
  if (GREETING.test(said)) return yield text('Hello. How can I help you?')
  const answer = bestSentences(said, passages)
  if (answer !== null) return yield text(answer)
  if (THANKS.test(said)) return yield text('You are welcome. Is there anything else?')
  yield text('I am sorry, I do not know that. Is there anything else I can help you with?')
}

export const text = (words: string): ChatPart => ({ kind: 'text', text: words })
export const call = (name: string): ChatPart => ({ kind: 'call', id: `call-${name}`, name, input: {} })

const lastOfCustomer = (messages: readonly ChatMessage[]): string =>
  messages.reduce((found, message) => (message.role === 'customer' ? message.text : found), '')

export const spokenResult = (output: string): string =>
  output.startsWith('failed') ? 'I am sorry, that did not work. Is there anything else?' : `The answer is: ${output}.`

/** The sentences that contain most of the question's words; null: none contains enough. */
export function bestSentences(question: string, passages: readonly string[]): string | null {
  const wanted = new Set(contentWords(question))
  if (wanted.size === 0) return null
  let best: { score: number; words: string } | null = null
  for (const passage of passages) {
    const sentences = passage.split(/(?<=[.!?])\s+|\n+/).filter(sentence => sentence.trim() !== '')
    for (const [at, sentence] of sentences.entries()) {
      const has = new Set(contentWords(sentence))
      const score = [...wanted].filter(word => has.has(word)).length / wanted.size
      if (score >= MIN_SCORE && score > (best?.score ?? 0)) {
        const isTitle = !/[.!?]$/.test(sentence.trim())
        const words = sentences.slice(at, at + (isTitle ? MAX_SENTENCES : 1))
        best = { score, words: words.map(part => part.replace(/^[#*\s-]+/, '').trim()).join(' ') }
      }
    }
  }
  return best?.words ?? null
}

/** The words of a question without stop words. */
export const tellingWords = (question: string): string[] =>
  plainWords(question)
    .split(' ')
    .filter(word => word !== '' && !STOP_WORDS.has(word))

const contentWords = (question: string): string[] => tellingWords(question).map(stem)

/** A crude stemmer: enough to find `opening` by `open`, and `deliveries` by `delivery`. */
const stem = (word: string): string =>
  word.length <= 3
    ? word
    : word
        .replace(/ies$/, 'y')
        .replace(/(ing|ed|es|s)$/, '')
        .replace(/e$/, '')
