import { float64Array, uint8Array } from '../../codecs/arrays.ts'
import type { Frame } from '../../codecs/audio.ts'
import { PCMU } from '../../codecs/g711.ts'
import { copy } from '../../codecs/kernels/frames.ts'
import { writeL16le } from '../../codecs/l16.ts'
import type { Resampler } from '../../codecs/resample.ts'
import type { StreamFormat } from '../protocol.ts'
import { COVERED, type Track } from '../rooms/sink.ts'
import { PAYLOAD_BYTES } from './stream-messages.ts'

/** Frames that may wait for a receiver, per track: 2 s. */
const MAX_WAITING_FRAMES = 100
/** How long they may wait [ms]. */
const MAX_AGE_MS = 2000

const MAX_DIGITS = 16
const ASCII_ZERO = 48
const PAD = 61
/** The alphabet of RFC 4648 §4. */
const BASE64 = Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/', 'latin1')
/** Two letters for 12 bits, as they lie in memory. */
const PAIRS = new Uint16Array(
  Uint8Array.from({ length: 2 * 4096 }, (_, i) => BASE64[i & 1 ? (i >> 1) & 63 : i >> 7]!).buffer,
)

type Encode = (frame: Frame, payload: Uint8Array) => void

/** Encodes 20 ms at 8 kHz. The resampler's state belongs to the track: one for each. */
const encoder = (format: StreamFormat, resampler: Resampler | null): Encode => {
  if (format === 'mulaw_8000') return (frame, payload) => PCMU.encode(frame, payload)
  if (resampler === null) return writeL16le
  return (frame, payload) => {
    const samples = resampler.process(frame)
    if (frame === COVERED) payload.fill(0)
    else writeL16le(samples, payload)
  }
}

/**
 * One track of a media stream: encodes its frames, lets 2 s of them wait, and counts. Every frame is eventually sent or dropped: `produced
 * = sent + dropped + waiting`, and a gap in `chunk` is what was dropped.
 *
 * A frame waits until the receiver has read it (`ReadMarkers` of the outbox), in the queue or in the socket; only from the queue can it be
 * dropped. It counts as sent when the kernel has accepted it; when a connection breaks, unconfirmed frames may have been read all the
 * same.
 */
export class StreamTrack {
  sent = 0
  dropped = 0
  /** Time slot of the latest frame; the first slot of a stream is 0. */
  slot = -1
  #produced = 0
  /** Frames given to the wire: in all; up to the last read marker; up to the last confirmed one. For this connection. */
  #handed = 0
  #marked = 0
  #read = 0
  /** The latest frames that the kernel has not accepted. */
  #untaken = 0
  readonly #queue: FrameQueue
  readonly #payload: Uint8Array
  readonly #encode: Encode
  readonly #writer: MediaMessageWriter
  readonly #resampler: Resampler | null

  /** `resampler`: from 8 to 16 kHz for `l16_16000`, else null; closed with the track. */
  constructor(streamId: string, track: Track, format: StreamFormat, resampler: Resampler | null) {
    const payloadBytes = PAYLOAD_BYTES[format]
    this.#queue = new FrameQueue(payloadBytes)
    this.#payload = uint8Array(payloadBytes)
    this.#encode = encoder(format, resampler)
    this.#writer = new MediaMessageWriter(streamId, track, payloadBytes)
    this.#resampler = resampler
  }

  /** Place of the oldest waiting frame among all messages of the stream; Infinity when none waits. */
  get headOrder(): number {
    return this.#queue.headOrder
  }

  /** Frames in the socket of which it is not known that the receiver has read them. */
  get unread(): number {
    return this.#handed - this.#read
  }

  /** Frames that the last read marker confirms. */
  get confirmable(): number {
    return this.#marked - this.#read
  }

  /** Frames in the socket behind the last read marker. */
  get unmarked(): number {
    return this.#handed - this.#marked
  }

  /** Takes the next frame of the track. `order`: its place among all messages of the stream. `timestampMs`: since it began. */
  write(frame: Frame, order: number, timestampMs: number, now: number): void {
    this.#encode(frame, this.#payload)
    if (this.#queue.length + this.unread >= MAX_WAITING_FRAMES) {
      this.#queue.shift()
      this.dropped++
    }
    this.#queue.push(order, ++this.#produced, timestampMs, now, this.#payload)
  }

  /** Drops frames that have waited for more than two seconds at `now` [ms], monotonic. */
  expire(now: number): void {
    while (this.#queue.length > 0 && now - this.#queue.headWrittenAt > MAX_AGE_MS) {
      this.#queue.shift()
      this.dropped++
    }
  }

