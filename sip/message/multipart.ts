import { mediaType } from './headers.ts'
import { type ByteString, canonicalName, Headers } from './message.ts'
import { paramValue, unquote } from './params.ts'

/** One part of a body, or all of it (RFC 5621 §3). */
interface BodyPart {
  /** As it was written; null: its message says nothing. */
  type: ByteString | null
  /** A description of the session; `early-session` (RFC 3959) is not supported. */
  disposition: string
  /** Whether a receiver that cannot read it has to refuse; null: it does not say. */
  isRequired: boolean | null
  /** Content-Encoding and Content-Transfer-Encoding leave the bytes as they are. */
  isPlain: boolean
  bytes: Uint8Array
}

/** Maximum number of parts in a message, and of nesting: an alternative within a mixture. */
const MAX_PARTS = 20
const MAX_DEPTH = 3
const CRLF = '\r\n'

/** The parts of a body in order, those of parts included (RFC 2046 §5.1). A multipart body that cannot be read has none. */
export function partsOf(headers: Headers, body: Uint8Array): BodyPart[] {
  const parts: BodyPart[] = []
  collect(headers, Buffer.from(body.buffer, body.byteOffset, body.length), MAX_DEPTH, parts)
  return parts
}

function collect(headers: Headers, body: Buffer, depth: number, into: BodyPart[]): void {
  const type = headers.get('content-type')
  if (type === null || !mediaType(type).startsWith('multipart/')) {
    if (into.length < MAX_PARTS) into.push(partOf(headers, type, body))
    return
  }
  const boundary = unquote(paramValue(type.slice(type.indexOf(';')), 'boundary') ?? '')
  if (boundary === '' || depth === 0) return
  for (const bytes of between(body, `--${boundary}`)) {
    const end = bytes.indexOf(CRLF + CRLF)
    // Without headers a part begins with the empty line.
    const head = bytes.subarray(0, 2).equals(Buffer.from(CRLF)) ? 0 : end
    if (head < 0 || into.length >= MAX_PARTS) continue
    const start = head === 0 ? 2 : head + 4
    collect(headersOf(bytes.toString('latin1', 0, head)), bytes.subarray(start), depth - 1, into)
  }
}

/** The content between the delimiter lines, without the line end before each (RFC 2046 §5.1.1). */
function between(body: Buffer, delimiter: string): Buffer[] {
  const found: Buffer[] = []
  let start = -1
  for (let at = body.indexOf(delimiter); at >= 0 && found.length < MAX_PARTS; at = body.indexOf(delimiter, at + 1)) {
    if (at > 0 && body.toString('latin1', at - 2, at) !== CRLF) continue
    const lineEnd = body.indexOf(CRLF, at)
    const rest = body.toString('latin1', at + delimiter.length, lineEnd < 0 ? body.length : lineEnd).trimEnd()
    // A longer boundary that begins alike is another one.
    if (rest !== '' && rest !== '--') continue
    if (start >= 0) found.push(body.subarray(start, Math.max(start, at - 2)))
    if (rest === '--' || lineEnd < 0) return found
    start = lineEnd + 2
  }
  return found
}

function headersOf(text: string): Headers {
  const headers = new Headers()
  for (const line of text.replace(/\r\n[ \t]+/g, ' ').split(CRLF)) {
    const colon = line.indexOf(':')
    if (colon > 0) headers.push(canonicalName(line.slice(0, colon).trim()), line.slice(colon + 1).trim())
  }
  return headers
}

const PLAIN: ReadonlySet<string> = new Set(['', 'identity', 'binary', '7bit', '8bit'])

function partOf(headers: Headers, type: ByteString | null, bytes: Uint8Array): BodyPart {
  const said = headers.get('content-disposition') ?? ''
  const semi = said.indexOf(';')
  const handling = semi < 0 ? '' : unquote(paramValue(said.slice(semi), 'handling') ?? '').toLowerCase()
  const encodings = ['content-encoding', 'content-transfer-encoding'].map(name =>
    (headers.get(name) ?? '').toLowerCase(),
  )
  return {
    type,
    disposition: (semi < 0 ? said : said.slice(0, semi)).trim().toLowerCase(),
    isRequired: handling === '' ? null : handling !== 'optional',
    isPlain: encodings.every(encoding => PLAIN.has(encoding)),
    bytes,
  }
}

/** Whether a part is the description of a session (RFC 3261 §13.2.1). A body without a type is taken for one. */
export const isDescription = ({ type, disposition, isPlain }: BodyPart): boolean =>
  isPlain &&
  mediaType(type ?? 'application/sdp') === 'application/sdp' &&
  (disposition === '' || disposition === 'session')
