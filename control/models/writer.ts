import type { Static, TSchema } from 'typebox'
import type { Tenant } from '../kernel/tenancy.ts'
import { ask } from './ask.ts'
import type { Models } from './choice.ts'
import type { ChatModel, ModelFailure } from './model.ts'

/** A text made from a conversation: notes of a meeting, the summary of a call. */
interface Task<T extends TSchema = TSchema> {
  /** Name of the schema for the provider. */
  name: string
  schema: T
  instructions: string
  /** Language of the text, as a code. */
  language: string
  /** The text that it is made from. */
  text: string
}

/** `value` null: the model violated the schema twice; `text` is what it wrote. */
export interface Written<T extends TSchema = TSchema> {
  value: Static<T> | null
  text: string
}

export interface Writer {
  write<T extends TSchema>(task: Task<T>): Promise<Written<T> | ModelFailure>
}

/** Writes texts for a tenant: the operator's model, in test mode a mock; null: none is configured. */
export type WriterFor = (tenant: Tenant, signal: AbortSignal) => Writer | null

/** Long, since no caller waits for it, and a long meeting takes long to process [ms]. */
const TIMEOUT_MS = 90_000

export const writers =
  (models: Models): WriterFor =>
  (tenant, signal) => {
    if (!tenant.livemode) return mockWriter
    const chosen = models.for(tenant)
    return chosen.length === 0 ? null : modelWriter(chosen, signal)
  }

const modelWriter = (models: readonly ChatModel[], signal: AbortSignal): Writer => ({
  write: ({ name, schema, instructions, language, text }) =>
    ask(
      models,
      {
        name,
        schema,
        instructions: `${instructions}\nWrite in ${languageName(language)}.`,
        messages: [{ role: 'customer', text }],
      },
      { signal, timeoutMs: TIMEOUT_MS },
    ),
})

const languageName = (code: string): string => new Intl.DisplayNames(['en'], { type: 'language' }).of(code) ?? code

/** For test keys: contacts nobody, and returns the first line of its input. */
const mockWriter: Writer = { write: async ({ text }) => ({ value: null, text: `(mock) ${text.split('\n', 1)[0]}` }) }
