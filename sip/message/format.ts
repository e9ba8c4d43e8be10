import type { Body, HeaderFields } from '../agent-types.ts'
import { type ByteString, type SipRequest, toByteString } from './message.ts'
import { endOfElement, isToken } from './params.ts'
import type { BrokenRequest } from './parse.ts'

/** Max-Forwards of a request that begins with us (RFC 3261 §8.1.1.6). */
export const MAX_FORWARDS = 70

/** A request of ours, structured because ACK, CANCEL and retries are derived from it. Values are byte strings. */
export interface OutgoingRequest {
  method: string
  uri: ByteString
  /** The topmost and only Via. */
  via: ByteString
  route: readonly ByteString[]
  from: ByteString
  to: ByteString
  callId: ByteString
  cseq: number
  /** Absent: `MAX_FORWARDS`. */
  maxForwards?: number
  headers: HeaderFields
  body: Body | null
}

/** A request's Authorization and Proxy-Authorization. */
export const credentialsOf = ({ headers }: Pick<OutgoingRequest, 'headers'>): HeaderFields =>
  headers.filter(([name]) => /^(proxy-)?authorization$/i.test(name))

export interface ResponseParts {
  status: number
  reason?: string
  /** Added to To if the request's To has no tag. */
  toTag?: string
  headers?: HeaderFields
  body?: Body | null
}

const REASONS: Record<number, string> = {
  100: 'Trying',
  180: 'Ringing',
  181: 'Call Is Being Forwarded',
  182: 'Queued',
  183: 'Session Progress',
  200: 'OK',
  202: 'Accepted',
  300: 'Multiple Choices',
  301: 'Moved Permanently',
  302: 'Moved Temporarily',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  406: 'Not Acceptable',
  407: 'Proxy Authentication Required',
  408: 'Request Timeout',
  410: 'Gone',
  413: 'Request Entity Too Large',
  415: 'Unsupported Media Type',
  416: 'Unsupported URI Scheme',
  420: 'Bad Extension',
  421: 'Extension Required',
  422: 'Session Interval Too Small',
  423: 'Interval Too Brief',
  428: 'Use Identity Header',
  436: 'Bad Identity Info',
  437: 'Unsupported Credential',
  438: 'Invalid Identity Header',
  469: 'Bad Info Package',
  480: 'Temporarily Unavailable',
  481: 'Call/Transaction Does Not Exist',
  482: 'Loop Detected',
  483: 'Too Many Hops',
  484: 'Address Incomplete',
  485: 'Ambiguous',
  486: 'Busy Here',
  487: 'Request Terminated',
  488: 'Not Acceptable Here',
  489: 'Bad Event',
  491: 'Request Pending',
  500: 'Server Internal Error',
  501: 'Not Implemented',
  503: 'Service Unavailable',
  504: 'Server Time-out',
  505: 'Version Not Supported',
  513: 'Message Too Large',
  600: 'Busy Everywhere',
  603: 'Decline',
  604: 'Does Not Exist Anywhere',
  606: 'Not Acceptable',
}

const CLASSES = ['', 'Progress', 'OK', 'Redirected', 'Request Failed', 'Server Failure', 'Declined']

export const reasonOf = (status: number): string => REASONS[status] ?? CLASSES[Math.trunc(status / 100)] ?? 'Unknown'

// Values from the owner or a peer must not start a new header line; other control characters are not allowed in headers (RFC 3261 §25.1).
const CONTROLS = /[^\P{Cc}\t\u0080-\u009f]+/gu
const NON_ASCII = /[\x80-\xff]/g

/** The owner's text, made safe for one header line, as a byte string. */
export const safeValue = (text: string): ByteString => toByteString(text.replace(CONTROLS, ' '))

/** The owner's header fields as byte strings. A field whose name is not a token is omitted: it would break the message. */
export const ownFields = (fields: HeaderFields): HeaderFields =>
  fields.filter(([name]) => isToken(name)).map(([name, value]) => [name, safeValue(value)])

/** The owner's URI as a byte string; non-ASCII characters are escaped (RFC 3261 §25.1). */
export const wireUri = (uri: string): ByteString =>
  toByteString(uri).replace(NON_ASCII, byte => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`)

const field = (name: string, value: ByteString): string => `${name}: ${value.replace(CONTROLS, ' ')}\r\n`

/** Writes a request as bytes. */
export function formatRequest(request: OutgoingRequest): Uint8Array {
  let head = `${request.method} ${request.uri} SIP/2.0\r\nVia: ${request.via}\r\n`
  for (const route of request.route) head += `Route: ${route}\r\n`
  head += `Max-Forwards: ${request.maxForwards ?? MAX_FORWARDS}\r\nFrom: ${request.from}\r\nTo: ${request.to}\r\n`
  head += `Call-ID: ${request.callId}\r\nCSeq: ${request.cseq} ${request.method}\r\n`
  for (const [name, value] of request.headers) head += field(name, value)
  return withBody(head, request.body)
}

/** Writes the response to a request as bytes: Via, From, To, Call-ID and CSeq are copied (RFC 3261 §8.2.6.2). */
export function formatResponse(
  request: Pick<SipRequest, 'headers'> | BrokenRequest,
  topVia: ByteString | null,
  parts: ResponseParts,
): Buffer {
  const { headers } = request
  let head = `SIP/2.0 ${parts.status} ${safeValue(parts.reason ?? reasonOf(parts.status))}\r\n`
  const vias = headers.all('via')
  if (topVia !== null) vias[0] = replaceFirst(vias[0]!, topVia)
  // Copied values were read from single lines, and stay unchanged byte by byte.
  for (const via of vias) head += `Via: ${via}\r\n`
  const to = headers.get('to')!
  const tag = parts.toTag !== undefined && !/;\s*tag\s*=/i.test(afterUri(to)) ? `;tag=${parts.toTag}` : ''
  head += `From: ${headers.get('from')}\r\nTo: ${to}${tag}\r\n`
  head += `Call-ID: ${headers.get('call-id')}\r\nCSeq: ${headers.get('cseq')}\r\n`
  // Of a 100 (RFC 3261 §8.2.6.1).
  const timestamp = parts.status === 100 ? headers.get('timestamp') : null
  if (timestamp !== null) head += field('Timestamp', timestamp)
  for (const [name, value] of parts.headers ?? []) head += field(name, value)
  return withBody(head, parts.body ?? null)
}

const afterUri = (to: string): string => to.slice(to.lastIndexOf('>') + 1)

/** Replaces the first element of a Via line by our annotated Via. */
function replaceFirst(line: string, topVia: string): string {
  const end = endOfElement(line, 0)
  return end === line.length ? topVia : `${topVia}, ${line.slice(end + 1).trim()}`
}

function withBody(head: string, body: Body | null): Buffer {
  if (body === null || body.bytes.length === 0) return Buffer.from(`${head}Content-Length: 0\r\n\r\n`, 'latin1')
  const type = field('Content-Type', body.type)
  const start = Buffer.from(`${head}${type}Content-Length: ${body.bytes.length}\r\n\r\n`, 'latin1')
  return Buffer.concat([start, body.bytes])
}
