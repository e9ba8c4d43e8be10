import type { CSeq, NameAddr, Via } from './headers.ts'
import { splitList } from './params.ts'

/**
 * Text of messages is kept as byte strings: one char code per byte (latin1). So what we echo (Via, From, tags) equals what was received,
 * byte by byte, even if it is not UTF-8. `toText` and `toByteString` convert at the border.
 */
export type ByteString = string

const NON_ASCII = /[\x80-\xff]/
/** A character beyond ASCII that decoding has found. */
const IN_UTF8 = /[\x80-\ufffc\ufffe\uffff]/
const NON_BYTE = /[\u0080-\uffff]/
const COMPACT: Record<string, string> = {
  a: 'accept-contact',
  b: 'referred-by',
  c: 'content-type',
  d: 'request-disposition',
  e: 'content-encoding',
  f: 'from',
  i: 'call-id',
  j: 'reject-contact',
  k: 'supported',
  l: 'content-length',
  m: 'contact',
  o: 'event',
  r: 'refer-to',
  s: 'subject',
  t: 'to',
  u: 'allow-events',
  v: 'via',
  x: 'session-expires',
  y: 'identity',
}

/** The name under which a header is stored: lower case, compact forms written out (RFC 3261 §7.3.3). */
export function canonicalName(name: string): string {
  const lower = name.toLowerCase()
  return lower.length === 1 ? (COMPACT[lower] ?? lower) : lower
}

/** Header fields in order. Values are parsed on demand. */
export class Headers {
  readonly #names: string[] = []
  readonly #values: ByteString[] = []

  get size(): number {
    return this.#names.length
  }

  /** `name` is canonical already. */
  push(name: string, value: ByteString): void {
    this.#names.push(name)
    this.#values.push(value)
  }

  /** The first field of that name, or null. */
  get(name: string): ByteString | null {
    const at = this.#names.indexOf(name)
    return at < 0 ? null : this.#values[at]!
  }

  /** Every field, in order. */
  entries(): [name: string, value: ByteString][] {
    return this.#names.map((name, i) => [name, this.#values[i]!])
  }

  count(name: string): number {
    let n = 0
    for (const own of this.#names) if (own === name) n++
    return n
  }

  /** Every field of that name, one entry per line, lists not split. */
  all(name: string): ByteString[] {
    const out: ByteString[] = []
    for (let i = 0; i < this.#names.length; i++) if (this.#names[i] === name) out.push(this.#values[i]!)
    return out
  }

  /** Every value of that name, lists split at commas. */
  list(name: string): ByteString[] {
    const fields = this.all(name)
    return fields.length === 0 ? fields : fields.flatMap(splitList)
  }

  /** Whether a list header such as Supported contains a token, in any case. */
  hasToken(name: string, token: string): boolean {
    return this.list(name).some(value => value.toLowerCase() === token)
  }
}

interface Common {
  headers: Headers
  body: Uint8Array
  /** The topmost Via. */
  via: Via
  from: NameAddr
  to: NameAddr
  callId: ByteString
  cseq: CSeq
}

export interface SipRequest extends Common {
  kind: 'request'
  method: string
  uri: ByteString
}

export interface SipResponse extends Common {
  kind: 'response'
  status: number
  reason: ByteString
}

export type SipMessage = SipRequest | SipResponse

/**
 * Decodes a byte string: as UTF-8 (RFC 3261 §7.3.1), also one with invalid parts, such as a name that was cut within a character. One
 * in which nothing is UTF-8 is Latin-1, in which older exchanges write names.
 */
export function toText(bytes: ByteString): string {
  if (!NON_ASCII.test(bytes)) return bytes
  const text = Buffer.from(bytes, 'latin1').toString('utf8')
  return IN_UTF8.test(text) ? text : bytes
}

/** A copy with memory of its own. V8 slices strings without copying, so a word of a message would keep the whole message in memory. */
export const ownCopy = (bytes: ByteString): ByteString => bytesOf(bytes).toString('latin1')

export const bytesOf = (bytes: ByteString): Buffer => Buffer.from(bytes, 'latin1')

/** Text as a byte string in UTF-8. */
export const toByteString = (text: string): ByteString =>
  NON_BYTE.test(text) ? Buffer.from(text, 'utf8').toString('latin1') : text
