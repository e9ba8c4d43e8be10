import { Unwrapper } from './rtp.ts'

/** Timestamp units of a millisecond: all audio here is of 8 kHz. */
const UNITS_PER_MS = 8
/** The sender's clock may run slower than ours by so much: what is taken for the fastest way moves on with it [ms/ms]. */
const DRIFT = 0.001
/** Further off than this it is no delay: the sender's timestamps have started anew [ms]. */
const MAX_DELAY_MS = 10_000

/**
 * When something was sent, by its RTP timestamp, on our clock: as if it had travelled as fast as the fastest packet. So a key whose
 * packets were held up on their way counts by when it was pressed. Pure: `now` is monotonic [ms].
 */
export class SenderClock {
  readonly #timestamps = new Unwrapper(32)
  /** Our clock at timestamp 0 of theirs, by the fastest packet [ms]. */
  #originMs = Number.NaN
  #lastMs = 0

  /** A packet of audio has come. */
  observe(timestamp: number, now: number): void {
    const originMs = now - this.#timestamps.unwrap(timestamp) / UNITS_PER_MS
    const expected = this.#originMs + DRIFT * (now - this.#lastMs)
    const isKnown = Math.abs(originMs - expected) < MAX_DELAY_MS
    this.#originMs = isKnown ? Math.min(expected, originMs) : originMs
    this.#lastMs = now
  }

  /** `now` for what cannot be told: nothing was heard of the sender yet, or its timestamps make no sense. */
  timeOf(timestamp: number, now: number): number {
    const sentAt = this.#originMs + this.#timestamps.peek(timestamp) / UNITS_PER_MS
    return sentAt < now && now - sentAt < MAX_DELAY_MS ? sentAt : now
  }

  /** Another sender: nothing is known of it. */
  reset(): void {
    this.#timestamps.reset()
    this.#originMs = Number.NaN
  }
}
