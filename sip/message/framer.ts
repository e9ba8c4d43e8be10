import { MAX_HEAD_BYTES, MAX_MESSAGE_BYTES } from './parse.ts'

export type FramerEvent =
  /** One complete message, as a copy of its own. Before `close` also the beginning of one that is too large or has no end, for the refusal. */
  | { kind: 'message'; bytes: Uint8Array }
  /** A keep-alive: the peer sent a double CRLF; answer with PONG (RFC 5626 §3.5.1). */
  | { kind: 'ping' }
  /** The answer to a keep-alive of ours. */
  | { kind: 'pong' }
  /** The stream cannot be parsed any more: close the connection. Nothing follows. */
  | { kind: 'close'; reason: FramerError }

type FramerError = 'bad_line_end' | 'head_too_large' | 'message_too_large' | 'bad_content_length' | 'no_content_length'

export const PONG: Uint8Array = Buffer.from('\r\n', 'latin1')
/** Our own keep-alive. */
export const PING: Uint8Array = Buffer.from('\r\n\r\n', 'latin1')

const CR = 13
const LF = 10
/** The value may be on the next line (RFC 3261 §7.3.1). */
const CONTENT_LENGTH = /\r\n(?:content-length|l)[ \t]*:(?:\r\n(?=[ \t])|[ \t])*([^\r\n]*)/gi

/** Cuts the byte stream of one connection into messages by Content-Length (RFC 3261 §18.3). Holds at most one message. */
export class StreamFramer {
  #buffer: Buffer = Buffer.alloc(4096)
  #start = 0
  #end = 0
  /** Where the search for the end of the head continues. */
  #searched = 0
  /** Bytes of the message whose head is complete, or 0. */
  #messageBytes = 0
  #closed = false
  #awaitsPong = false

  /** Whether a message has begun and is incomplete; line ends between messages do not count. */
  get isAmid(): boolean {
    return this.#end > this.#start && this.#buffer[this.#start] !== CR
  }

  /** We have sent a keep-alive: a single line end answers it. */
  awaitPong(): void {
    this.#awaitsPong = true
  }

  /** Takes what was read from the connection. Never throws. */
  push(bytes: Uint8Array): FramerEvent[] {
    const events: FramerEvent[] = []
    // A read may exceed what we are ready to hold, so it is processed in portions.
    for (let at = 0; at < bytes.length && !this.#closed; at += MAX_MESSAGE_BYTES) {
      this.#append(bytes.subarray(at, at + MAX_MESSAGE_BYTES))
      while (!this.#closed && this.#step(events));
    }
    return events
  }

  #append(bytes: Uint8Array): void {
    const held = this.#end - this.#start
    if (this.#end + bytes.length > this.#buffer.length) {
      const capacity = Math.max(2 * this.#buffer.length, held + bytes.length)
      const target = held + bytes.length <= this.#buffer.length ? this.#buffer : Buffer.alloc(capacity)
      this.#buffer.copy(target, 0, this.#start, this.#end)
      this.#buffer = target
      this.#searched -= this.#start
      this.#start = 0
      this.#end = held
    }
    this.#buffer.set(bytes, this.#end)
    this.#end += bytes.length
  }

  /** Consumes one item from the front; false if more bytes are needed. */
  #step(events: FramerEvent[]): boolean {
    if (this.#messageBytes === 0) {
      if (this.#buffer[this.#start] === CR && this.#start < this.#end) return this.#lineEnds(events)
      if (!this.#readHead(events)) return false
    }
    if (this.#end - this.#start < this.#messageBytes) return false
    const stop = this.#start + this.#messageBytes
    events.push({ kind: 'message', bytes: Uint8Array.prototype.slice.call(this.#buffer, this.#start, stop) })
    this.#messageBytes = 0
    this.#advance(stop)
    return true
  }

  /** Line ends between messages: two are a ping, a single one is the pong to ours. */
  #lineEnds(events: FramerEvent[]): boolean {
    const expected = [CR, LF, CR, LF]
    const held = this.#end - this.#start
    let same = 0
    while (same < 4 && same < held && this.#buffer[this.#start + same] === expected[same]) same++
    if (this.#awaitsPong && same >= 2) {
      this.#awaitsPong = false
      events.push({ kind: 'pong' })
      this.#advance(this.#start + 2)
      return true
    }
    if (same === held && same < 4) return false
    if (same === 4) events.push({ kind: 'ping' })
    // A lone CR, or CRLF CR followed by something else, is not a line end of any SIP stack.
    if (same === 1 || same === 3) return this.#close(events, 'bad_line_end')
    this.#advance(this.#start + same)
    return true
  }

  #readHead(events: FramerEvent[]): boolean {
    const from = Math.max(this.#start, this.#searched - 3)
    const at = this.#buffer.subarray(0, this.#end).indexOf('\r\n\r\n', from, 'latin1')
    this.#searched = this.#end
    const headBytes = (at < 0 ? this.#end : at + 4) - this.#start
    if (headBytes > MAX_HEAD_BYTES) return this.#refuse(events, 'head_too_large', MAX_HEAD_BYTES)
    if (at < 0) return false
    const head = this.#buffer.toString('latin1', this.#start, at)
    const [value, ...more] = [...head.matchAll(CONTENT_LENGTH)].map(([, length = '']) => length.trim())
    if (value === undefined) return this.#refuse(events, 'no_content_length', headBytes)
    // Of two lengths nobody knows where the next message begins: a proxy may have taken the other one.
    if (!/^0*\d{1,10}$/.test(value) || more.some(other => other !== value))
      return this.#refuse(events, 'bad_content_length', headBytes)
    const total = headBytes + Number(value)
    if (total > MAX_MESSAGE_BYTES) return this.#refuse(events, 'message_too_large', headBytes)
    this.#messageBytes = total
    return true
  }

  #advance(start: number): void {
    this.#start = start
    this.#searched = start
    if (this.#start === this.#end) {
      this.#start = 0
      this.#end = 0
      this.#searched = 0
    }
  }

  #refuse(events: FramerEvent[], reason: FramerError, length: number): false {
    const bytes = Uint8Array.prototype.slice.call(this.#buffer, this.#start, this.#start + length)
    events.push({ kind: 'message', bytes })
    return this.#close(events, reason)
  }

  #close(events: FramerEvent[], reason: FramerError): false {
    this.#closed = true
    this.#buffer = Buffer.alloc(0)
    events.push({ kind: 'close', reason })
    return false
  }
}
