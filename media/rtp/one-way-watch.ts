/** Audio that is missing for this long, although expected, is reported [ms]. */
const ONE_WAY_MS = 5_000

/** A gap larger than network jitter [ms]. */
const GAP_MS = 200

/**
 * Reports each time that a party's audio does not arrive, or stops arriving: one-way audio, most often caused by a firewall or a NAT. A party
 * that announces silence by comfort noise (RFC 3389 §4), or begins each talkspurt with a marker (RFC 3551 §4.1), is silent on
 * purpose.
 */
export class OneWayWatch {
  /** Arrival of its last packet [ms], written by the owner. The consequences are evaluated on demand. */
  heardAt = Number.NEGATIVE_INFINITY
  readonly #limitMs: number
  #since = Infinity
  #isTold = false
  /** No packet yet since audio is expected. */
  #isFresh = true
  #suppressesSilence = false
  /** The last packet that was evaluated. */
  #settledAt = Number.NEGATIVE_INFINITY

  constructor(limitMs = ONE_WAY_MS) {
    this.#limitMs = limitMs
  }

  /** From now on [ms] its audio should arrive: it was connected, or taken off hold. */
  expect(now: number): void {
    this.#settle()
    this.#since = now
    this.#isFresh = true
  }

  /** A packet marked the beginning of a talkspurt. */
  begins(now: number): void {
    this.#settle()
    if (!this.#isFresh && now - this.#since > GAP_MS) this.#suppressesSilence = true
    this.heardAt = now
    this.#heard(now)
  }

  /** It announced silence. */
  fellSilent(): void {
    this.#settle()
    this.#isFresh = false
    this.#isTold = false
    this.#since = Infinity
  }

  /** Whether it must be reported now; true once per occurrence. */
  isDue(now: number): boolean {
    this.#settle()
    if (this.#isTold || now - this.#since < this.#limitMs) return false
    this.#isTold = true
    return true
  }

  #settle(): void {
    if (this.heardAt > this.#settledAt) this.#heard(this.heardAt)
  }

  #heard(at: number): void {
    this.#settledAt = at
    this.#isFresh = false
    this.#isTold = false
    this.#since = this.#suppressesSilence ? Infinity : at
  }
}
