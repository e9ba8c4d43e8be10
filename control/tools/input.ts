import { Ajv } from 'ajv'
import type { RegExpEngine, RegExpLike } from 'ajv/dist/types/index.js'
import { validationProblem } from '../http/wire/validation.ts'
import { compilePattern } from '../kernel/pattern.ts'

/** Schemas are customers': what cannot be compiled refuses its tool, and formats are not judged. */
const ajv = new Ajv({
  strict: false,
  validateFormats: false,
  logger: false,
  verbose: true,
  code: { regExp: boundedPattern() },
})

/** Patterns are customers' too: they run in bounded time, and one that cannot be compiled so refuses its tool. */
function boundedPattern(): RegExpEngine {
  const engine = (source: string): RegExpLike => {
    const pattern = compilePattern(source)
    if (typeof pattern === 'string') throw new Error(pattern)
    return pattern
  }
  return Object.assign(engine, { code: 'boundedPattern' })
}

const UNUSABLE = 'the schema of the tool cannot be used'

/** An empty schema takes any object. */
export const objectSchema = (parameters: Record<string, unknown>): Record<string, unknown> =>
  'type' in parameters ? parameters : { type: 'object', ...parameters }

/** Why a model's input does not fit the parameters of its tool, as of a request's parameters; null: it does. */
export function inputProblem(parameters: Record<string, unknown>, input: Record<string, unknown>): string | null {
  if ('$async' in parameters) return UNUSABLE
  try {
    if (ajv.validate(objectSchema(parameters), input) === true) return null
    return validationProblem(ajv.errors ?? []).message
  } catch {
    return UNUSABLE
  } finally {
    // Schemas are many and short-lived, so compiled ones are not kept.
    ajv.removeSchema()
  }
}

/** Why a schema cannot be that of a tool's parameters; null: it can. */
export function schemaFault(parameters: Record<string, unknown>): string | null {
  if (objectSchema(parameters).type !== 'object') return 'must be of type object'
  // It would be judged later, when nobody waits for it.
  if ('$async' in parameters) return 'must not be $async'
  try {
    ajv.compile(objectSchema(parameters))
    return null
  } catch (error) {
    return `is no schema that can be used: ${(error as Error).message}`
  } finally {
    ajv.removeSchema()
  }
}
