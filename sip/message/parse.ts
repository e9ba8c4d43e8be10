import { firstElement, type NameAddr, parseCount, parseCSeq, parseNameAddr, parseVia, type Via } from './headers.ts'
import { type ByteString, canonicalName, Headers, type SipMessage } from './message.ts'
import { isToken } from './params.ts'

export const MAX_MESSAGE_BYTES = 65_536
const MAX_HEADER_BYTES = 8192
const MAX_HEADERS = 128
/** Maximum size of a head in a stream, to bound the memory and search time of a peer. */
export const MAX_HEAD_BYTES = 32_768

export type ParseErrorCode =
  /** Only line ends: a keep-alive, not an error of the sender. */
  | 'empty'
  | 'too_large'
  | 'head_too_large'
  | 'header_too_large'
  | 'too_many_headers'
  | 'body_too_large'
  | 'incomplete_head'
  | 'bad_start_line'
  | 'bad_version'
  | 'bad_header'
  | 'missing_header'
  | 'duplicate_header'
  | 'bad_via'
  | 'bad_address'
  | 'bad_cseq'
  | 'method_mismatch'
  | 'bad_max_forwards'
  | 'bad_content_length'
  | 'body_truncated'

/** The parts of a request that could not be parsed, sufficient to answer it statelessly. */
export interface BrokenRequest {
  method: string
  headers: Headers
}

export interface ParseFailure {
  kind: 'failure'
  error: ParseErrorCode
  /** Null if it was not a request, or lacks what every response must copy (RFC 3261 §8.2.6.2). */
  request: BrokenRequest | null
}

type StartLine = { kind: 'request'; method: string; uri: string } | { kind: 'response'; status: number; reason: string }

const CR = 13
const LF = 10
const SINGLE = ['from', 'to', 'call-id', 'cseq', 'max-forwards', 'content-length', 'content-type'] as const
const REQUIRED = ['via', 'from', 'to', 'call-id', 'cseq'] as const

const failure = (error: ParseErrorCode, request: BrokenRequest | null = null): ParseFailure => ({
  kind: 'failure',
  error,
  request,
})

/**
 * Parses one message (RFC 3261 §7, §25). The bytes after Content-Length are ignored, as datagrams demand (§18.3); without
 * Content-Length the body goes to the end. A message of a stream has to have one. The body is a view of `bytes`. Never throws.
 *
 * A request with too large a header is refused. Nobody can be told so of a response, and one that is not read would leave a call standing at
 * the far end, without an ACK: it is read as if it were without those headers, or without a body that is too large.
 */
export function parseMessage(bytes: Uint8Array, isOfStream = false): SipMessage | ParseFailure {
  if (bytes.length > MAX_MESSAGE_BYTES) return failure('too_large')
  let start = 0
  while (bytes[start] === CR || bytes[start] === LF) start++
  if (start === bytes.length) return failure('empty')
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const headEnd = view.indexOf('\r\n\r\n', start, 'latin1')
  // The beginning of a head that is too long, with its last line cut off: enough to refuse it.
  const isCut = headEnd < 0 && bytes.length >= MAX_HEAD_BYTES
  if (headEnd < 0 && !isCut) return failure('incomplete_head')
  const head = view.toString('latin1', start, isCut ? view.lastIndexOf('\r\n') : headEnd)
  const lineEnd = head.indexOf('\r\n')
  const startLine = parseStartLine(lineEnd < 0 ? head : head.slice(0, lineEnd))
  if ('error' in startLine && startLine.error === 'bad_start_line' && startLine.method === null) {
    return failure('bad_start_line')
  }
  const headers = new Headers()
  const headerError = lineEnd < 0 ? null : readHeaders(head, lineEnd + 2, headers)
  const broken = headerError === 'lost_via' ? null : brokenRequest(startLine, headers)
  if ('error' in startLine) return failure(startLine.error, broken)
  if (headerError === 'lost_via') return failure('header_too_large', broken)
  const isTooLarge = isCut || headerError === 'header_too_large' || headerError === 'too_many_headers'
  if (isTooLarge ? startLine.kind === 'request' : headerError !== null) {
    return failure(isCut ? 'head_too_large' : headerError!, broken)
  }
  if (isOfStream && !isTooLarge && headers.get('content-length') === null) return failure('missing_header', broken)
  return assemble(startLine, headers, bytes, isCut ? null : headEnd + 4, broken)
}

function brokenRequest(
  start: StartLine | { error: ParseErrorCode; method: string | null },
  headers: Headers,
): BrokenRequest | null {
  const method = 'method' in start ? start.method : null
  if (method === null) return null
  for (const name of REQUIRED) if (headers.get(name) === null) return null
  return { method, headers }
}

const STATUS_LINE = /^SIP\/2\.0 ([1-6]\d\d)(?: (.*))?$/i
const VERSION = /^SIP\/\d+\.\d+$/i

