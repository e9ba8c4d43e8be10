/** The delay is worth cutting when every packet of a second had this much to spare [ms]: one frame less leaves one frame. */
const SPARE_ENOUGH_MS = 42
/** So much to spare is no jitter but a burst that was queued somewhere: cut a frame, after some patience an audible one [ms]. */
const SPARE_EXCESSIVE_MS = 80
/** How long an excess waits for a silent frame, ticks. */
const PATIENCE_TICKS = 50
const SMOOTHING = 1 / 16

/**
 * Decides when a jitter buffer waits one frame more or less. It knows no target but watches the time to spare of each
 * packet, from its arrival to the tick that needs it, so that a drifting sender clock is followed by the same rules.
 */
export class PlayoutDelay {
  readonly #frameMs: number
  readonly #maxDelayMs: number
  readonly #ticksPerSecond: number
  #smoothedMs = Number.NaN
  #leastMs = Number.POSITIVE_INFINITY
  /** The most that a packet of the present second, and of the one before, had to spare. */
  #mostMs = 0
  #mostBeforeMs = 0
  #ticks = 0
  #shrinkDue = false
  #isExcessive = false
  #dueTicks = 0
  #grewThisTick = false

  /** @param maxDelayMs what the fastest packets may wait at most, as far as growing goes */
  constructor(frameMs: number, maxDelayMs: number) {
    this.#frameMs = frameMs
    this.#maxDelayMs = maxDelayMs
    this.#ticksPerSecond = Math.round(1_000 / frameMs)
  }

  /** From arrival to playout, smoothed over some 16 packets that were in time [ms]; 0 before the first one. */
  get smoothedMs(): number {
    return Number.isNaN(this.#smoothedMs) ? 0 : this.#smoothedMs
  }

  /** One frame should be left out; if it can be, a silent one. */
  get shrinkDue(): boolean {
    return this.#shrinkDue
  }

  /**
   * The excess is large and no silent frame came: leave out the next one, whatever it holds. A smaller one waits for the
   * silence that every speaker makes, since a frame cut out of speech is worse than 60 ms of delay.
   */
  get overdue(): boolean {
    return this.#isExcessive && this.#dueTicks > PATIENCE_TICKS
  }

  /** @param spareMs of a packet that just came; negative when it came too late */
  observe(spareMs: number): void {
    if (spareMs < this.#leastMs) this.#leastMs = spareMs
    if (spareMs < 0) return
    if (spareMs > this.#mostMs) this.#mostMs = spareMs
    this.#smoothedMs = Number.isNaN(this.#smoothedMs)
      ? spareMs
      : this.#smoothedMs + (spareMs - this.#smoothedMs) * SMOOTHING
  }

  /** Asks to wait one frame more after a late packet; granted once per tick and within the bound. */
  grow(latenessMs: number): boolean {
    if (this.#grewThisTick || latenessMs > this.#maxDelayMs) return false
    if (Math.max(this.#mostMs, this.#mostBeforeMs) + this.#frameMs > this.#maxDelayMs) return false
    this.#grewThisTick = true
    this.#shift(this.#frameMs)
    return true
  }

  /** One frame was left out. */
  shrank(): void {
    this.#shift(-this.#frameMs)
  }

  tick(): void {
    this.#grewThisTick = false
    if (this.#isExcessive) this.#dueTicks++
    this.#ticks++
    if (this.#ticks < this.#ticksPerSecond) return
    const leastMs = this.#leastMs
    this.#ticks = 0
    this.#leastMs = Number.POSITIVE_INFINITY
    this.#mostBeforeMs = this.#mostMs
    this.#mostMs = 0
    // A second without packets says nothing about the network.
    if (leastMs === Number.POSITIVE_INFINITY) return
    this.#shrinkDue = leastMs >= SPARE_ENOUGH_MS
    this.#isExcessive = leastMs >= SPARE_EXCESSIVE_MS
    if (!this.#isExcessive) this.#dueTicks = 0
  }

  reset(): void {
    this.#smoothedMs = Number.NaN
    this.#mostMs = 0
    this.#mostBeforeMs = 0
    this.#startOver()
  }

  /** What was measured moves with the delay, so that a decision counts before the next packet. */
  #shift(byMs: number): void {
    this.#smoothedMs = Math.max(0, this.smoothedMs + byMs)
    this.#mostMs = Math.max(0, this.#mostMs + byMs)
    this.#mostBeforeMs = Math.max(0, this.#mostBeforeMs + byMs)
    this.#startOver()
  }

  #startOver(): void {
    this.#leastMs = Number.POSITIVE_INFINITY
    this.#ticks = 0
    this.#shrinkDue = false
    this.#isExcessive = false
    this.#dueTicks = 0
  }
}
