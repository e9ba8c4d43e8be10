import type { DateTime } from 'luxon'
import { plainWords } from '../../flows/engine/conditions.ts'
import type { ChatMessage, ChatModel, ChatPart, ChatRequest, ChatTool } from '../../models/model.ts'
import { factsOf } from '../offline/knowledge.ts'
import { knowledgeAnswer } from '../offline/knowledge-answer.ts'
import { type Part, partsOf } from '../offline/question.ts'
import { type Act, actOf } from '../offline/small-talk.ts'
import { speakable, timeInWords } from '../offline/speakable.ts'
import { answerByWords, call, spokenResult, text } from './answer-by-words.ts'
import { BOOK_CALLBACK, END_CALL, TRANSFER_PREFIX } from './tool-names.ts'

/** Maximum length of a query, and of a caller's words, of which the last are kept [characters]. */
const MAX_SAID = 400
const ANYTHING_ELSE = 'Is there anything else I can help you with?'
const OFFER = 'Shall I put you through to somebody who can help?'
const OFFER_CALLBACK = 'Shall we call you back?'
const UNKNOWN = 'I am sorry, I do not know that.'
const NOT_CAUGHT = 'I am sorry, I did not quite catch that. Could you say it again?'
const NOBODY = 'I am sorry, nobody can take your call at the moment.'
const BOOKED = 'We will call you back.'
const NOT_BOOKED = 'I am sorry, I cannot book a call back to your number.'

interface OfflineSetting {
  /** BCP 47. */
  language: string
  /** The time of day where the organisation is. */
  localTime: () => Promise<DateTime>
}

/**
 * The model of test keys and of machines without a provider. It contacts nobody. It knows small talk, hands over to the allowed
 * targets, and answers with the best sentences of the knowledge base, by words and by meaning. It does not know anything else. In
 * languages other than English it answers with the sentence that shares most words with the question.
 */
export const offlineModel = (setting: OfflineSetting): ChatModel => ({
  name: 'offline',
  async *chat(request) {
    yield* isEnglish(setting.language) ? english(request, await setting.localTime()) : answerByWords(request)
  },
})

const isEnglish = (language: string): boolean => language === '' || language.split('-')[0]!.toLowerCase() === 'en'

const handOversOf = (tools: readonly ChatTool[]): ChatTool[] =>
  tools.filter(({ name }) => name.startsWith(TRANSFER_PREFIX))

const linesOf = (messages: readonly ChatMessage[], role: 'customer' | 'assistant'): string[] =>
  messages.flatMap(message => (message.role === role ? [message.text] : []))

/** What an answer is made from. */
interface Scene {
  said: string
  /** The assistant's last line, and what the caller had said before. */
  last: string
  earlier: readonly string[]
  request: ChatRequest
  now: DateTime
}

async function* english(request: ChatRequest, now: DateTime): AsyncGenerator<ChatPart> {
  const { messages } = request
  const newest = messages.at(-1)
  if (newest?.role === 'result') return yield text(resultTold(request, newest))
  const lines = linesOf(messages, 'customer')
  const scene: Scene = {
    said: (lines.at(-1) ?? '').slice(-MAX_SAID),
    last: linesOf(messages, 'assistant').at(-1) ?? '',
    earlier: lines.slice(0, -1),
    request,
    now,
  }
  const act = actOf(plainWords(scene.said))
  if (act !== null) return yield* actDone(act, scene)
  yield text(answerTo(scene, (await request.more?.()) ?? request.passages))
}

/** What is said about the result of a tool. */
function resultTold({ messages, tools }: ChatRequest, { id, output }: { id: string; output: string }): string {
  const asked = messages.find(message => message.role === 'call' && message.id === id)
  const name = asked?.role === 'call' ? asked.name : ''
  const hasFailed = output.startsWith('failed')
  if (name === BOOK_CALLBACK) return `${hasFailed ? NOT_BOOKED : BOOKED} ${ANYTHING_ELSE}`
  if (name.startsWith(TRANSFER_PREFIX) && hasFailed && callsBack(tools)) return `${NOBODY} ${OFFER_CALLBACK}`
  return spokenResult(output)
}

const callsBack = (tools: readonly ChatTool[]): boolean => tools.some(({ name }) => name === BOOK_CALLBACK)

function* actDone(act: Act, scene: Scene): Generator<ChatPart> {
  const isOffered = scene.last.includes(OFFER)
  const wantsCallback = act === 'call_back' || (act === 'yes' && scene.last.includes(OFFER_CALLBACK))
  if (wantsCallback && callsBack(scene.request.tools)) return yield call(BOOK_CALLBACK)
  if (act === 'person' || act === 'call_back' || (isOffered && act === 'yes')) return yield* handedOver(scene)
  if (
    act === 'goodbye' ||
    act === 'nothing_else' ||
    (act === 'no' && !isOffered && scene.last.includes('anything else'))
  ) {
    yield text('Thank you for calling. Goodbye.')
    return yield call(END_CALL)
  }
  yield text(REPLIES[act](scene))
}

