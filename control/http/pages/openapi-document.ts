import { PREFIXES } from '../../kernel/ids.ts'
import type { Schema } from '../../kernel/versions/shape.ts'
import { ERRORS, type ErrorCode, envelope } from '../errors.ts'
import { words } from '../plain-resource.ts'
import { kindOf } from '../versions/translate.ts'
import type { OpenApiDocument } from './docs.ts'
import { exampleOf, type Samples } from './example.ts'
import { NamedSchemas } from './named-schemas.ts'
import { TAGS } from './tags.ts'

interface Content {
  [type: string]: { schema: Schema; example?: unknown }
}
interface Answer {
  description?: string
  content?: Content
  headers?: object
}
interface Operation {
  operationId: string
  description?: string
  tags: string[]
  parameters?: { name: string; in: string; description?: string; example?: unknown }[]
  requestBody?: { required?: boolean; content: Content }
  responses: Record<string, Answer>
  deprecated?: boolean
}

const EXAMPLE_BASE = 'https://tandem.example.com'
const EXAMPLE_REQUEST = `${PREFIXES.request}_01kah3v5t9z8x7w6v5t4s3r2q1`

/** The name and an example error of each failure status. */
const FAILURES: Readonly<Record<string, { name: string; code: ErrorCode; message: string; param?: string }>> = {
  400: { name: 'BadRequest', code: 'parameter_invalid', message: 'limit must be <= 100.', param: 'limit' },
  401: { name: 'Unauthorized', code: 'api_key_invalid', message: 'The key is not valid.' },
  403: { name: 'Forbidden', code: 'scope_missing', message: 'The key lacks the scope calls:write.' },
  404: { name: 'NotFound', code: 'resource_missing', message: 'No such call: call_1', param: 'id' },
  408: { name: 'RequestTimeout', code: 'request_timeout', message: 'The request was not complete in time.' },
  409: { name: 'Conflict', code: 'resource_conflict', message: 'The call is not running.' },
  416: { name: 'RangeNotSatisfiable', code: 'range_not_satisfiable', message: 'The file has 1000 bytes.' },
  429: { name: 'TooManyRequests', code: 'rate_limited', message: 'Too many requests.' },
  431: { name: 'HeadersTooLarge', code: 'headers_too_large', message: ERRORS.headers_too_large.help },
  500: { name: 'InternalError', code: 'internal_error', message: 'Something failed on our side.' },
  503: { name: 'Unavailable', code: 'media_unavailable', message: 'The media engine is being restarted.' },
}
const RETRIED = ['429', '503']

const HEADERS = {
  RequestId: {
    description: 'Identifies the request, also in our log.',
    schema: { type: 'string' },
    example: EXAMPLE_REQUEST,
  },
  ServiceVersion: {
    description: 'The API version that rendered the answer.',
    schema: { type: 'string', format: 'date' },
  },
  RetryAfter: { description: 'When to try again [s].', schema: { type: 'integer', minimum: 1 } },
}
const ON_EVERY_ANSWER = {
  'Request-Id': { $ref: '#/components/headers/RequestId' },
  'Service-Version': { $ref: '#/components/headers/ServiceVersion' },
}
const RETRY_AFTER = { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } }

/**
 * The published description: named objects (`#/components/schemas`), descriptions of groups, and an example of each request and
 * answer. `samples`: objects in this version's shape; `isDeprecated`: whether an operation is deprecated.
 */
