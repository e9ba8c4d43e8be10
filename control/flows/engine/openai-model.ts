import type { ModelFailure, ModelLine } from '../../models/model.ts'
import { isModelFailure } from '../../models/model.ts'
import { askText, type Fetch, jsonIn, type ModelProvider, type Question } from '../../models/openai-ask.ts'
import type { FlowModel, Judgement, JudgeRequest, ModelReply, ModelSettings, ReplyRequest } from './model.ts'

interface Prompt {
  instructions: string
  lines: readonly ModelLine[]
}

const MAX_SAID = 5000

/**
 * A model behind the chat or the responses API. When the model fails, the fallback model is asked once. Answers are JSON; whatever
 * else comes back is `bad_answer`. Never throws. `signal` gives up what is under way.
 */
export function openAiModel(
  provider: ModelProvider,
  settings: ModelSettings,
  signal: AbortSignal,
  fetch: Fetch = globalThis.fetch,
): FlowModel {
  const ask = async (prompt: Prompt, wished: string | null): Promise<Record<string, unknown> | ModelFailure> => {
    const models = [wished ?? settings.model, ...(settings.fallbackModel === null ? [] : [settings.fallbackModel])]
    let failure: ModelFailure = { failure: 'unavailable', message: 'no model is named' }
    for (const model of models) {
      const { temperature, api } = settings
      const question: Question = { model, temperature, api, ...prompt, format: 'object' }
      const answer = await askObject(provider, question, signal, fetch)
      if (!isModelFailure(answer)) return answer
      failure = answer
      if (signal.aborted) break
    }
    return failure
  }
  return {
    reply: async request => readReply(await ask(replyPrompt(request), request.model)),
    judge: async request => readJudgement(await ask(judgePrompt(request), null), request.intents.length),
  }
}

async function askObject(
  provider: ModelProvider,
  question: Question,
  signal: AbortSignal,
  fetch: Fetch,
): Promise<Record<string, unknown> | ModelFailure> {
  const answer = await askText(provider, question, signal, fetch)
  return isModelFailure(answer) ? answer : readObject(answer.text)
}

const badAnswer = (message: string): ModelFailure => ({ failure: 'bad_answer', message })

function readObject(text: string): Record<string, unknown> | ModelFailure {
  const value = jsonIn(text)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return badAnswer('the answer is no object')
  // Names a model may have made up must not look like our own failures.
  const { failure: _, ...rest } = value as Record<string, unknown>
  return rest
}

function replyPrompt({ goal, instructions, language, history }: ReplyRequest): Prompt {
  const rules = [
    'You speak with a caller on the phone. Say one or two short sentences.',
    instructions,
    language === '' ? '' : `Speak this language: ${language}.`,
    `Your goal at this point of the call: ${goal}`,
    'Answer with a JSON object: {"say": what you say now, "done": true once the goal is reached, "value": what you found out, or null}.',
  ]
  return { instructions: rules.filter(rule => rule !== '').join('\n'), lines: history }
}

function judgePrompt({ text, intents, history }: JudgeRequest): Prompt {
  const list = intents.map(({ description, examples }, index) => {
    const said = examples.length === 0 ? '' : ` Callers say: ${examples.map(example => `"${example}"`).join(', ')}.`
    return `${index}: ${description}${said}`
  })
  const instructions = [
    'A caller on the phone has said a line. Decide which of these intents it expresses:',
    ...list,
    'Answer with a JSON object: {"intent": the number, or null when it expresses none of them}.',
  ].join('\n')
  const last: ModelLine = { role: 'customer', text }
  const isThere = history.at(-1)?.role === 'customer'
  return { instructions, lines: isThere ? history : [...history, last] }
}

function readReply(answer: Record<string, unknown> | ModelFailure): ModelReply | ModelFailure {
  if (isModelFailure(answer)) return answer
  if (typeof answer.say !== 'string') return badAnswer('the answer has no "say"')
  const { say, value } = answer
  return { text: say.slice(0, MAX_SAID), done: answer.done === true, value: scalarText(value) }
}

const scalarText = (value: unknown): string | null =>
  ['string', 'number', 'boolean'].includes(typeof value) ? String(value).slice(0, MAX_SAID) : null

function readJudgement(answer: Record<string, unknown> | ModelFailure, intents: number): Judgement | ModelFailure {
  if (isModelFailure(answer)) return answer
  const { intent } = answer
  const isOne = typeof intent === 'number' && Number.isInteger(intent) && intent >= 0 && intent < intents
  return isOne || intent === null ? { intent } : badAnswer('the answer names no intent')
}
