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
  /** With its parameters in braces. */
  path: string
  summary: string
  /** What its query takes. */
  query: string[]
  /** What its body takes: its properties, and the types of those whose type is plain. */
  body: Record<string, string | null>
}

/** What `/openapi.json` says of them all; nothing of it is written down here. */
export interface Api {
  operations: Operation[]
  eventTypes: string[]
}

interface Schema {
  type?: string
  enum?: string[]
  properties?: Record<string, Schema>
  $ref?: string
}
interface Described {
  operationId: string
  summary?: string
  parameters?: { name: string; in: string }[]
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

/** The operations of a description, in its order. */
export function readApi(document: Document): Api {
  const schemaOf = (schema: Schema | undefined): Schema =>
    schema?.$ref === undefined ? (schema ?? {}) : (document.components?.schemas?.[schema.$ref.split('/').at(-1)!] ?? {})
  const bodyOf = ({ requestBody }: Described): Schema => schemaOf(requestBody?.content?.['application/json']?.schema)
  const all = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => ({ path, method, described, methods })),
  )
  const operations = all.map(({ path, method, described, methods }) => ({
    words: wordsOf(path, method, described.operationId, 'get' in methods),
    method: method.toUpperCase(),
    path,
    summary: described.summary ?? '',
    query: (described.parameters ?? []).flatMap(one => (one.in === 'query' ? [one.name] : [])),
    body: Object.fromEntries(
      Object.entries(bodyOf(described).properties ?? {}).map(([name, schema]) => [name, schemaOf(schema).type ?? null]),
    ),
  }))
  const testEvent = all.find(({ described }) => described.operationId === 'createTestEvent')
  const types = testEvent && bodyOf(testEvent.described).properties?.type
  return { operations, eventTypes: schemaOf(types).enum ?? [] }
}

/** The words of its path, and what is done where they do not say so. */
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

/** The operation with the most of these words, and the words behind them. */
export function findOperation(
  { operations }: Api,
  words: readonly string[],
): { operation: Operation; rest: string[] } | null {
  const fitting = operations.filter(one => one.words.every((word, i) => word === words[i]))
  const operation = fitting.toSorted((a, b) => b.words.length - a.words.length)[0]
  return operation === undefined ? null : { operation, rest: words.slice(operation.words.length) }
}

/** What was read last is good for so long [ms]. */
const FRESH_MS = 60 * 60 * 1000

/** What this account's API can do; kept for an hour, for completion asks at each key. `isNew`: it is asked for again. */
export async function loadApi({ env, signal }: Terminal, account: Account, isNew = false): Promise<Api | Failed> {
  const folder = cacheFolder(env)
  const file = join(folder, `api-${createHash('sha256').update(account.url).digest('hex').slice(0, 16)}.json`)
  if (!isNew) {
    try {
      if (Date.now() - statSync(file).mtimeMs < FRESH_MS) return JSON.parse(readFileSync(file, 'utf8')) as Api
    } catch {
      // It is read anew.
    }
  }
  const answer = await ask(account, { method: 'GET', path: '/openapi.json' }, signal)
  if (isFailed(answer)) return answer
  try {
    const api = readApi(JSON.parse(answer.bytes.toString()))
    keep(folder, file, api)
    return api
  } catch {
    return failed(`${account.url} has no description of Tandem's API: is it the right address?`)
  }
}

function keep(folder: string, file: string, api: Api): void {
  try {
    mkdirSync(folder, { recursive: true })
    writeFileSync(file, JSON.stringify(api))
  } catch {
    // Then it is read each time.
  }
}
