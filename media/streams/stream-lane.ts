import { randomFillSync } from 'node:crypto'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { copy } from '../../codecs/kernels/frames.ts'
import type { ByteSender, Connections } from '../rtp/datagrams/datagrams.ts'
import { type Libc, MSG_DONTWAIT, MSG_NOSIGNAL } from '../rtp/datagrams/libc.ts'

const MSG_PEEK = 0x02
/** Maximum size for reading here; a longer frame is left to `ws` [bytes]. */
const MAX_FRAME = 1024
/** Frames of one look. */
const MAX_FRAMES = 16
/** When no pong is awaited, only every so many looks is one. */
const LOOK_EVERY = 5
/** A lane that is not polled for this long has no audio: Node reads its socket again [ms]. */
const IDLE_MS = 500

/**
 * Frames of a WebSocket client (RFC 6455 §5.2), one behind the other, ready to be written at once:
 *
 *      0               1               2               3
 *     |F|RSV|  opcode |1|  length     | (length, 16 or 64 bits if that was 126 or 127) |
 *     | masking key, 32 bits          | payload XOR masking key …                     |
 */
export const TEXT = 0x81
const BINARY = 0x82
export const PING = 0x89
export const PONG = 0x8a
const MASKED = 0x80
const LENGTH_16 = 126
const LENGTH_64 = 127
const KEY_BYTES = 4
/** Header with the longest length, and the key [bytes]. */
const MAX_HEADER = 14
/** Enough for a slot: both tracks at 16 kHz, and a read marker. It grows for more. */
const FIRST_BYTES = 4096

/** The handle under a `net.Socket`. */
interface Handle {
  readonly fd: number
  readStart(): number
  readStop(): number
}

interface LaneEvents {
  pong(payload: Uint8Array): void
  ping(payload: Uint8Array): void
  /** A message that nobody listens to. */
  ignored(): void
  /** The system has accepted so many bytes of what was held. */
  taken(bytes: number): void
}

/**
 * The system's own calls for the socket of a fork, as for RTP (`rtp/datagrams`). A fork's receiver sends a pong ten times a second, and as an
 * event of the loop each costs more than a slot's frames. So the socket is polled with each slot instead. Anything but a complete simple frame
 * (an end, an error, a close frame, a fragment) hands the socket back to Node and `ws`, for good. Frames of a slot are sent behind its work,
 * together with those of other forks. Linux, and no TLS.
 */
export class StreamLane implements ByteSender {
  /** A pong is awaited, so the socket is polled each time. */
  isAwaiting = false
  readonly #calls: Connections
  readonly #libc: Libc
  readonly #socket: Socket
  readonly #handle: Handle
  readonly #fd: number
  readonly #events: LaneEvents
  readonly #bytes: Uint8Array
  readonly #address: number
  #sending: Uint8Array | null = null
  #sendingAddress = 0
  #isReading = true
  #looks = 0
  isLookedAt = true
  /** Frames to be sent after this slot's work. */
  #held: ClientFrames | null = null
  #isListed = false

  private constructor(calls: Connections, socket: Socket, handle: Handle, events: LaneEvents) {
    const { libc } = calls
    this.#calls = calls
    this.#libc = libc
    this.#socket = socket
    this.#handle = handle
    this.#fd = handle.fd
    this.#events = events
    this.#bytes = new Uint8Array(MAX_FRAME)
    this.#address = libc.addressOf(this.#bytes)
    handle.readStop()
    watch(this)
  }

  /** Null: this socket has none. To be called between two frames of the receiver. */
  static open(calls: Connections, socket: Socket, events: LaneEvents): StreamLane | null {
    const { _handle: handle } = socket as Socket & { _handle?: Partial<Handle> | null }
    const isPlain = !(socket instanceof TLSSocket) && typeof handle?.readStop === 'function'
    // Data that arrived with the upgrade is on its way to `ws`.
    if (!isPlain || typeof handle.fd !== 'number' || handle.fd < 0 || socket.readableLength > 0) return null
    return new StreamLane(calls, socket, handle as Handle, events)
  }