/** Exactly one space between the parts, none elsewhere (RFC 3261 §7.1): anything else is refused. */
function parseStartLine(line: string): StartLine | { error: ParseErrorCode; method: string | null } {
  if (/^SIP\//i.test(line)) {
    const match = STATUS_LINE.exec(line)
    if (match === null) return { error: 'bad_start_line', method: null }
    return { kind: 'response', status: Number(match[1]), reason: match[2] ?? '' }
  }
  const first = line.indexOf(' ')
  const last = line.lastIndexOf(' ')
  const method = first < 0 ? '' : line.slice(0, first)
  if (!isToken(method)) return { error: 'bad_start_line', method: null }
  const version = line.slice(last + 1)
  const uri = line.slice(first + 1, last)
  if (first === last || !VERSION.test(version) || uri === '' || /[\s<>]/.test(uri)) {
    return { error: 'bad_start_line', method }
  }
  if (version.toUpperCase() !== 'SIP/2.0') return { error: 'bad_version', method }
  return { kind: 'request', method, uri }
}

const VIA_LINE = /\r\n(?:via|v)[ \t]*:/i

/**
 * Reads the lines from `at` to the end of the head into `headers`; a line that starts with white space continues the previous one.
 * `lost_via`: there is too much of it, and the way back is not complete.
 */
function readHeaders(head: string, at: number, headers: Headers): ParseErrorCode | 'lost_via' | null {
  let error: ParseErrorCode | null = null
  while (at < head.length) {
    let end = lineEndFrom(head, at)
    let folded = false
    while (isSpace(head.charCodeAt(end + 2))) {
      end = lineEndFrom(head, end + 2)
      folded = true
    }
    if (headers.size === MAX_HEADERS) return VIA_LINE.test(head.slice(at - 2)) ? 'lost_via' : 'too_many_headers'
    if (end - at > MAX_HEADER_BYTES) {
      // Refused, but read on, because the refusal needs the header fields that follow.
      if (VIA_LINE.test(head.slice(at - 2, at + 10))) return 'lost_via'
      error = 'header_too_large'
      at = end + 2
      continue
    }
    // Lines after a bad one are still read, so that a 400 can copy Via and the rest.
    if (!readHeader(folded ? head.slice(at, end).replace(/\r\n[ \t]+/g, ' ') : head.slice(at, end), headers)) {
      error ??= 'bad_header'
    }
    at = end + 2
  }
  return error
}

const isSpace = (code: number): boolean => code === 32 || code === 9

function lineEndFrom(head: string, at: number): number {
  const end = head.indexOf('\r\n', at)
  return end < 0 ? head.length : end
}

const CONTROL = /[\r\n\0]+/g

function readHeader(line: string, headers: Headers): boolean {
  const colon = line.indexOf(':')
  if (colon <= 0) return false
  let name = line.slice(0, colon)
  if (isSpace(name.charCodeAt(name.length - 1))) name = name.trimEnd()
  if (!isToken(name)) return false
  // A header with NUL is refused, but it may name the sender: it is read without the NUL.
  const clean = line.replace(CONTROL, ' ')
  headers.push(canonicalName(name), trimSpaces(clean, colon + 1))
  return clean === line
}

function trimSpaces(line: string, from: number): string {
  let end = line.length
  while (from < end && isSpace(line.charCodeAt(from))) from++
  while (end > from && isSpace(line.charCodeAt(end - 1))) end--
  return line.slice(from, end)
}

function assemble(
  start: StartLine,
  headers: Headers,
  bytes: Uint8Array,
  bodyStart: number | null,
  broken: BrokenRequest | null,
): SipMessage | ParseFailure {
  for (const name of REQUIRED) if (headers.get(name) === null) return failure('missing_header', broken)
  for (const name of SINGLE) if (headers.count(name) > 1) return failure('duplicate_header', broken)
  const core = readCore(headers)
  if (typeof core === 'string') return failure(core, broken)
  if (start.kind === 'request' && core.cseq.method !== start.method) return failure('method_mismatch', broken)
  const hops = headers.get('max-forwards')
  if (hops !== null && parseCount(hops, 255) === null) return failure('bad_max_forwards', broken)
  const read = bodyStart === null ? 'body_too_large' : readBody(headers.get('content-length'), bytes, bodyStart)
  const body = start.kind === 'response' && read === 'body_too_large' ? new Uint8Array() : read
  if (typeof body === 'string') return failure(body, broken)
  return start.kind === 'request'
    ? { kind: 'request', method: start.method, uri: start.uri, headers, body, ...core }
    : { kind: 'response', status: start.status, reason: start.reason, headers, body, ...core }
}

interface Core {
  via: Via
  from: NameAddr
  to: NameAddr
  callId: ByteString
  cseq: { number: number; method: string }
}

function readCore(headers: Headers): Core | ParseErrorCode {
  const via = parseVia(firstElement(headers.get('via')!))
  if (via === null) return 'bad_via'
  const from = parseNameAddr(headers.get('from')!)
  const to = parseNameAddr(headers.get('to')!)
  if (from === null || to === null) return 'bad_address'
  const callId = headers.get('call-id')!
  if (callId === '' || /\s/.test(callId)) return 'bad_header'
  const cseq = parseCSeq(headers.get('cseq')!)
  if (cseq === null) return 'bad_cseq'
  return { via, from, to, callId, cseq }
}

function readBody(contentLength: string | null, bytes: Uint8Array, start: number): Uint8Array | ParseErrorCode {
  if (contentLength === null) return bytes.subarray(start)
  const length = parseCount(contentLength, 2 ** 32)
  if (length === null) return 'bad_content_length'
  if (start + length > MAX_MESSAGE_BYTES) return 'body_too_large'
  return start + length > bytes.length ? 'body_truncated' : bytes.subarray(start, start + length)
}