function* handedOver({ said, request: { tools } }: Scene): Generator<ChatPart> {
  const words = new Set(plainWords(said).split(' '))
  const handOvers = handOversOf(tools)
  const named = handOvers.find(({ name }) =>
    name
      .slice(TRANSFER_PREFIX.length)
      .toLowerCase()
      .split(/[_-]/)
      .some(part => words.has(part)),
  )
  const chosen = named ?? handOvers[0]
  if (chosen === undefined) return yield text(callsBack(tools) ? `${NOBODY} ${OFFER_CALLBACK}` : NOBODY)
  yield text('One moment, I will put you through.')
  yield call(chosen.name)
}

const REPLIES: Readonly<Record<Act, (scene: Scene) => string>> = {
  hello: () => 'Hello. How can I help you?',
  how_are_you: () => 'I am fine, thank you. How can I help you?',
  thanks: () => 'You are welcome. Is there anything else?',
  goodbye: () => 'Goodbye.',
  nothing_else: () => 'Goodbye.',
  who: () => 'I am the automated assistant that answers this phone. What would you like to know?',
  robot: ({ request }) =>
    `I am an automated assistant, not a person.${handOversOf(request.tools).length > 0 ? ' I can put you through to somebody, just say so.' : ''}`,
  person: () => NOBODY,
  call_back: () => NOBODY,
  repeat: ({ last }) => (last === '' ? 'How can I help you?' : last),
  slower: ({ last }) => (last === '' ? 'How can I help you?' : last),
  can_hear: () => 'Yes, I am here. How can I help you?',
  wait: () => 'Of course. Take your time.',
  yes: () => 'Please go ahead.',
  no: () => `All right. ${ANYTHING_ELSE}`,
  help: () => 'Just ask me, for example when we are open, where we are or what something costs.',
  clock: ({ now }) => `It is ${timeInWords(now.hour * 60 + now.minute)}.`,
  date: ({ now }) => `It is ${now.setLocale('en').toFormat('cccc, d LLLL')}.`,
  language: () => 'I am sorry, I only speak English.',
  anger: ({ request }) =>
    `I am sorry about that.${handOversOf(request.tools).length > 0 ? ` ${OFFER}` : ' Please ask me once more in other words.'}`,
  praise: () => ANYTHING_ELSE,
}

/** Answers each question in the text from the knowledge base. */
function answerTo({ said, earlier, request, now }: Scene, passages: readonly string[]): string {
  const facts = factsOf(passages)
  const parts = withContext(partsOf(said), earlier)
  const asked = parts.filter(({ words, wants }) => words.length > 0 || wants !== null)
  if (asked.length === 0) return NOT_CAUGHT
  const answers = [...new Set(asked.map(part => knowledgeAnswer(part, facts, now)))]
  const known = answers.filter(answer => answer !== null).map(speakable)
  const offer = offerOf(request.tools)
  if (known.length === 0) return `${UNKNOWN} ${offer}`
  return known.length === answers.length ? known.join(' ') : `${known.join(' ')} The rest I do not know. ${offer}`
}

/** What is offered to a caller whose question has no answer. */
const offerOf = (tools: readonly ChatTool[]): string =>
  handOversOf(tools).length > 0 ? OFFER : callsBack(tools) ? OFFER_CALLBACK : ANYTHING_ELSE

const LEANS = /\b(it|that|this|they|them|one)\b|^(and|what about|how about|or)\b/
/** Phrases such as `Where are you?` need no context. */
const OF_ITS_OWN = /\byour?\b/
/** A question with at least this many words does not depend on the one before it. */
const LEAN_WORDS = 2

/** Adds the topic of the question before to one such as `And on Sundays?` or `how much is it?`. */
function withContext(parts: Part[], earlier: readonly string[]): Part[] {
  let before = earlier.length === 0 ? null : (partsOf(earlier.at(-1)!).at(-1) ?? null)
  return parts.map(part => {
    const leans =
      before !== null &&
      part.words.length < LEAN_WORDS &&
      (part.words.length === 0 ? !OF_ITS_OWN.test(part.plain) : LEANS.test(part.plain))
    const whole = leans
      ? {
          ...part,
          words: [...new Set([...part.words, ...before!.words])],
          wants: part.wants ?? before!.wants,
        }
      : part
    before = whole
    return whole
  })
}
