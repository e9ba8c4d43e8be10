import Type from 'typebox'
import { input, nullable } from '../kernel/schema.ts'
import { ask } from '../models/ask.ts'
import { type ChatModel, isModelFailure, type ModelFailure, type ModelLine } from '../models/model.ts'
import type { Judgement, JudgeRequest } from './engine/model.ts'

/** Limited, because a caller waits for it [ms]. */
const TIMEOUT_MS = 10_000

const judgementSchema = input({ intent: nullable(Type.Integer({ description: 'The number of the intent.' })) })

/** Asks a model which of a flow's intents a caller's line expresses. */
export async function judgedBy(
  models: readonly ChatModel[],
  { text, intents, history }: JudgeRequest,
  signal: AbortSignal,
): Promise<Judgement | ModelFailure> {
  const list = intents.map(({ description, examples }, index) => {
    const said = examples.length === 0 ? '' : ` Callers say: ${examples.map(example => `"${example}"`).join(', ')}.`
    return `${index}: ${description}${said}`
  })
  const instructions = [
    'A caller on the phone has said a line. Decide which of these intents it expresses; null when it is none of them:',
    ...list,
  ].join('\n')
  const last: ModelLine = { role: 'customer', text }
  const messages = history.at(-1)?.role === 'customer' ? history : [...history, last]
  const question = { name: 'judgement', schema: judgementSchema, instructions, messages }
  const answer = await ask(models, question, { signal, timeoutMs: TIMEOUT_MS })
  if (isModelFailure(answer)) return answer
  const { intent = -1 } = answer.value ?? {}
  const isOne = intent === null || (intent >= 0 && intent < intents.length)
  return isOne ? { intent } : { failure: 'bad_answer', message: 'the answer names no intent' }
}
