import { readFileSync } from 'node:fs'
import { ask } from './client.ts'
import { takeFlag, type Words } from './flags.ts'
import { commandsHelp, operationHelp, usageOf } from './operation-help.ts'
import { type Field, findOperation, loadApi, type Operation, parametersOf } from './operations.ts'
import { show } from './output.ts'
import type { Account } from './profiles.ts'
import { type Failed, failed, isFailed, print, refuse, type Terminal } from './terminal.ts'
import { uploadOf } from './upload.ts'

export const METHODS = ['get', 'post', 'patch', 'put', 'delete']

/** `tandem get /queues/q_…`: requests any path of the API. Returns the exit code. */
export async function runMethod(terminal: Terminal, account: Account, method: string, words: Words): Promise<number> {
  const [path, ...more] = words.words
  if (path === undefined || !path.startsWith('/') || more.length > 0) {
    return refuse(terminal, failed(`Usage: tandem ${method} /PATH [--name VALUE …] [-d JSON|@FILE].`))
  }
  const below = /^\/v1(\/|$)/.test(path) ? path : `/v1${path}`
  return send(terminal, account, { method: method.toUpperCase(), path: below, query: [], body: [], file: null }, words)
}

/** `tandem calls list`: runs an operation from the API's own description. Returns the exit code. */
export async function runOperation(terminal: Terminal, account: Account, words: Words): Promise<number> {
  const wantsHelp = takeFlag(words, 'help') !== undefined
  const found = await find(terminal, account, words.words)
  if (isFailed(found)) return refuse(terminal, found)
  if (wantsHelp) return print(terminal, 'below' in found ? commandsHelp(found.below) : operationHelp(found.operation))
  if ('below' in found) return refuse(terminal, unknown(found.below, words.words))
  const { operation, rest } = found
  const parameters = parametersOf(operation)
  if (rest.length !== parameters.length) return refuse(terminal, failed(`Usage: ${usageOf(operation)}.`))
  const path = parameters.reduce(
    (filled, name, i) => filled.replace(`{${name}}`, encodeURIComponent(rest[i]!)),
    operation.path,
  )
  return send(terminal, account, { ...operation, path }, words)
}

/** The operation with these words, or those that begin with them. */
async function find(terminal: Terminal, account: Account, words: readonly string[]) {
  for (const isNew of [false, true]) {
    const api = await loadApi(terminal, account, isNew)
    if (isFailed(api)) return api
    const found = findOperation(api, words)
    if (found !== null) return found
    const below = api.operations.filter(one => one.words[0] === words[0])
    if (isNew) return below.length > 0 ? { below } : unknown(below, words)
  }
  throw new Error('the second round ends it')
}

/** The error for an unknown command, with suggestions if its first word is right. */
function unknown(below: readonly Operation[], words: readonly string[]): Failed {
  const near = below.map(one => one.words.slice(1).join(' '))
  const known = near.length === 0 ? '' : ` Of ${words[0]} there is: ${near.join(', ')}.`
  return failed(`There is no command "${words.join(' ')}".${known || ' See tandem --help.'}`)
}

type Sent = Pick<Operation, 'method' | 'path' | 'query' | 'body' | 'file'>

async function send(terminal: Terminal, account: Account, operation: Sent, words: Words): Promise<number> {
  const asJson = takeFlag(words, 'json') !== undefined
  const request = requestOf(operation, words)
  if (isFailed(request)) return refuse(terminal, request)
  const answer = await ask(account, request, terminal.signal)
  if (isFailed(answer)) return refuse(terminal, answer)
  show(terminal, answer, asJson, request.path)
  return 0
}

/** Flags become the query or the body. The API validates them and refuses unknown ones. */
function requestOf({ method, path, query, body: fields, file }: Sent, words: Words) {
  const data = takeFlag(words, 'data')
  const upload = file === null ? undefined : takeFlag(words, file)
  const body = data == null ? {} : readData(data)
  if (isFailed(body)) return body
  const search = new URLSearchParams()
  for (const [name, value] of words.flags) {
    const isQuery = method === 'GET' || query.some(one => one.name === name)
    if (isQuery) search.append(name, value ?? 'true')
    else put(body, name.split('.'), { text: value, field: fields.find(one => one.name === name) })
  }
  const parts = search.size === 0 ? '' : `${path.includes('?') ? '&' : '?'}${search}`
  const to = { method, path: path + parts }
  if (upload != null) {
    const sent = uploadOf(body, { name: file ?? '', path: upload.replace(/^@/, '') })
    return isFailed(sent) ? sent : { ...to, ...sent }
  }
  const hasBody = method !== 'GET' && (data != null || Object.keys(body).length > 0)
  return { ...to, ...(hasBody ? { body: JSON.stringify(body) } : {}) }
}

/** A value stays text if the field is text; otherwise it is parsed as JSON if possible. */
function jsonOrText(text: string | null, type: string | null | undefined): unknown {
  if (text === null) return true
  if (type === 'string') return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

interface Value {
  text: string | null
  field: Field | undefined
}

/** Puts a value into the body. `--metadata.team blue` sets a field of an object. A field that is an array gets one item from each flag. */
function put(body: Record<string, unknown>, [name = '', ...rest]: string[], { text, field }: Value): void {
  if (rest.length > 0) {
    const inner = body[name]
    const object = typeof inner === 'object' && inner !== null ? inner : {}
    body[name] = object
    put(object as Record<string, unknown>, rest, { text, field: undefined })
    return
  }
  const value = jsonOrText(text, field?.type)
  if (field?.type !== 'array' || Array.isArray(value)) {
    body[name] = value
    return
  }
  const before = body[name]
  body[name] = [...(Array.isArray(before) ? before : []), jsonOrText(text, field.itemType)]
}

function readData(text: string): Record<string, unknown> | Failed {
  try {
    const value = JSON.parse(text.startsWith('@') ? readFileSync(text.slice(1), 'utf8') : text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? value
      : failed('-d is not a JSON object.')
  } catch (error) {
    return failed(`-d: ${(error as Error).message}`)
  }
}
