import type { Frame } from '../../codecs/audio.ts'
import { PCMU } from '../../codecs/g711.ts'
import { writeL16le } from '../../codecs/l16.ts'
import type { Resampler } from '../../codecs/resample.ts'
import type { StreamFormat } from '../protocol.ts'
import type { Track } from '../rooms/sink.ts'
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

type Encode = (frame: Frame, payload: Uint8Array) => void

/** Encodes 20 ms at 8 kHz. The resampler's state belongs to the track: one for each. */
const encoder = (format: StreamFormat, resampler: Resampler | null): Encode => {
  if (format === 'mulaw_8000') return (frame, payload) => PCMU.encode(frame, payload)
  if (resampler === null) return writeL16le
  return (frame, payload) => writeL16le(resampler.process(frame), payload)
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
    this.#payload = new Uint8Array(payloadBytes)
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
  readonly #orders = new Float64Array(MAX_WAITING_FRAMES)
  readonly #chunks = new Float64Array(MAX_WAITING_FRAMES)
  readonly #timestamps = new Float64Array(MAX_WAITING_FRAMES)
  readonly #writtenAt = new Float64Array(MAX_WAITING_FRAMES)
  #head = 0
  #length = 0

  constructor(payloadBytes: number) {
    this.payloadBytes = payloadBytes
    this.bytes = new Uint8Array(MAX_WAITING_FRAMES * payloadBytes)
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
    this.bytes.set(payload, at * this.payloadBytes)
    this.#length++
  }

  /** Removes the oldest frame. */
  shift(): void {
    if (this.#length === 0) return
    this.#head = (this.#head + 1) % MAX_WAITING_FRAMES
    this.#length--
  }

  clear(): void {
    this.#length = 0
  }
}

/**
 * Writes the `media` messages of one track, all into the same bytes: what changes from one to the next is three numbers and the
 * payload. Nothing is allocated but a view, when the message's length changes.
 */
export class MediaMessageWriter {
  readonly #bytes: Buffer
  readonly #numbersAt: number
  readonly #chunkLabel: Buffer
  readonly #timestampLabel = Buffer.from('","timestamp":"', 'latin1')
  readonly #payloadLabel = Buffer.from('","payload":"', 'latin1')
  readonly #tail: Buffer
  #view: Buffer

  /** `payloadBytes`: bytes of every frame of this stream. */
  constructor(streamId: string, track: Track, payloadBytes: number) {
    const head = Buffer.from('{"event":"media","sequenceNumber":"', 'latin1')
    this.#chunkLabel = Buffer.from(`","media":{"track":"${track}","chunk":"`, 'latin1')
    this.#tail = Buffer.from(`"},"streamSid":${JSON.stringify(streamId)}}`, 'utf8')
    const fixed = [head, this.#chunkLabel, this.#timestampLabel, this.#payloadLabel, this.#tail]
    const longest = fixed.reduce((sum, part) => sum + part.length, 0) + 3 * MAX_DIGITS + base64Length(payloadBytes)
    this.#bytes = Buffer.alloc(longest)
    this.#numbersAt = head.copy(this.#bytes, 0)
    this.#view = this.#bytes
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
    const bytes = this.#bytes
    let at = writeDecimal(bytes, this.#numbersAt, sequence)
    bytes.set(this.#chunkLabel, at)
    at = writeDecimal(bytes, at + this.#chunkLabel.length, chunk)
    bytes.set(this.#timestampLabel, at)
    at = writeDecimal(bytes, at + this.#timestampLabel.length, timestampMs)
    bytes.set(this.#payloadLabel, at)
    at = writeBase64(bytes, at + this.#payloadLabel.length, source, offset, length)
    bytes.set(this.#tail, at)
    at += this.#tail.length
    if (this.#view.length !== at) this.#view = bytes.subarray(0, at)
    return this.#view
  }
}

const base64Length = (bytes: number): number => 4 * Math.ceil(bytes / 3)

/** Writes a whole number from 0 to 2^53 - 1 in decimal; returns the offset after it. */
function writeDecimal(dst: Uint8Array, at: number, value: number): number {
  let digits = 1
  for (let bound = 10; value >= bound; bound *= 10) digits++
  let rest = value
  for (let place = at + digits - 1; place >= at; place--) {
    const quotient = Math.floor(rest / 10)
    dst[place] = ASCII_ZERO + (rest - 10 * quotient)
    rest = quotient
  }
  return at + digits
}

/** Writes RFC 4648 §4 base64 with padding; returns the offset after it. Node's own encoder would make a string per frame. */
function writeBase64(dst: Uint8Array, start: number, src: Uint8Array, offset: number, length: number): number {
  const whole = offset + length - (length % 3)
  let at = start
  for (let i = offset; i < whole; i += 3, at += 4) {
    const bits = (src[i]! << 16) | (src[i + 1]! << 8) | src[i + 2]!
    dst[at] = BASE64[bits >> 18]!
    dst[at + 1] = BASE64[(bits >> 12) & 63]!
    dst[at + 2] = BASE64[(bits >> 6) & 63]!
    dst[at + 3] = BASE64[bits & 63]!
  }
  const left = length % 3
  if (left === 0) return at
  const bits = (src[whole]! << 16) | (left === 2 ? src[whole + 1]! << 8 : 0)
  dst[at] = BASE64[bits >> 18]!
  dst[at + 1] = BASE64[(bits >> 12) & 63]!
  dst[at + 2] = left === 2 ? BASE64[(bits >> 6) & 63]! : PAD
  dst[at + 3] = PAD
  return at + 4
}
