import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ask } from './client.ts'
import { type Account, cacheFolder } from './profiles.ts'
import { type Failed, failed, isFailed, type Terminal } from './terminal.ts'

/** An operation of the API, as words: `tandem calls hangup ID`. */
export interface Operation {
  words: string[]
  method: string
  /** Path with parameters in braces. */
  path: string
  summary: string
  /** Parameters of its query. */
  query: Field[]
  /** Fields of its body. */
  body: Field[]
  /** Name of the field that may be a file; null: none. */
  file: string | null
}

/** A parameter of an operation. */
export interface Field {
  name: string
  isRequired: boolean
  /** Its type, if it is a simple one. */
  type: string | null
  /** Type of the items, if it is an array of a simple type. */
  itemType: string | null
  /** Its type for people to read, or the allowed values. */
  values: string
  /** Its description. */
  meaning: string
}

/** All operations as `/openapi.json` describes them; none is listed here. */
export interface Api {
  operations: Operation[]
  eventTypes: string[]
}

interface Schema {
  type?: string
  enum?: string[]
  const?: unknown
  format?: string
  default?: unknown
  description?: string
  items?: Schema
  anyOf?: Schema[]
  required?: string[]
  properties?: Record<string, Schema>
  $ref?: string
}
interface Described {
  operationId: string
  summary?: string
  parameters?: { name: string; in: string; required?: boolean; description?: string; schema?: Schema }[]
  requestBody?: { content?: Record<string, { schema?: Schema }> }
}
interface Document {
  paths: Record<string, Record<string, Described>>
  components?: { schemas?: Record<string, Schema> }
}

const PARAMETER = /^\{.*\}$/
const OF_ONE: Readonly<Record<string, string>> = {
  get: 'get',
  patch: 'update',
  put: 'set',
  post: 'set',
  delete: 'delete',
}

/** The operations in an OpenAPI document, in its order. */
export function readApi(document: Document): Api {
  const schemaOf = (schema: Schema | undefined): Schema =>
    schema?.$ref === undefined ? (schema ?? {}) : (document.components?.schemas?.[schema.$ref.split('/').at(-1)!] ?? {})
  const contentOf = ({ requestBody }: Described, type: string): Schema => schemaOf(requestBody?.content?.[type]?.schema)
  const bodyOf = (described: Described): Schema => contentOf(described, 'application/json')
  const all = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => ({ path, method, described, methods })),
  )
  const operations = all.map(({ path, method, described, methods }) => ({
    words: wordsOf(path, method, described.operationId, 'get' in methods),
    method: method.toUpperCase(),
    path,
    summary: described.summary ?? '',
    query: (described.parameters ?? []).flatMap(({ name, in: place, required = false, description, schema }) =>
      place === 'query' ? [fieldOf(name, required, { ...schemaOf(schema), ...(description && { description }) })] : [],
    ),
    body: Object.entries(bodyOf(described).properties ?? {}).map(([name, schema]) =>
      fieldOf(name, bodyOf(described).required?.includes(name) === true, schemaOf(schema)),
    ),
    file: fileOf(contentOf(described, 'multipart/form-data')),
  }))
  const testEvent = all.find(({ described }) => described.operationId === 'createTestEvent')
  const types = testEvent && bodyOf(testEvent.described).properties?.type
  return { operations, eventTypes: schemaOf(types).enum ?? [] }
}

const fileOf = ({ properties = {} }: Schema): string | null =>
  Object.keys(properties).find(name => properties[name]?.format === 'binary') ?? null

function fieldOf(name: string, isRequired: boolean, schema: Schema): Field {
  const { type = null, items, default: usual, description = '' } = schema
  const usually = usual === undefined ? '' : `Default: ${JSON.stringify(usual)}.`
  const meaning = [description || (schema.anyOf?.find(one => one.description)?.description ?? ''), usually]
  return {
    ...{ name, isRequired, type, itemType: items?.type ?? null },
    ...{ values: valuesOf(schema), meaning: meaning.filter(text => text !== '').join(' ') },
  }
}

/** `string`, `voice|ivr`, `integer or null`, `string[]`. */
function valuesOf({ type, enum: words, const: only, items, anyOf }: Schema): string {
  if (anyOf !== undefined) return [...new Set(anyOf.map(valuesOf))].filter(text => text !== '').join(' or ')
  if (words !== undefined) return words.join('|')
  if (only !== undefined) return String(only)
  return type === 'array' && items?.type !== undefined ? `${items.type}[]` : (type ?? '')
}

/** The words of a command: those of the path, and the verb if they do not contain it. */
function wordsOf(path: string, method: string, id: string, canBeRead: boolean): string[] {
  const parts = path.split('/').slice(2)
  const nouns = parts.filter(part => !PARAMETER.test(part))
  if (PARAMETER.test(parts.at(-1) ?? '')) return [...nouns, OF_ONE[method] ?? method]
  if (method === 'get') {
    const verb = /^(list|get)[A-Z]/.exec(id)?.[1]
    return verb === undefined ? nouns : [...nouns, verb]
  }
  if (method === 'post') return canBeRead || nouns.length === 1 ? [...nouns, 'create'] : nouns
  return [...nouns, OF_ONE[method] ?? method]
}

export const parametersOf = ({ path }: Operation): string[] =>
  path.split('/').flatMap(part => (PARAMETER.test(part) ? [part.slice(1, -1)] : []))

/** Names of all its parameters outside the path. */
export const flagsOf = ({ query, body }: Operation): string[] => [...query, ...body].map(({ name }) => name)

/** The operation that matches most of the words, and the remaining words. */
export function findOperation(
  { operations }: Api,
  words: readonly string[],
): { operation: Operation; rest: string[] } | null {
  // A user may type `do-not-call` for `do_not_call`.
  const said = words.map(word => word.replaceAll('-', '_'))
  const fitting = operations.filter(one => one.words.every((word, i) => word === said[i]))
  const operation = fitting.toSorted((a, b) => b.words.length - a.words.length)[0]
  return operation === undefined ? null : { operation, rest: words.slice(operation.words.length) }
}

/** How long a cached description is used [ms]. */
const FRESH_MS = 60 * 60 * 1000
/** Version of the cache's format, since another version of `tandem` may have written it. */
const VERSION_OF_FORM = 2

/** The operations of this account's API. Cached for an hour, because completion needs them at each key. `isNew`: fetch them again. */
export async function loadApi({ env, signal }: Terminal, account: Account, isNew = false): Promise<Api | Failed> {
  const folder = cacheFolder(env)
  const file = join(
    folder,
    `api-${VERSION_OF_FORM}-${createHash('sha256').update(account.url).digest('hex').slice(0, 16)}.json`,
  )
  if (!isNew) {
    try {
      if (Date.now() - statSync(file).mtimeMs < FRESH_MS) return JSON.parse(readFileSync(file, 'utf8')) as Api
    } catch {
      // The cache cannot be used, so it is fetched again.
    }
  }
  const answer = await ask(account, { method: 'GET', path: '/openapi.json' }, signal)
  if (isFailed(answer)) return answer
  try {
    const api = readApi(JSON.parse(answer.bytes.toString()))
    keep(folder, file, api)
    return api
  } catch {
    return failed(`${account.url} does not describe Tandem's API: is it the right address?`)
  }
}

function keep(folder: string, file: string, api: Api): void {
  try {
    mkdirSync(folder, { recursive: true })
    writeFileSync(file, JSON.stringify(api))
  } catch {
    // Without a cache it is fetched each time.
  }
}