  /** The message of the oldest waiting frame, which counts as handed to the wire. Borrowed: valid until the next call. */
  next(sequence: number): Buffer {
    const queue = this.#queue
    const { headChunk, headTimestamp, headOffset, payloadBytes } = queue
    queue.shift()
    this.#handed++
    this.#untaken++
    return this.#writer.write(sequence, headChunk, headTimestamp, queue.bytes, headOffset, payloadBytes)
  }

  /** The kernel has taken all that was handed to the wire. */
  taken(): void {
    this.sent += this.#untaken
    this.#untaken = 0
  }

  /** A read marker was sent. */
  mark(): void {
    this.#marked = this.#handed
  }

  /** The last read marker was answered. */
  read(): void {
    this.#read = this.#marked
  }

  /** The connection broke: data it had not passed on is lost. */
  lose(): void {
    this.dropped += this.#untaken
    this.#untaken = 0
    this.#handed = 0
    this.#marked = 0
    this.#read = 0
  }

  /** Nothing more will be sent: what still waits is dropped. Idempotent. */
  close(): void {
    this.dropped += this.#queue.length
    this.#queue.clear()
    this.#resampler?.close()
  }
}

/**
 * The encoded frames of one track that wait to be sent: a ring whose memory is allocated once. When it is full, the oldest frame
 * makes room for the newest.
 */
class FrameQueue {
  readonly payloadBytes: number
  /** The payloads; that of the oldest frame begins at `headOffset`. */
  readonly bytes: Uint8Array
  readonly #orders = float64Array(MAX_WAITING_FRAMES)
  readonly #chunks = float64Array(MAX_WAITING_FRAMES)
  readonly #timestamps = float64Array(MAX_WAITING_FRAMES)
  readonly #writtenAt = float64Array(MAX_WAITING_FRAMES)
  #head = 0
  #length = 0

  constructor(payloadBytes: number) {
    this.payloadBytes = payloadBytes
    this.bytes = uint8Array(MAX_WAITING_FRAMES * payloadBytes)
  }

  get length(): number {
    return this.#length
  }

  /** Place of the oldest frame among all messages of the stream; Infinity when none waits. */
  get headOrder(): number {
    return this.#length === 0 ? Infinity : this.#orders[this.#head]!
  }

  get headChunk(): number {
    return this.#chunks[this.#head]!
  }

  /** [ms] */
  get headTimestamp(): number {
    return this.#timestamps[this.#head]!
  }

  /** Monotonic [ms]. */
  get headWrittenAt(): number {
    return this.#writtenAt[this.#head]!
  }

  get headOffset(): number {
    return this.#head * this.payloadBytes
  }

