import type { Frame } from '../../codecs/audio.ts'
import { writeL16le } from '../../codecs/l16.ts'
import type { Resampler } from '../../codecs/resample.ts'
import { encodeUlaw } from '../../codecs/ulaw.ts'
import type { StreamFormat } from '../protocol.ts'
import type { Track } from '../rooms/sink.ts'
import { MediaMessageWriter, PAYLOAD_BYTES } from './stream-messages.ts'
import { FrameQueue, MAX_AGE_MS, MAX_WAITING_FRAMES } from './stream-queue.ts'

type Encode = (frame: Frame, payload: Uint8Array) => void

/** Encodes 20 ms at 8 kHz. The resampler's state belongs to the track: one for each. */
const encoder = (format: StreamFormat, resampler: Resampler | null): Encode => {
  if (format === 'mulaw_8000') return encodeUlaw
  if (resampler === null) return writeL16le
  return (frame, payload) => writeL16le(resampler.process(frame), payload)
}

/**
 * One track of a media stream: encodes its frames, lets 2 s of them wait, and counts. Every frame is in the end sent or dropped:
 * `produced = sent + dropped + waiting`, and a gap in `chunk` is what was dropped.
 *
 * A frame waits until the receiver has read it (`stream-markers`), in the queue or in the socket; only from the queue can it be
 * dropped. It is sent when the kernel has taken it: what a broken connection left unread may have been read all the same.
 */
export class StreamTrack {
  sent = 0
  dropped = 0
  /** Time slot of the latest frame; the first slot of a stream is 0. */
  slot = -1
  #produced = 0
  /** Frames given to the wire: in all; up to the last read marker; up to the last one that was answered. Of this connection. */
  #handed = 0
  #marked = 0
  #read = 0
  /** Of those given to the wire, the last ones that the kernel has not taken. */
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

  /** Drops what has waited for more than two seconds at `now` [ms], monotonic: nobody wants to hear it. */
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

  /** The connection broke: what it had not passed on is lost. */
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
