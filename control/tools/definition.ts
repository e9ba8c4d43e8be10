import { BUILT_IN } from '../flows/engine/template.ts'
import { invalid, needed, type Problem } from '../http/errors.ts'
import { pathFault } from './answer-path.ts'
import { BUILT_IN_TOOLS, type ToolKind } from './built-in.ts'
import { climbs, RESERVED_HEADERS, unfitHeader } from './http-request.ts'
import { schemaFault } from './input.ts'
import type { Definition, HttpSettings, SentParts } from './schema.ts'
import { placesIn, textsIn } from './template.ts'

/** Limit for parameters and body, each as JSON [characters]. */
const MAX_JSON = 20_000

type Part = 'http' | 'target' | 'payment' | 'knowledge'
const PARTS: readonly Part[] = ['http', 'target', 'payment', 'knowledge']

/** The part of a definition that a tool of this kind has, besides its description. */
const PART_OF: Partial<Record<ToolKind, Part>> = {
  http: 'http',
  transfer: 'target',
  take_payment: 'payment',
  search_knowledge: 'knowledge',
}

const HTTP_DEFAULTS: Omit<HttpSettings, 'url'> = {
  method: 'POST',
  headers: {},
  body: null,
  body_format: 'json',
  timeout_ms: 10_000,
  retries: 0,
  response: {},
}

const unfit = (param: string, fault: string): Problem => invalid(param, `${param} ${fault}.`)

/** The definition with the sent fields, or what is wrong with it. Maps and lists are replaced, not merged. */
export function definitionOf(kind: ToolKind, stored: Definition | null, sent: SentParts): Definition | Problem {
  const foreign = PARTS.find(part => sent[part] !== undefined && PART_OF[kind] !== part)
  if (foreign !== undefined) return unfit(foreign, `is not of a tool of kind ${kind}`)
  const built = kind === 'http' ? null : BUILT_IN_TOOLS[kind]
  if (built !== null && sent.parameters !== undefined) return unfit('parameters', 'of what is built in are given')
  const whole: Definition = {
    description: sent.description ?? stored?.description ?? built?.description ?? '',
    parameters: built?.parameters ?? sent.parameters ?? stored?.parameters ?? {},
    http: null,
    target: kind === 'transfer' ? (sent.target ?? stored?.target ?? null) : null,
    payment: kind === 'take_payment' ? { currency: 'EUR', number: null, ...stored?.payment, ...sent.payment } : null,
    knowledge: kind === 'search_knowledge' ? { document_ids: [], ...stored?.knowledge, ...sent.knowledge } : null,
  }
  if (kind === 'transfer' && whole.target === null) return lacking('target')
  if (kind !== 'http') return whole
  const url = sent.http?.url ?? stored?.http?.url
  if (url === undefined) return lacking(sent.http === undefined ? 'http' : 'http.url')
  const http = { ...HTTP_DEFAULTS, ...stored?.http, ...sent.http, url }
  return parametersProblem(whole) ?? httpProblem(http, whole.parameters) ?? { ...whole, http }
}

const lacking = (param: string): Problem => needed(param, `${param} is missing.`)

function parametersProblem({ parameters }: Definition): Problem | null {
  if (JSON.stringify(parameters).length > MAX_JSON) return unfit('parameters', `has more than ${MAX_JSON} characters`)
  const fault = schemaFault(parameters)
  if (fault !== null) return unfit('parameters', fault)
  const taken = BUILT_IN.find(name => namesOf(parameters).includes(name))
  return taken === undefined ? null : unfit('parameters', `must not have ${taken}: every call has it`)
}

const namesOf = ({ properties }: Record<string, unknown>): string[] =>
  typeof properties === 'object' && properties !== null ? Object.keys(properties) : []

function httpProblem(http: HttpSettings, parameters: Record<string, unknown>): Problem | null {
  const { method, url, headers, body, response } = http
  if (body !== null && (method === 'GET' || method === 'DELETE')) return unfit('http.body', `is not sent by ${method}`)
  if (JSON.stringify(body).length > MAX_JSON) return unfit('http.body', `has more than ${MAX_JSON} characters`)
  if (placesIn(url).some(({ isSecret }) => isSecret)) {
    return unfit('http.url', 'must not name a secret: URLs are logged on their way; use a header')
  }
  if (climbs(url) || !URL.canParse(url)) return unfit('http.url', 'must be a URL without dot segments')
  const reserved = Object.keys(headers).find(name => RESERVED_HEADERS.includes(name.toLowerCase()))
  if (reserved !== undefined) return unfit('http.headers', `must not set ${reserved}`)
  const odd = unfitHeader(headers)
  if (odd !== undefined) return unfit('http.headers', `must have characters of Latin-1 on one line, unlike ${odd}`)
  const known: readonly string[] = [...BUILT_IN, ...namesOf(parameters)]
  for (const [param, texts] of [
    ['http.url', [url]],
    ['http.headers', textsIn(headers)],
    ['http.body', textsIn(body)],
  ] as const) {
    const unknown = texts.flatMap(placesIn).find(({ name, isSecret }) => !isSecret && !known.includes(name))
    if (unknown !== undefined) return unfit(param, `names ${unknown.name}, which is no parameter`)
  }
  for (const [name, path] of Object.entries(response)) {
    const fault = pathFault(path)
    if (fault !== null) return unfit(`http.response.${name}`, `is no path: ${fault}`)
  }
  return null
}