  /** Appends a copy of `payload`; the caller has made room. */
  push(order: number, chunk: number, timestampMs: number, now: number, payload: Uint8Array): void {
    const at = (this.#head + this.#length) % MAX_WAITING_FRAMES
    this.#orders[at] = order
    this.#chunks[at] = chunk
    this.#timestamps[at] = timestampMs
    this.#writtenAt[at] = now
    copy(this.bytes, payload, at * this.payloadBytes)
    this.#length++
  }

  /** Removes the oldest frame. A queue that is empty begins at the beginning: as long as nothing waits, the same memory is used, which stays in the cache. */
  shift(): void {
    if (this.#length === 0) return
    this.#length--
    this.#head = this.#length === 0 || this.#head + 1 === MAX_WAITING_FRAMES ? 0 : this.#head + 1
  }

  clear(): void {
    this.#length = 0
  }
}

/**
 * Writes the `media` messages of one track, all into the same bytes: what changes from one to the next is three numbers and the
 * payload. The payload stays where it is, and what is before it ends there; so it is written again only when a number is longer or shorter.
 */
export class MediaMessageWriter {
  readonly #bytes: Buffer
  readonly #head: string
  readonly #chunkLabel: string
  /** Where the payload begins: an even number. */
  readonly #payloadAt: number
  readonly #base64: Base64Writer
  readonly #sequence = new Decimal()
  readonly #chunk = new Decimal()
  readonly #timestamp = new Decimal()
  #view: Buffer

  /** `payloadBytes`: bytes of every frame of this stream. */
  constructor(streamId: string, track: Track, payloadBytes: number) {
    this.#head = '{"event":"media","sequenceNumber":"'
    this.#chunkLabel = `","media":{"track":"${track}","chunk":"`
    const tail = Buffer.from(`"},"streamSid":${JSON.stringify(streamId)}}`, 'utf8')
    const longest = `${this.#head}${this.#chunkLabel}${TIMESTAMP_LABEL}${PAYLOAD_LABEL}`.length + 3 * MAX_DIGITS
    this.#payloadAt = longest + (longest & 1)
    const tailAt = this.#payloadAt + base64Length(payloadBytes)
    this.#bytes = Buffer.allocUnsafeSlow(tailAt + tail.length + (tail.length & 1))
    this.#base64 = new Base64Writer(this.#bytes, this.#payloadAt)
    tail.copy(this.#bytes, tailAt)
    this.#view = this.#bytes.subarray(0, tailAt + tail.length)
  }

  /**
   * The message for the `length` payload bytes of `source` from `offset`. `timestampMs`: since the stream began.
   * The result is borrowed: valid until the next call.
   */
  write(
    sequence: number,
    chunk: number,
    timestampMs: number,
    source: Uint8Array,
    offset: number,
    length: number,
  ): Buffer {
    if (!this.#sequence.fits(sequence) || !this.#chunk.fits(chunk) || !this.#timestamp.fits(timestampMs)) {
      this.#layOut(sequence, chunk, timestampMs)
    }
    const bytes = this.#bytes
    this.#sequence.write(bytes, sequence)
    this.#chunk.write(bytes, chunk)
    this.#timestamp.write(bytes, timestampMs)
    this.#base64.write(source, offset, length)
    return this.#view
  }

  #layOut(sequence: number, chunk: number, timestampMs: number): void {
    const parts = [this.#head, sequence, this.#chunkLabel, chunk, TIMESTAMP_LABEL, timestampMs, PAYLOAD_LABEL].map(
      String,
    )
    const end = this.#view.byteOffset + this.#view.length
    const start = this.#payloadAt - parts.join('').length
    this.#bytes.write(parts.join(''), start, 'latin1')
    const endOf = (part: number): number => start + parts.slice(0, part + 1).join('').length
    this.#sequence.place(sequence, endOf(1))
    this.#chunk.place(chunk, endOf(3))
    this.#timestamp.place(timestampMs, endOf(5))
    this.#view = this.#bytes.subarray(start, end)
  }
}

const TIMESTAMP_LABEL = '","timestamp":"'
const PAYLOAD_LABEL = '","payload":"'

const base64Length = (bytes: number): number => 4 * Math.ceil(bytes / 3)

/** A whole number from 0 to 2^53 - 1 in decimal, at a place that is wide enough for as many digits as it has now. */
class Decimal {
  #least = Infinity
  #below = 0
  /** Offset after the last digit. */
  #end = 0

  fits(value: number): boolean {
    return value >= this.#least && value < this.#below
  }

  place(value: number, end: number): void {
    this.#end = end
    this.#below = 10 ** String(value).length
    this.#least = this.#below === 10 ? 0 : this.#below / 10
  }

  /** A number that `fits`. */
  write(bytes: Uint8Array, value: number): void {
    let at = this.#end
    let rest = value
    do {
      const quotient = Math.floor(rest / 10)
      bytes[--at] = ASCII_ZERO + (rest - 10 * quotient)
      rest = quotient
    } while (rest > 0)
  }
}

/** Writes RFC 4648 §4 base64 with padding. Node's own encoder would make a string per frame. */
class Base64Writer {
  readonly #bytes: Buffer
  readonly #at: number
  readonly #pairs: Uint16Array

  /** Writes from `at` on, an even number, into memory of its own. */
  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes
    this.#at = at
    this.#pairs = new Uint16Array(bytes.buffer, bytes.byteOffset + at, (bytes.length - at) >> 1)
  }

  write(src: Uint8Array, offset: number, length: number): void {
    const pairs = this.#pairs
    const left = length % 3
    const whole = offset + length - left
    let to = 0
    for (let i = offset; i < whole; i += 3, to += 2) {
      const bits = (src[i]! << 16) | (src[i + 1]! << 8) | src[i + 2]!
      pairs[to] = PAIRS[bits >> 12]!
      pairs[to + 1] = PAIRS[bits & 0xfff]!
    }
    if (left > 0) this.#writeRest(src, whole, left, this.#at + 2 * to)
  }

  #writeRest(src: Uint8Array, from: number, left: number, at: number): void {
    const bytes = this.#bytes
    const bits = (src[from]! << 16) | (left === 2 ? src[from + 1]! << 8 : 0)
    bytes[at] = BASE64[bits >> 18]!
    bytes[at + 1] = BASE64[(bits >> 12) & 63]!
    bytes[at + 2] = left === 2 ? BASE64[(bits >> 6) & 63]! : PAD
    bytes[at + 3] = PAD
  }
}
