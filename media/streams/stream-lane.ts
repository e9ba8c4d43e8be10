import { randomFillSync } from 'node:crypto'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { Libc } from '../rtp/datagrams/libc.ts'

const MSG_PEEK = 0x02
const MSG_DONTWAIT = 0x40
const MSG_NOSIGNAL = 0x4000
/** Maximum size for reading here; a longer frame is left to `ws` [bytes]. */
const MAX_FRAME = 1024
/** Frames of one look. */
const MAX_FRAMES = 16
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

export interface LaneEvents {
  pong(payload: Uint8Array): void
  ping(payload: Uint8Array): void
  /** A message that nobody listens to. */
  ignored(): void
}

/**
 * The system's own calls for the socket of a fork, as for RTP (`rtp/datagrams`). A fork's receiver sends a pong ten times a second, and as an
 * event of the loop each costs more than a slot's frames. So the socket is polled with each slot instead. Anything but a complete simple frame
 * (an end, an error, a close frame, a fragment) hands the socket back to Node and `ws`, for good. Linux, and no TLS.
 */
export class StreamLane {
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
  isLookedAt = true

  private constructor(libc: Libc, socket: Socket, handle: Handle, events: LaneEvents) {
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
  static open(libc: Libc, socket: Socket, events: LaneEvents): StreamLane | null {
    const { _handle: handle } = socket as Socket & { _handle?: Partial<Handle> | null }
    const isPlain = !(socket instanceof TLSSocket) && typeof handle?.readStop === 'function'
    // Data that arrived with the upgrade is on its way to `ws`.
    if (!isPlain || typeof handle.fd !== 'number' || handle.fd < 0 || socket.readableLength > 0) return null
    return new StreamLane(libc, socket, handle as Handle, events)
  }

  /** The file descriptor may be another one's as soon as Node has closed it. */
  get #isOpen(): boolean {
    return !this.#socket.destroyed && (this.#socket as Socket & { _handle?: unknown })._handle === this.#handle
  }

  /** Gives the system what it accepts at once; returns how much that is [bytes]. */
  send({ bytes, length }: ClientFrames): number {
    if (!this.#isOpen || this.#socket.writableLength > 0) return 0
    if (bytes !== this.#sending) {
      this.#sending = bytes
      this.#sendingAddress = this.#libc.addressOf(bytes)
    }
    const taken = this.#libc.sendto(this.#fd, this.#sendingAddress, length, MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0)
    // An error comes again when Node writes, which knows what to do about it.
    return Math.max(0, Number(taken))
  }

  /** Passes on received data. */
  look(): void {
    this.isLookedAt = true
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
const keys = new Uint32Array(1024)
let keyAt = keys.length

function nextKey(): number {
  if (keyAt === keys.length) {
    randomFillSync(keys)
    keyAt = 0
  }
  return keys[keyAt++]!
}

export class ClientFrames {
  /** Bytes that wait, from the first of `bytes` on. */
  length = 0
  bytes: Buffer
  #view: DataView

  constructor() {
    this.bytes = Buffer.allocUnsafeSlow(FIRST_BYTES)
    this.#view = viewOf(this.bytes)
  }

  /** Appends a frame, and the masking of it. `type`: `TEXT`, `PING` or `PONG`. */
  add(type: number, payload: Uint8Array): void {
    this.#makeRoom(payload.length + MAX_HEADER)
    const at = this.#writeHeader(type, payload.length)
    const key = nextKey()
    this.#view.setUint32(at, key)
    this.#writeMasked(payload, at + 4, key)
    this.length = at + 4 + payload.length
  }

  clear(): void {
    this.length = 0
  }

  /** Somebody else keeps the bytes: the next frames go into others. */
  leave(): void {
    this.bytes = Buffer.allocUnsafeSlow(this.bytes.length)
    this.#view = viewOf(this.bytes)
    this.length = 0
  }

  #makeRoom(more: number): void {
    if (this.length + more <= this.bytes.length) return
    const { bytes } = this
    this.bytes = Buffer.allocUnsafeSlow(2 * (this.length + more))
    this.bytes.set(bytes.subarray(0, this.length))
    this.#view = viewOf(this.bytes)
  }

  /** Returns the offset after it. */
  #writeHeader(type: number, length: number): number {
    const { bytes } = this
    const at = this.length
    bytes[at] = type
    if (length < LENGTH_16) {
      bytes[at + 1] = MASKED | length
      return at + 2
    }
    if (length < 0x10000) {
      bytes[at + 1] = MASKED | LENGTH_16
      this.#view.setUint16(at + 2, length)
      return at + 4
    }
    bytes[at + 1] = MASKED | LENGTH_64
    this.#view.setBigUint64(at + 2, BigInt(length))
    return at + 10
  }

  /** The copy and the masking are one pass, a word at a time. */
  #writeMasked(payload: Uint8Array, start: number, key: number): void {
    const view = this.#view
    const { bytes } = this
    const words = payload.length & ~3
    let i = 0
    for (; i < words; i += 4) {
      const word = (payload[i]! << 24) | (payload[i + 1]! << 16) | (payload[i + 2]! << 8) | payload[i + 3]!
      view.setInt32(start + i, word ^ key)
    }
    for (; i < payload.length; i++) bytes[start + i] = payload[i]! ^ ((key >>> (24 - 8 * (i & 3))) & 0xff)
  }
}

const viewOf = ({ buffer, byteOffset, length }: Buffer): DataView => new DataView(buffer, byteOffset, length)
