import { Ajv } from 'ajv'
import type { RegExpEngine, RegExpLike } from 'ajv/dist/types/index.js'
import { validationProblem } from '../http/wire/validation.ts'
import { compilePattern } from '../kernel/pattern.ts'

/** Schemas are customers': one that cannot be compiled makes its tool fail, and formats are not checked. */
const ajv = new Ajv({
  strict: false,
  validateFormats: false,
  logger: false,
  verbose: true,
  code: { regExp: boundedPattern() },
})

/** Patterns are customers' too: they run in bounded time, and one that cannot be compiled for that makes its tool fail. */
function boundedPattern(): RegExpEngine {
  const engine = (source: string): RegExpLike => {
    const pattern = compilePattern(source)
    if (typeof pattern === 'string') throw new Error(pattern)
    return pattern
  }
  return Object.assign(engine, { code: 'boundedPattern' })
}

const UNUSABLE = 'the schema of the tool cannot be used'

/** A schema without `type` accepts any object. */
export const objectSchema = (parameters: Record<string, unknown>): Record<string, unknown> =>
  'type' in parameters ? parameters : { type: 'object', ...parameters }

/** Why a model's input does not fit its tool's parameters, in the words of a request's errors; null: it fits. */
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
  // An asynchronous schema would be checked only later.
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
