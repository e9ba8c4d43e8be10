import { paramValue } from './params.ts'

/** `sip:` and `sips:` URIs (RFC 3261 §19.1). Parts are kept as written, still escaped. */
export interface SipUri {
  scheme: 'sip' | 'sips'
  user: string | null
  /** Without the brackets of an IPv6 literal. */
  host: string
  port: number | null
  /** Everything from the first `;` on, or empty. */
  params: string
  /** The part after `?`, or null. */
  headers: string | null
}

/** `tel:` URIs (RFC 3966). */
interface TelUri {
  scheme: 'tel'
  number: string
  params: string
}

/** A URI of an unsupported scheme: unknown syntax, answered 416 if it is the target. */
interface OtherUri {
  scheme: 'other'
  text: string
}

export type Uri = SipUri | TelUri | OtherUri
type UriError = { error: 'bad_uri' }

const BAD: UriError = { error: 'bad_uri' }
const SCHEME = /^([A-Za-z][A-Za-z0-9+.-]*):/
const HOST = /^[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_.])?$/
const IPV6 = /^[0-9A-Fa-f:.]+$/
/** Space, controls, DEL and characters that would end the URI in a header. */
const FORBIDDEN = /[^!-~\u0080-\uffff]|[<>"]/
const BAD_ESCAPE = /%(?![0-9A-Fa-f]{2})/

/** Without its headers, which only address a request to come and are no part of a Request-URI or To (RFC 3261 §19.1.1). */
export function withoutHeaders(text: string): string {
  const uri = parseUri(text)
  const headers = 'headers' in uri ? uri.headers : null
  return headers === null ? text : text.slice(0, text.length - headers.length - 1)
}

/** Parses a URI of any scheme. Never throws. */
export function parseUri(text: string): Uri | UriError {
  const scheme = SCHEME.exec(text)?.[1]?.toLowerCase()
  if (scheme === undefined || FORBIDDEN.test(text)) return BAD
  if (scheme === 'sip' || scheme === 'sips') return parseSip(scheme, text.slice(scheme.length + 1))
  if (scheme === 'tel') {
    const rest = text.slice(4)
    const semi = rest.indexOf(';')
    const number = semi < 0 ? rest : rest.slice(0, semi)
    return number === '' ? BAD : { scheme, number, params: semi < 0 ? '' : rest.slice(semi) }
  }
  return { scheme: 'other', text }
}

function parseSip(scheme: 'sip' | 'sips', text: string): SipUri | UriError {
  if (BAD_ESCAPE.test(text)) return BAD
  // The user part may contain `;` and `?`, so the `@` is searched for first (RFC 4475 §3.1.1.9, semiuri).
  const at = text.indexOf('@')
  let user: string | null = null
  if (at >= 0) {
    const colon = text.slice(0, at).indexOf(':')
    user = text.slice(0, colon < 0 ? at : colon)
    if (user === '') return BAD
  }
  const rest = text.slice(at + 1)
  const question = rest.indexOf('?')
  const beforeHeaders = question < 0 ? rest : rest.slice(0, question)
  const semi = beforeHeaders.indexOf(';')
  const authority = parseHostPort(semi < 0 ? beforeHeaders : beforeHeaders.slice(0, semi))
  if ('error' in authority) return BAD
  return {
    scheme,
    user,
    host: authority.host,
    port: authority.port,
    params: semi < 0 ? '' : beforeHeaders.slice(semi),
    headers: question < 0 ? null : rest.slice(question + 1),
  }
}

/** `host`, `host:port` or `[IPv6]:port`; a space is allowed around the colon because Via allows it. */
export function parseHostPort(text: string): { host: string; port: number | null } | UriError {
  let host: string
  let rest: string
  if (text.startsWith('[')) {
    const close = text.indexOf(']')
    host = text.slice(1, close < 0 ? 1 : close)
    rest = text.slice(close + 1)
    if (close < 0 || host.length > 45 || !IPV6.test(host)) return BAD
  } else {
    const colon = text.indexOf(':')
    host = (colon < 0 ? text : text.slice(0, colon)).trim()
    rest = colon < 0 ? '' : text.slice(colon)
    if (host.length > 255 || !HOST.test(host)) return BAD
  }
  rest = rest.trim()
  if (rest === '') return { host, port: null }
  const digits = rest.slice(1).trim()
  if (rest[0] !== ':' || !/^\d{1,5}$/.test(digits)) return BAD
  const port = Number(digits)
  return port > 0 && port <= 65535 ? { host, port } : BAD
}

/** A host in the form for a URI or Via: IPv6 literals in brackets. */
export const bracketed = (host: string): string => (host.includes(':') && host[0] !== '[' ? `[${host}]` : host)

/** The value of a URI parameter: null if absent, empty for a flag such as `lr`. */
export const uriParam = (uri: Uri, name: string): string | null =>
  uri.scheme === 'other' ? null : paramValue(uri.params, name)

/** Decodes `%XX`; text that is not UTF-8 afterwards is returned as written. */
export function unescapeUser(user: string): string {
  try {
    return decodeURIComponent(user)
  } catch {
    return user
  }
}

/** The user part of a `sip:` URI or the number of a `tel:` URI, unescaped; null if there is none. */
export function userOf(uri: Uri): string | null {
  if (uri.scheme === 'other') return null
  if (uri.scheme === 'tel') return uri.number
  return uri.user === null ? null : unescapeUser(uri.user)
}
