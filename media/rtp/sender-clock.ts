import { Unwrapper } from './rtp.ts'

/** Timestamp units of a millisecond: all audio here is of 8 kHz. */
const UNITS_PER_MS = 8
/** The sender's clock may run slower than ours by this much: the reference of the fastest packet moves on accordingly [ms/ms]. */
const DRIFT = 0.001
/** A larger difference is not a delay: the sender's timestamps have restarted [ms]. */
const MAX_DELAY_MS = 10_000
/** Audio for this long, with this many round trips and without a longer gap, tells a sender that stood still from a slow network [ms]. */
const STEADY_MS = 10_000
const ROUND_TRIPS = 2
const GAP_MS = 1000

/**
 * When something was sent, on our clock, by its RTP timestamp: as if it had travelled as fast as the fastest packet. So a key whose
 * packets were delayed counts by the time of its press. A sender that stood still without counting that time in its timestamps looks the same:
 * what it sends counts as sent earlier, so a key soon after a card-payment pause rather counts as one of it. It is told from a slow network by round
 * trips (RFC 3550 §6.4.1), which no packet's way to us takes longer than: where all audio of a while seems to be later than that, the sender stood still.
 * Pure: `now` is monotonic [ms].
 */
export class SenderClock {
  readonly #timestamps = new Unwrapper(32)
  /** Our clock at timestamp 0 of theirs, by the fastest packet [ms]. */
  #originMs = Number.NaN
  #lastMs = 0
  #roundTripMs: number | null = null
  /** No packet of late was on its way for longer, by the slower one of two round trips [ms]; 0: not known. */
  #travelMs = 0
  /** Audio has come without a gap since then, NaN: there was none; its least origin; round trips in that time, and the slowest of them [ms]. */
  #steadySince = Number.NaN
  #steadyOriginMs = 0
  #roundTrips = 0
  #slowestMs = 0

  /** A packet of audio has arrived. */
  observe(timestamp: number, now: number): void {
    const originMs = now - this.#timestamps.unwrap(timestamp) / UNITS_PER_MS
    const expected = this.#originMs + DRIFT * (now - this.#lastMs)
    const isKnown = Math.abs(originMs - expected) < MAX_DELAY_MS
    this.#originMs = isKnown ? Math.min(expected, originMs) : originMs
    this.#steadyAt(originMs, now)
    this.#lastMs = now
  }

  /** A round trip was measured. */
  travels(roundTripMs: number): void {
    this.#travelMs = Math.max(roundTripMs, this.#roundTripMs ?? 0)
    this.#roundTripMs = roundTripMs
    this.#roundTrips++
    this.#slowestMs = Math.max(this.#slowestMs, roundTripMs)
  }

  #steadyAt(originMs: number, now: number): void {
    const isOver = now - this.#steadySince >= STEADY_MS && this.#roundTrips >= ROUND_TRIPS
    // The fastest packet of that time took no longer than a round trip: the rest of its delay is time in which the sender stood still.
    if (isOver && this.#steadyOriginMs - this.#originMs > this.#slowestMs) this.#originMs = this.#steadyOriginMs
    if (isOver || !(now - this.#lastMs < GAP_MS) || Number.isNaN(this.#steadySince)) {
      this.#steadySince = now
      this.#steadyOriginMs = originMs
      this.#roundTrips = 0
      this.#slowestMs = 0
    } else this.#steadyOriginMs = Math.min(this.#steadyOriginMs, originMs)
  }

  /** Returns `now` if the time is unknown: the sender was not heard yet, or its timestamps make no sense. */
  timeOf(timestamp: number, now: number): number {
    const sentAt = this.#originMs + this.#timestamps.peek(timestamp) / UNITS_PER_MS
    return sentAt < now && now - sentAt < MAX_DELAY_MS ? sentAt : now
  }

  /** The earliest time at which it can have been sent: what no packet of late was faster than is part of its way, too. Where no round trip was measured, as `timeOf`. */
  earliestOf(timestamp: number, now: number): number {
    return this.timeOf(timestamp, now) - this.#travelMs
  }

  /** Another sender: nothing is known about it. */
  reset(): void {
    this.#timestamps.reset()
    this.#originMs = Number.NaN
    this.#steadySince = Number.NaN
  }
}
