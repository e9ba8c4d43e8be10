import { Ajv, type ValidateFunction } from 'ajv'
import ajvFormats from 'ajv-formats'
import { ERRORS } from '../../../control/http/errors.ts'
import { PREFIXES } from '../../../control/kernel/ids.ts'
import type { Answer } from '../app-harness.ts'

const ajv = new Ajv({ strict: false, allErrors: true, addUsedSchema: false, code: { optimize: false } })
ajvFormats.default(ajv)
/** Answers have their times in UTC, and all in one form, so that they sort as text. */
ajv.addFormat('date-time', /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)
ajv.addFormat('binary', true)

/** The schema, with no additional properties allowed in any object. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed)
  if (typeof schema !== 'object' || schema === null) return schema
  const parts = Object.fromEntries(Object.entries(schema).map(([name, part]) => [name, closed(part)]))
  return 'properties' in schema && !('additionalProperties' in schema)
    ? { ...parts, additionalProperties: false }
    : parts
}

const compiled = new WeakMap<object, ValidateFunction>()

/** What is wrong with a value by its schema, and with the IDs in it; empty when all is well. */
export function faultsOf(schema: object, value: unknown): string[] {
  let validate = compiled.get(schema)
  if (validate === undefined) {
    validate = ajv.compile(closed(schema) as object)
    compiled.set(schema, validate)
  }
  const wrong = validate(value) ? [] : (validate.errors ?? [])
  return [
    ...wrong.map(error => `${error.instancePath} ${error.message} ${JSON.stringify(error.params)}`),
    ...idFaults(value, ''),
  ]
}

/** Objects whose ID has the prefix of another kind. */
const IDS_OF: Record<string, string> = { conference_session: 'call', test_event: 'evt' }
/** Names of templates and nodes are not IDs of objects. */
const NO_IDS = ['template_id', 'sim_id']
/** Objects identified by a code of another standard, or by a name that the product or a provider has given. */
const BY_CODE = ['language', 'flow_template', 'copilot_template', 'voice', 'model']

function idFaults(value: unknown, path: string): string[] {
  if (typeof value !== 'object' || value === null) return []
  const prefixes = Object.values(PREFIXES) as string[]
  const object = (value as { object?: unknown }).object
  return Object.entries(value).flatMap(([name, part]) => {
    const at = `${path}/${name}`
    if (name === 'metadata' || name === 'graph' || (name === 'id' && BY_CODE.includes(String(object)))) return []
    if (typeof part !== 'string' || !(name === 'id' || name.endsWith('_id')) || NO_IDS.includes(name))
      return idFaults(part, at)
    const [, prefix = ''] = /^([a-z]+)_[0-9a-z]{26}$/.exec(part) ?? []
    const own = IDS_OF[String(object)] ?? (PREFIXES as Record<string, string>)[String(object)]
    const isRight = name === 'id' && own !== undefined ? prefix === own : prefixes.includes(prefix)
    return isRight ? [] : [`${at} is no ID of its kind: ${part}`]
  })
}

/** What is wrong with an error answer. */
export function envelopeFaults({ status, body, headers }: Answer): string[] {
  const error = body?.error
  const known = ERRORS[error?.code as keyof typeof ERRORS]
  if (known === undefined) return [`no error of the catalogue: ${JSON.stringify(body)}`]
  const faults = [
    known.status === status ? '' : `${error.code} with status ${status}`,
    known.type === error.type ? '' : `${error.code} is not of type ${error.type}`,
    error.request_id === headers['request-id'] ? '' : 'another request_id than the header',
    error.param === null || typeof error.param === 'string' ? '' : `param ${error.param}`,
    String(error.doc_url).endsWith(`/docs/errors#${error.code}`) ? '' : `doc_url ${error.doc_url}`,
    status !== 429 || headers['retry-after'] !== undefined ? '' : 'no Retry-After',
    Object.keys(body).length === 1 ? '' : 'more than `error`',
  ]
  return faults.filter(fault => fault !== '')
}
