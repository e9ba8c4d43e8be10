import type { Static, TSchema } from 'typebox'
import { Check, Errors } from 'typebox/value'
import { chatWithFallback } from './fallback.ts'
import { type ChatModel, isModelFailure, type ModelFailure, type ModelLine, type TokenCounts } from './model.ts'

/** A question whose answer is JSON. */
export interface Question<T extends TSchema = TSchema> {
  /** Name of the schema for the provider: letters, digits, `_`. */
  name: string
  /** Providers require objects without additional properties, and all properties required. */
  schema: T
  instructions: string
  messages: readonly ModelLine[]
}

export interface AskOptions {
  signal: AbortSignal
  /** Time limit of each answer [ms]. */
  timeoutMs: number
  /** Called with the tokens of each answer, including unusable ones. */
  paid?: (model: string, tokens: TokenCounts) => void
}

/** `value` null: the model violated the schema twice; `text` is its first answer. */
export interface Answer<T extends TSchema = TSchema> {
  value: Static<T> | null
  text: string
  /** The model that answered. */
  model: string
}

/** Asks the first model, then the next if it fails. An answer that violates the schema is sent back once with the error. Never throws. */
export async function ask<T extends TSchema>(
  models: readonly ChatModel[],
  question: Question<T>,
  options: AskOptions,
): Promise<Answer<T> | ModelFailure> {
  const first = await answerTo(models, question, question.messages, options)
  if (isModelFailure(first)) return first
  const { text, model } = first
  const fault = faultOf(question.schema, text)
  if (fault === undefined) return { value: jsonIn(text) as Static<T>, text, model }
  const repair = `That is not the JSON asked for: ${fault}. Answer again, with the JSON object and nothing else.`
  const lines: ModelLine[] = [...question.messages, { role: 'assistant', text }, { role: 'customer', text: repair }]
  const second = await answerTo(models.filter(({ name }) => name === model).slice(0, 1), question, lines, options)
  const isRepaired = !isModelFailure(second) && faultOf(question.schema, second.text) === undefined
  return { value: isRepaired ? (jsonIn(second.text) as Static<T>) : null, text, model }
}

/** The first non-empty answer of the models. */
async function answerTo(
  models: readonly ChatModel[],
  { name, schema: typed, instructions }: Question,
  messages: readonly ModelLine[],
  { signal, timeoutMs, paid }: AskOptions,
): Promise<{ text: string; model: string } | ModelFailure> {
  // A copy without the symbol keys of our schemas.
  const schema = JSON.parse(JSON.stringify(typed)) as object
  const told = `${instructions}\nAnswer with one JSON object of this JSON schema and nothing else: ${JSON.stringify(schema)}`
  const request = { instructions: told, messages, tools: [], passages: [], form: { name, schema }, timeoutMs }
  const made = { text: '', model: '' }
  const used = (model: string) => {
    made.model = model
  }
  for await (const part of chatWithFallback(models, request, { signal, firstPartMs: timeoutMs, used })) {
    if (part.kind === 'failure') return part.failure
    if (part.kind === 'text') made.text += part.text
    if (part.kind === 'usage') paid?.(made.model, part)
  }
  if (signal.aborted) return { failure: 'unavailable', message: 'given up' }
  return made.text.trim() === '' ? { failure: 'bad_answer', message: 'the answer is empty' } : made
}

/** Why an answer does not match the schema. */
function faultOf(schema: TSchema, text: string): string | undefined {
  const value = jsonIn(text)
  if (value === undefined) return 'it is no JSON object'
  // Not compiled, because compiled schemas are cached, and these may contain customers' fields.
  if (Check(schema, value)) return undefined
  const [error] = Errors(schema, value)
  return error === undefined ? 'it is of another shape' : `${error.instancePath || 'it'} ${error.message}`
}

/** The JSON object in an answer, without any text around it; undefined: none. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1))
  } catch {
    return undefined
  }
}
