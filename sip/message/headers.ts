import { endOfElement, endOfQuoted, paramValue, unquote, validParams } from './params.ts'
import { parseHostPort } from './uri.ts'

/** One value of Via (RFC 3261 §20.42). */
export interface Via {
  /** Upper case, as `UDP`. */
  transport: string
  host: string
  port: number | null
  params: string
  branch: string | null
  /** null: not asked for; empty: asked for (RFC 3581 §3). */
  rport: string | null
}

/** A value of From, To, Contact, Route, Record-Route (RFC 3261 §20.10). */
export interface NameAddr {
  displayName: string | null
  uri: string
  /** Header parameters, from the first `;` on. */
  params: string
  tag: string | null
}

export interface CSeq {
  number: number
  method: string
}

const VIA = /^SIP[ \t]*\/[ \t]*2\.0[ \t]*\/[ \t]*([A-Za-z0-9\-.!%*_+`'~]+)[ \t]+([^;]+)/i
const CSEQ = /^(\d{1,10})[ \t]+([A-Za-z0-9\-.!%*_+`'~]+)$/
/** CSeq numbers stay below 2^31 (RFC 3261 §8.1.1.5). */
const MAX_CSEQ = 2 ** 31 - 1

/** Parses one Via value, not a list. */
export function parseVia(value: string): Via | null {
  const match = VIA.exec(value)
  if (match === null) return null
  const sentBy = parseHostPort(match[2]!.trim())
  const params = value.slice(match[0].length)
  if ('error' in sentBy || !validParams(params)) return null
  return {
    transport: match[1]!.toUpperCase(),
    host: sentBy.host,
    port: sentBy.port,
    params,
    branch: paramValue(params, 'branch'),
    rport: paramValue(params, 'rport'),
  }
}

/** The first element of a header that may be a list. */
export function firstElement(value: string): string {
  const end = endOfElement(value, 0)
  return end === value.length ? value : value.slice(0, end).trim()
}

/** Parses one name-addr or addr-spec with its header parameters; null if it is invalid. */
export function parseNameAddr(value: string): NameAddr | null {
  const text = value.trim()
  let displayName: string | null = null
  let open = 0
  if (text[0] === '"') {
    const end = endOfQuoted(text, 0)
    if (end < 0) return null
    displayName = unquote(text.slice(0, end))
    open = end
    while (text[open] === ' ' || text[open] === '\t') open++
    if (text[open] !== '<') return null
  } else {
    open = text.indexOf('<')
    if (open < 0) return parseAddrSpec(text)
    const display = text.slice(0, open).trim()
    if (/[",>;]/.test(display)) return null
    if (display !== '') displayName = display
  }
  const close = text.indexOf('>', open)
  if (close < 0) return null
  return withTag(displayName, text.slice(open + 1, close), text.slice(close + 1).trim())
}

/** Without angle brackets every parameter belongs to the header (RFC 3261 §20.10). */
function parseAddrSpec(text: string): NameAddr | null {
  const semi = text.indexOf(';')
  const uri = semi < 0 ? text : text.slice(0, semi).trim()
  if (/[,?]/.test(uri)) return null
  return withTag(null, uri, semi < 0 ? '' : text.slice(semi))
}

function withTag(displayName: string | null, uri: string, params: string): NameAddr | null {
  if (!/^[A-Za-z][A-Za-z0-9+.-]*:[^\s<>"]+$/.test(uri)) return null
  if (params === '') return { displayName, uri, params, tag: null }
  if (!validParams(params)) return null
  const tag = paramValue(params, 'tag')
  return { displayName, uri, params, tag: tag === '' ? null : tag }
}

/** Parses CSeq; null if it is malformed or its number is not below 2^31. */
export function parseCSeq(value: string): CSeq | null {
  const match = CSEQ.exec(value)
  if (match === null) return null
  const number = Number(match[1])
  return number > MAX_CSEQ ? null : { number, method: match[2]! }
}

/** A decimal header such as Content-Length or Max-Forwards at its start; null if it is invalid or over `max`. */
export function parseCount(value: string, max: number): number | null {
  if (!/^\d{1,10}$/.test(value)) return null
  const number = Number(value)
  return number > max ? null : number
}

/** Delta-seconds before any comment or parameter, as in Retry-After and Session-Expires. */
export function parseDeltaSeconds(value: string): number | null {
  const match = /^\d{1,10}(?=$|[\s;(])/.exec(value.trim())
  return match === null ? null : Math.min(Number(match[0]), 2 ** 32 - 1)
}

/** The media type in lower case without its parameters. */
export function mediaType(value: string): string {
  const semi = value.indexOf(';')
  return (semi < 0 ? value : value.slice(0, semi)).replace(/\s+/g, '').toLowerCase()
}