export function publishedDocument(
  document: OpenApiDocument,
  { samples = new Map(), isDeprecated = () => false }: { samples?: Samples; isDeprecated?: (id: string) => boolean },
): OpenApiDocument {
  const published = structuredClone(document) as OpenApiDocument & { tags?: object[]; components?: object }
  const paths = Object.entries(published.paths) as unknown as [string, Record<string, Operation>][]
  const operations = paths.flatMap(([path, methods]) => Object.values(methods).map(operation => ({ path, operation })))
  const schemas = new NamedSchemas()
  const responses: Record<string, object> = {}
  for (const { path, operation } of operations) {
    if (isDeprecated(operation.operationId)) operation.deprecated = true
    for (const parameter of operation.parameters ?? []) describeId(parameter)
    showRequest(operation)
    for (const [status, answer] of Object.entries(operation.responses)) {
      const failure = FAILURES[status]
      if (failure === undefined) {
        showAnswer(answer, { status, path, samples, schemas })
      } else {
        responses[failure.name] ??= failureAnswer(status, failure, answer, schemas)
        operation.responses[status] = { $ref: `#/components/responses/${failure.name}` } as object
      }
    }
  }
  published.tags = [...new Set(operations.flatMap(({ operation }) => operation.tags))].map(name => ({
    name,
    description: TAGS[name],
  }))
  published.components = { ...published.components, schemas: schemas.all, responses, headers: HEADERS }
  return published
}

function describeId(parameter: NonNullable<Operation['parameters']>[number]): void {
  if (parameter.in === 'path') parameter.description ??= 'ID of the object.'
}

/** A body without required fields is optional, and an empty one is not shown. */
function showRequest(operation: Operation): void {
  const { requestBody } = operation
  if (requestBody === undefined) return
  const parts = Object.entries(requestBody.content)
  if (parts.every(([, { schema }]) => Object.keys(schema.properties ?? {}).length === 0)) {
    delete operation.requestBody
    return
  }
  requestBody.required = parts.some(([, { schema }]) => (schema.required ?? []).length > 0)
  // Rebuilt, because all content types of a body share one object.
  requestBody.content = Object.fromEntries(
    parts.map(([type, { schema }]) => [
      type,
      type === 'multipart/form-data' ? { schema: asForm(schema) } : { schema, example: exampleOf(schema, 'required') },
    ]),
  )
}

/** In a form, the file itself replaces the JSON object around its base64. */
const asForm = (schema: Schema): Schema => ({
  ...schema,
  properties: { ...schema.properties, file: { type: 'string', format: 'binary', description: 'The file.' } },
})

function showAnswer(
  answer: Answer,
  { status, path, samples, schemas }: { status: string; path: string; samples: Samples; schemas: NamedSchemas },
): void {
  const [first] = Object.values(answer.content ?? {})
  answer.description = status === '206' ? 'The part that `Range` asks for.' : describeAnswer(first?.schema)
  answer.headers = ON_EVERY_ANSWER
  for (const [type, part] of Object.entries(answer.content ?? {})) {
    if (type === 'application/json') part.example = answerExample(part.schema, path, samples)
    else if (type === 'text/event-stream') part.example = 'event: sim.started\ndata: {"resumed":false}\n\n'
    part.schema = schemas.named(part.schema)
  }
}

function answerExample(schema: Schema, path: string, samples: Samples): unknown {
  const example = exampleOf(schema, 'all', samples) as object
  return kindOf(schema) === 'list' ? { ...example, has_more: false, next_cursor: null, url: path } : example
}

function describeAnswer(schema: Schema | undefined): string {
  const kind = schema === undefined ? undefined : kindOf(schema)
  if (kind === undefined) return 'The file.'
  if (schema?.properties?.deleted !== undefined) return `The ${words(kind)} is deleted.`
  if (kind !== 'list') return `The ${words(kind)}.`
  const items = kindOf(schema?.properties?.data?.items ?? {})
  return items === undefined ? 'A list.' : `A list: each item is a ${words(items)}.`
}

function failureAnswer(
  status: string,
  { code, message, param }: { code: ErrorCode; message: string; param?: string },
  { content }: Answer,
  schemas: NamedSchemas,
): object {
  const schema = content?.['application/json']?.schema ?? {}
  const problem = { problem: code, message, ...(param === undefined ? {} : { param }) }
  return {
    description: ERRORS[code].help,
    headers: { ...ON_EVERY_ANSWER, ...(RETRIED.includes(status) ? RETRY_AFTER : {}) },
    content: {
      'application/json': {
        schema: schemas.add('Error', schema),
        example: envelope(problem, EXAMPLE_REQUEST, EXAMPLE_BASE),
      },
    },
  }
}
