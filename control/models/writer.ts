import type { Static, TSchema } from 'typebox'
import { compileValidator } from '../http/wire/validation.ts'
import { isModelFailure, type ModelFailure, type ModelLine } from './model.ts'
import { type AnswerFormat, type AskFailure, askText, type Fetch, jsonIn, type ModelProvider } from './openai-ask.ts'

/** Something to be written from what was said: notes of a meeting, the summary of a call. */
export interface Task<T extends TSchema = TSchema> {
  /** Names the shape to the provider. */
  name: string
  schema: T
  instructions: string
  /** Of what is written, as a language code. */
  language: string
  /** What it is written from. */
  text: string
}

/** `value` null: the model has not kept to the schema, not on a second try either; `text` is what it wrote. */
export interface Written<T extends TSchema = TSchema> {
  value: Static<T> | null
  text: string
}

export interface Writer {
  write<T extends TSchema>(task: Task<T>): Promise<Written<T> | ModelFailure>
}

interface Settings {
  provider: ModelProvider
  model: string
  signal: AbortSignal
  fetch?: Fetch
}

/**
 * A writer behind an OpenAI-compatible address: structured output by the task's schema, a plain question where the provider
 * knows none. What does not keep to the schema is sent back once, with what is wrong; then it is plain text.
 */
export function openAiWriter(settings: Settings): Writer {
  return {
    write: async <T extends TSchema>(task: Task<T>): Promise<Written<T> | ModelFailure> => {
      const lines: ModelLine[] = [{ role: 'customer', text: task.text }]
      const first = await askFor(settings, task, lines)
      if (isModelFailure(first)) return first
      const fault = faultOf(task.schema, first.text)
      if (fault === null) return { value: jsonIn(first.text) as Static<T>, text: first.text }
      const repair = `That is not the JSON asked for: ${fault}. Answer again, with the JSON object and nothing else.`
      const second = await askFor(settings, task, [
        ...lines,
        { role: 'assistant', text: first.text },
        { role: 'customer', text: repair },
      ])
      const isRepaired = !isModelFailure(second) && faultOf(task.schema, second.text) === null
      return { value: isRepaired ? (jsonIn(second.text) as Static<T>) : null, text: first.text }
    },
  }
}

/** One question, as structured output; as a plain one where that is refused. An empty answer is none. */
async function askFor(
  { provider, model, signal, fetch }: Settings,
  task: Task,
  lines: readonly ModelLine[],
): Promise<{ text: string } | AskFailure> {
  const schema = JSON.parse(JSON.stringify(task.schema)) as object
  const instructions = [
    task.instructions,
    `Write in ${languageName(task.language)}.`,
    `Answer with one JSON object of this JSON schema and nothing else: ${JSON.stringify(schema)}`,
  ].join('\n')
  const ask = (format: AnswerFormat) =>
    askText(provider, { model, temperature: null, api: 'chat', instructions, lines, format }, signal, fetch)
  const structured = await ask({ name: task.name, schema })
  const answer = isModelFailure(structured) && structured.refused === true ? await ask('text') : structured
  if (isModelFailure(answer) || answer.text.trim() !== '') return answer
  return { failure: 'bad_answer', message: 'the answer is empty' }
}

const languageName = (code: string): string => new Intl.DisplayNames(['en'], { type: 'language' }).of(code) ?? code

/** What keeps an answer from being of the schema, or null. */
function faultOf(schema: TSchema, text: string): string | null {
  const value = jsonIn(text)
  if (value === undefined) return 'it is no JSON object'
  const validate = compileValidator(schema, 'body')
  if (validate(value)) return null
  const [error] = validate.errors ?? []
  return error === undefined ? 'it is of another shape' : `${error.instancePath || 'it'} ${error.message}`
}

/** Of test keys: reaches nobody and tells what it would have read. */
export const mockWriter: Writer = {
  write: async ({ text }) => ({ value: null, text: `(mock) ${text.split('\n', 1)[0]}` }),
}
