/** Frames that may wait for a receiver, per track: 2 s. */
export const MAX_WAITING_FRAMES = 100
/** How long they may wait [ms]. */
export const MAX_AGE_MS = 2000

/**
 * The encoded frames of one track that wait to be sent: a ring whose memory is allocated once. When it is full, the oldest frame
 * makes room for the newest.
 */
export class FrameQueue {
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
