import { Unwrapper } from './rtp.ts'

/** Timestamp units of a millisecond: all audio here is of 8 kHz. */
const UNITS_PER_MS = 8
/** The sender's clock may run slower than ours by this much: the reference of the fastest packet moves on accordingly [ms/ms]. */
const DRIFT = 0.001
/** A larger difference is not a delay: the sender's timestamps have restarted [ms]. */
const MAX_DELAY_MS = 10_000

/**
 * When something was sent, on our clock, by its RTP timestamp: as if it had travelled as fast as the fastest packet. So a key whose
 * packets were delayed counts by the time of its press. A sender that stood still without counting that time in its timestamps looks the same:
 * what it sends counts as sent earlier, so a key soon after a card-payment pause rather counts as one of it. Pure: `now` is monotonic [ms].
 */
export class SenderClock {
  readonly #timestamps = new Unwrapper(32)
  /** Our clock at timestamp 0 of theirs, by the fastest packet [ms]. */
  #originMs = Number.NaN
  #lastMs = 0

  /** A packet of audio has arrived. */
  observe(timestamp: number, now: number): void {
    const originMs = now - this.#timestamps.unwrap(timestamp) / UNITS_PER_MS
    const expected = this.#originMs + DRIFT * (now - this.#lastMs)
    const isKnown = Math.abs(originMs - expected) < MAX_DELAY_MS
    this.#originMs = isKnown ? Math.min(expected, originMs) : originMs
    this.#lastMs = now
  }

  /** Returns `now` if the time is unknown: the sender was not heard yet, or its timestamps make no sense. */
  timeOf(timestamp: number, now: number): number {
    const sentAt = this.#originMs + this.#timestamps.peek(timestamp) / UNITS_PER_MS
    return sentAt < now && now - sentAt < MAX_DELAY_MS ? sentAt : now
  }

  /** Another sender: nothing is known about it. */
  reset(): void {
    this.#timestamps.reset()
    this.#originMs = Number.NaN
  }
}
