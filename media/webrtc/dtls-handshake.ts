import { number, Reader, vector } from './bytes.ts'
import { HANDSHAKE, readRecords } from './dtls-records.ts'

/** Handshake types (RFC 5246 §7.4). */
export const CLIENT_HELLO = 1
export const SERVER_HELLO = 2
export const HELLO_VERIFY_REQUEST = 3
export const CERTIFICATE = 11
export const SERVER_KEY_EXCHANGE = 12
export const CERTIFICATE_REQUEST = 13
export const SERVER_HELLO_DONE = 14
export const CERTIFICATE_VERIFY = 15
export const CLIENT_KEY_EXCHANGE = 16
export const FINISHED = 20

/** Maximum size of one message; certificates of browsers have some hundred bytes. */
const MAX_MESSAGE = 16 * 1024
/** Messages ahead of the next that are kept. */
const MAX_AHEAD = 8

export interface HandshakeMessage {
  type: number
  sequence: number
  body: Uint8Array
  /** Type, length and all, as it counts in the transcript: whole, in whatever pieces it came (RFC 6347 §4.2.6). */
  whole: Uint8Array
}

/** A message in one piece. */
export function formatMessage(type: number, sequence: number, body: Uint8Array): Buffer {
  const { length } = body
  return Buffer.concat([number(type, 1), number(length, 3), number(sequence, 2), number(0, 3), number(length, 3), body])
}

interface Partial {
  type: number
  body: Uint8Array
  has: Uint8Array
  missing: number
}

/** Puts fragments together, and messages into their order (RFC 6347 §4.2.2, §4.2.3). Bounded. */
export class Reassembly {
  /** The sequence number of the next message. */
  next = 0
  readonly #partial = new Map<number, Partial>()

  /** Takes the fragments of a record. `isRepeated`: one is of a message that was taken before. */
  push(content: Uint8Array): { messages: HandshakeMessage[]; isRepeated: boolean } {
    const reader = new Reader(content)
    let isRepeated = false
    while (reader.left > 0) {
      const type = reader.number(1)
      const length = reader.number(3)
      const sequence = reader.number(2)
      const offset = reader.number(3)
      const fragment = reader.vector(3)
      if (reader.isBroken || length > MAX_MESSAGE || offset + fragment.length > length) break
      if (sequence < this.next) isRepeated = true
      else if (sequence < this.next + MAX_AHEAD) this.#keep(type, sequence, length, offset, fragment)
    }
    return { messages: this.#complete(), isRepeated }
  }

  #keep(type: number, sequence: number, length: number, offset: number, fragment: Uint8Array): void {
    const known = this.#partial.get(sequence)
    const partial = known ?? { type, body: new Uint8Array(length), has: new Uint8Array(length), missing: length }
    if (partial.type !== type || partial.body.length !== length) return
    if (known === undefined) this.#partial.set(sequence, partial)
    for (let i = 0; i < fragment.length; i++) {
      if (partial.has[offset + i] === 1) continue
      partial.has[offset + i] = 1
      partial.body[offset + i] = fragment[i]!
      partial.missing--
    }
  }

  #complete(): HandshakeMessage[] {
    const messages: HandshakeMessage[] = []
    for (;;) {
      const partial = this.#partial.get(this.next)
      if (partial === undefined || partial.missing > 0) return messages
      const { type, body } = partial
      this.#partial.delete(this.next)
      messages.push({ type, sequence: this.next, body, whole: formatMessage(type, this.next, body) })
      this.next++
    }
  }
}

/** The fields of a ClientHello that we need. */
interface ClientHello {
  random: Uint8Array
  suites: number[]
  /** By type (RFC 5246 §7.4.1.4). */
  extensions: Map<number, Uint8Array>
}

/** Null: it is broken. */
export function readClientHello(body: Uint8Array): ClientHello | null {
  const reader = new Reader(body)
  reader.number(2)
  const random = reader.take(32)
  // Session ID and cookie: nothing is resumed, and descriptions or ICE have shown where it comes from.
  reader.vector(1)
  reader.vector(1)
  const suites = reader.numbers()
  reader.vector(1)
  const extensions = readExtensions(reader)
  return reader.isBroken || extensions === null ? null : { random, suites, extensions }
}

/** The fields of a ServerHello that we need. */
interface ServerHello {
  version: number
  random: Uint8Array
  suite: number
  extensions: Map<number, Uint8Array>
}

/** Null: it is broken. */
export function readServerHello(body: Uint8Array): ServerHello | null {
  const reader = new Reader(body)
  const version = reader.number(2)
  const random = reader.take(32)
  reader.vector(1)
  const suite = reader.number(2)
  reader.number(1)
  const extensions = readExtensions(reader)
  return reader.isBroken || extensions === null ? null : { version, random, suite, extensions }
}

/** Null: they are broken. */
function readExtensions(reader: Reader): Map<number, Uint8Array> | null {
  const list = new Reader(reader.left === 0 ? new Uint8Array(0) : reader.vector(2))
  const extensions = new Map<number, Uint8Array>()
  while (list.left > 0 && !list.isBroken) extensions.set(list.number(2), list.vector(2))
  return list.isBroken ? null : extensions
}

export const formatExtensions = (extensions: readonly (readonly [type: number, content: Uint8Array])[]): Buffer =>
  vector(2, ...extensions.map(([type, content]) => Buffer.concat([number(type, 2), vector(2, content)])))

/** The random value of the ClientHello with which a datagram begins, which tells one handshake from another; null: it does not. */
export function helloRandom(datagram: Uint8Array): Uint8Array | null {
  const record = readRecords(datagram)[0]
  if (record === undefined || record.type !== HANDSHAKE || record.epoch !== 0) return null
  const reader = new Reader(record.content)
  const type = reader.number(1)
  // Length and sequence number, then offset and length of the fragment, and the version.
  reader.take(5)
  const offset = reader.number(3)
  reader.take(5)
  const random = reader.take(32)
  return type === CLIENT_HELLO && offset === 0 && !reader.isBroken ? random : null
}
