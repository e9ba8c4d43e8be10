import { readFileSync } from 'node:fs'
import { ask } from './client.ts'
import { takeFlag, type Words } from './flags.ts'
import { type Api, findOperation, loadApi, type Operation, parametersOf } from './operations.ts'
import { show } from './output.ts'
import type { Account } from './profiles.ts'
import { type Failed, failed, isFailed, refuse, type Terminal } from './terminal.ts'

export const METHODS = ['get', 'post', 'patch', 'put', 'delete']

/** `tandem get /queues/q_…`: any path of the API; the exit code. */
export async function runMethod(terminal: Terminal, account: Account, method: string, words: Words): Promise<number> {
  const [path, ...more] = words.words
  if (path === undefined || !path.startsWith('/') || more.length > 0) {
    return refuse(terminal, failed(`Say: tandem ${method} /PATH [--name VALUE …] [-d JSON|@FILE].`))
  }
  const below = /^\/v1(\/|$)/.test(path) ? path : `/v1${path}`
  return send(terminal, account, { method: method.toUpperCase(), path: below, query: [], body: {} }, words)
}

/** `tandem calls list`: what the API's own description has; the exit code. */
export async function runOperation(terminal: Terminal, account: Account, words: Words): Promise<number> {
  const wantsHelp = takeFlag(words, 'help') !== undefined
  const found = await find(terminal, account, words.words)
  if (isFailed(found)) return refuse(terminal, found)
  const { operation, rest } = found
  const parameters = parametersOf(operation)
  if (wantsHelp) return help(terminal, operation)
  if (rest.length !== parameters.length) return refuse(terminal, failed(`Say: ${usageOf(operation)}.`))
  const path = parameters.reduce(
    (filled, name, i) => filled.replace(`{${name}}`, encodeURIComponent(rest[i]!)),
    operation.path,
  )
  return send(terminal, account, { ...operation, path }, words)
}

async function find(terminal: Terminal, account: Account, words: readonly string[]) {
  for (const isNew of [false, true]) {
    const api = await loadApi(terminal, account, isNew)
    if (isFailed(api)) return api
    const found = findOperation(api, words)
    if (found !== null) return found
    if (isNew) return unknown(api, words)
  }
  throw new Error('the second round ends it')
}

/** What could have been meant, by the words that are right. */
function unknown({ operations }: Api, words: readonly string[]): Failed {
  const near = operations.filter(one => one.words[0] === words[0]).map(one => one.words.slice(1).join(' '))
  const known = near.length === 0 ? '' : ` Of ${words[0]} there is: ${near.join(', ')}.`
  return failed(`There is no command "${words.join(' ')}".${known || ' See tandem --help.'}`)
}

const usageOf = (operation: Operation): string =>
  ['tandem', ...operation.words, ...parametersOf(operation).map(name => name.toUpperCase())].join(' ')

function help(terminal: Terminal, operation: Operation): number {
  const names = [...operation.query, ...Object.keys(operation.body)].map(name => `  --${name}\n`).join('')
  terminal.out(`${operation.summary}\n\n  ${usageOf(operation)}\n${names}`)
  return 0
}

type Sent = Pick<Operation, 'method' | 'path' | 'query' | 'body'>

async function send(terminal: Terminal, account: Account, operation: Sent, words: Words): Promise<number> {
  const asJson = takeFlag(words, 'json') !== undefined
  const request = requestOf(operation, words)
  if (isFailed(request)) return refuse(terminal, request)
  const answer = await ask(account, request, terminal.signal)
  if (isFailed(answer)) return refuse(terminal, answer)
  show(terminal, answer, asJson)
  return 0
}

/** Flags become the query or the body. What they may be is for the API to say: it refuses what it does not know. */
function requestOf({ method, path, query, body: properties }: Sent, words: Words) {
  const data = takeFlag(words, 'data')
  const body = data == null ? {} : readData(data)
  if (isFailed(body)) return body
  const search = new URLSearchParams()
  for (const [name, value] of words.flags) {
    const isQuery = method === 'GET' || query.includes(name)
    if (isQuery) search.append(name, value ?? 'true')
    else put(body, name.split('.'), jsonOrText(value, properties[name]))
  }
  const parts = search.size === 0 ? '' : `${path.includes('?') ? '&' : '?'}${search}`
  const hasBody = method !== 'GET' && (data != null || Object.keys(body).length > 0)
  return { method, path: path + parts, ...(hasBody ? { body: JSON.stringify(body) } : {}) }
}

/** A word stays one where a text is wanted; else it is what it says in JSON, where it says something. */
function jsonOrText(text: string | null, type: string | null | undefined): unknown {
  if (text === null) return true
  if (type === 'string') return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** `--metadata.team blue` is a field of an object. */
function put(body: Record<string, unknown>, [name = '', ...rest]: string[], value: unknown): void {
  if (rest.length === 0) {
    body[name] = value
    return
  }
  const inner = body[name]
  const object = typeof inner === 'object' && inner !== null ? inner : {}
  body[name] = object
  put(object as Record<string, unknown>, rest, value)
}

function readData(text: string): Record<string, unknown> | Failed {
  try {
    const value = JSON.parse(text.startsWith('@') ? readFileSync(text.slice(1), 'utf8') : text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? value
      : failed('-d is no JSON object.')
  } catch (error) {
    return failed(`-d: ${(error as Error).message}`)
  }
}