  /** The file descriptor may be another one's as soon as Node has closed it. */
  get #isOpen(): boolean {
    return !this.#socket.destroyed && (this.#socket as Socket & { _handle?: unknown })._handle === this.#handle
  }

  get isHolding(): boolean {
    return this.#held !== null
  }

  /** Whether these frames, and what is added to them until then, will be sent after this slot's work; `taken` tells how much was. */
  hold(frames: ClientFrames): boolean {
    if (!this.#isOpen || this.#socket.writableLength > 0) return false
    if (!this.#isListed && !this.#calls.hold(this)) return false
    this.#isListed = true
    this.#held = frames
    return true
  }

  /** Releases what is held. */
  release(): void {
    this.#held = null
  }

  get fd(): number {
    return this.#held !== null && this.#isOpen ? this.#fd : -1
  }

  get address(): number {
    return this.#addressOf(this.#held!.bytes)
  }

  get length(): number {
    return this.#held!.length
  }

  taken(bytes: number): void {
    const isHeld = this.isHolding
    this.#isListed = false
    this.#held = null
    // An error comes again when Node writes, which knows what to do about it.
    if (isHeld) this.#events.taken(Math.max(0, bytes))
  }

  /** Gives the system what it accepts at once; returns how much that is [bytes]. */
  send({ bytes, length }: ClientFrames): number {
    if (!this.#isOpen || this.#socket.writableLength > 0) return 0
    const flags = MSG_DONTWAIT | MSG_NOSIGNAL
    return Math.max(0, Number(this.#libc.sendto(this.#fd, this.#addressOf(bytes), length, flags, 0, 0)))
  }

  #addressOf(bytes: Uint8Array): number {
    if (bytes !== this.#sending) {
      this.#sending = bytes
      this.#sendingAddress = this.#libc.addressOf(bytes)
    }
    return this.#sendingAddress
  }

  /** Passes on received data. */
  look(): void {
    this.isLookedAt = true
    if (!this.isAwaiting && ++this.#looks % LOOK_EVERY !== 0) return
    for (let frames = 0; frames < MAX_FRAMES && this.#isReading && this.#isOpen; frames++) {
      const length = Number(this.#libc.recv(this.#fd, this.#address, MAX_FRAME, MSG_PEEK | MSG_DONTWAIT))
      if (length < 0) return
      const head = headOf(this.#bytes, length)
      if (head === 0) {
        this.leave()
        return
      }
      const end = head + lengthOf(this.#bytes)
      this.#libc.recv(this.#fd, this.#address, end, MSG_DONTWAIT)
      this.#take(this.#bytes[0]!, this.#bytes.subarray(head, end))
    }
  }

  #take(type: number, payload: Uint8Array): void {
    if (type === PONG) this.#events.pong(payload)
    else if (type === PING) this.#events.ping(payload)
    else this.#events.ignored()
  }

  /** Node reads again. Idempotent. */
  leave(): void {
    if (!this.#isReading) return
    this.#isReading = false
    unwatch(this)
    if (this.#isOpen) this.#handle.readStart()
  }
}

/** Length of the header of a frame that stands here whole, is no fragment and asks nothing of us but a pong; 0: it is another. */
function headOf(bytes: Uint8Array, length: number): number {
  const type = bytes[0]!
  const isKnown = type === PONG || type === PING || type === TEXT || type === BINARY
  // A server's frames are not masked (RFC 6455 §5.1); longer ones, or none of the protocol, are judged by `ws`.
  if (length < 2 || !isKnown || bytes[1]! > LENGTH_16) return 0
  const isLong = bytes[1] === LENGTH_16
  if (isLong && (length < 4 || type === PONG || type === PING)) return 0
  const head = isLong ? 4 : 2
  return head + lengthOf(bytes) <= length ? head : 0
}

const lengthOf = (bytes: Uint8Array): number => (bytes[1] === LENGTH_16 ? (bytes[2]! << 8) | bytes[3]! : bytes[1]!)

/** All that are read by looks. */
const lanes = new Set<StreamLane>()
let timer: NodeJS.Timeout | undefined

function watch(lane: StreamLane): void {
  lanes.add(lane)
  timer ??= setInterval(leaveIdle, IDLE_MS).unref()
}

function unwatch(lane: StreamLane): void {
  lanes.delete(lane)
  if (lanes.size > 0) return
  clearInterval(timer)
  timer = undefined
}

function leaveIdle(): void {
  for (const lane of lanes) {
    if (!lane.isLookedAt) lane.leave()
    lane.isLookedAt = false
  }
}

/**
 * Masking keys from a strong source (RFC 6455 §10.3: whoever chooses the data must not foresee the bytes on the wire),
 * generated many at a time, each used once.
 */
const keys = new Uint8Array(4096)
let keyAt = keys.length

/** Returns the offset of the next key. */
function nextKey(): number {
  keyAt += KEY_BYTES
  if (keyAt >= keys.length) {
    randomFillSync(keys)
    keyAt = 0
  }
  return keyAt
}

/** A key rotated to a word of memory, within which the payload may begin at any byte. */
const turned = new Uint8Array(KEY_BYTES)
const turnedWord = new Int32Array(turned.buffer)

export class ClientFrames {
  /** Bytes that wait, from the first of `bytes` on. */
  length = 0
  bytes: Buffer
  #words: Int32Array

  constructor() {
    this.bytes = Buffer.allocUnsafeSlow(FIRST_BYTES)
    this.#words = wordsOf(this.bytes)
  }

  /** Appends a frame, and the masking of it. `type`: `TEXT`, `PING` or `PONG`. */
  add(type: number, payload: Uint8Array): void {
    const { length } = payload
    if (this.length + length + MAX_HEADER > this.bytes.length) this.#makeRoom(length + MAX_HEADER)
    const start = this.#writeHeader(type, length)
    copy<Uint8Array>(this.bytes, payload, start)
    this.length = start + length
    this.#mask(start, this.length)
  }

  clear(): void {
    this.length = 0
  }

  /** Somebody else keeps the bytes: the next frames go into others. */
  leave(): void {
    this.bytes = Buffer.allocUnsafeSlow(this.bytes.length)
    this.#words = wordsOf(this.bytes)
    this.length = 0
  }

  #makeRoom(more: number): void {
    const { bytes } = this
    this.bytes = Buffer.allocUnsafeSlow(KEY_BYTES * Math.ceil((2 * (this.length + more)) / KEY_BYTES))
    this.bytes.set(bytes.subarray(0, this.length))
    this.#words = wordsOf(this.bytes)
  }

  /** With a key; returns the offset after it. */
  #writeHeader(type: number, length: number): number {
    const { bytes } = this
    let at = this.length
    bytes[at++] = type
    if (length < LENGTH_16) bytes[at++] = MASKED | length
    else if (length < 0x10000) {
      bytes[at++] = MASKED | LENGTH_16
      bytes[at++] = length >>> 8
      bytes[at++] = length
    } else {
      bytes[at++] = MASKED | LENGTH_64
      bytes.writeBigUInt64BE(BigInt(length), at)
      at += 8
    }
    const key = nextKey()
    for (let i = 0; i < KEY_BYTES; i++, at++) {
      const byte = keys[key + i]!
      bytes[at] = byte
      // A header's length is not a multiple of four, so the payload may begin at another byte of a word than the key.
      turned[at & 3] = byte
    }
    return at
  }

  /** The payload from `start` to `end`, with the key before it: a word at a time. */
  #mask(start: number, end: number): void {
    const { bytes } = this
    const words = this.#words
    const word = turnedWord[0]!
    let at = start
    for (; (at & 3) !== 0 && at < end; at++) bytes[at]! ^= turned[at & 3]!
    const last = end >> 2
    let i = at >> 2
    for (; i < last; i++) words[i]! ^= word
    for (at = Math.max(at, last << 2); at < end; at++) bytes[at]! ^= turned[at & 3]!
  }
}

/** Its memory is not shared, and has whole words. */
const wordsOf = ({ buffer }: Buffer): Int32Array => new Int32Array(buffer)
