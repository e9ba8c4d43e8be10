import type { PostRequest } from '../webhooks/http-post.ts'
import type { HttpSettings } from './schema.ts'
import { filledDeep, filledText, placesIn, textsIn, type Values } from './template.ts'

const WITHOUT_BODY = ['GET', 'DELETE']
const DOTS = /^(\.|%2e){1,2}$/i
/** A header has characters of Latin-1 only, on one line. */
const UNFIT = /[\p{Cc}\u{100}-\u{10ffff}]/u
const TYPES = { json: 'application/json', form: 'application/x-www-form-urlencoded' }

/** Whether a path contains `..`: a value must not lead to another place on the server. */
export const climbs = (url: string): boolean => {
  const [path = ''] = url.replace(/^https?:\/\/[^/?#]+/, '').split(/[?#]/)
  return path.split(/[/\\]/).some(segment => DOTS.test(segment))
}

/** Headers that only we set. */
export const RESERVED_HEADERS = [
  'connection',
  'content-length',
  'expect',
  'host',
  'idempotency-key',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]

/** The name of a header whose value cannot be sent. */
export const unfitHeader = (headers: Readonly<Record<string, string>>): string | undefined =>
  Object.entries(headers).find(([, value]) => UNFIT.test(value))?.[0]

/** The request of a tool, or why these values give none. */
export function requestOf(http: HttpSettings, values: Values): PostRequest | string {
  const url = filledText(http.url, values, encodeURIComponent)
  if (climbs(url) || !URL.canParse(url)) return 'a parameter does not fit into the URL'
  const headers = Object.fromEntries(
    Object.entries(http.headers).map(([name, value]) => [name.toLowerCase(), filledText(value, values)]),
  )
  const odd = unfitHeader(headers)
  if (odd !== undefined) return `a parameter does not fit into the header ${odd}`
  const sent = http.body === null ? unnamed(http, values) : (filledDeep(http.body, values) as Record<string, unknown>)
  if (WITHOUT_BODY.includes(http.method)) {
    return { method: http.method, url: http.body === null ? withQuery(url, sent) : url, headers }
  }
  return {
    method: http.method,
    url,
    headers: { 'content-type': TYPES[http.body_format], ...headers },
    body: http.body_format === 'form' ? formOf(sent) : JSON.stringify(sent),
  }
}

/** The model's arguments that the URL and headers do not use, without the call's own variables. */
function unnamed(http: HttpSettings, { said }: Values): Record<string, unknown> {
  const named = new Set([http.url, ...textsIn(http.headers)].flatMap(placesIn).map(({ name }) => name))
  return Object.fromEntries(Object.entries(said).filter(([name]) => !named.has(name)))
}

function withQuery(url: string, sent: Record<string, unknown>): string {
  const whole = new URL(url)
  for (const [name, value] of pairsOf(sent)) whole.searchParams.append(name, value)
  return whole.href
}

const formOf = (sent: Record<string, unknown>): string => new URLSearchParams(pairsOf(sent)).toString()

const pairsOf = (sent: Record<string, unknown>): [string, string][] =>
  Object.entries(sent).flatMap(([name, value]) =>
    value === undefined || value === null
      ? []
      : [[name, typeof value === 'object' ? JSON.stringify(value) : String(value)] as [string, string]],
  )
