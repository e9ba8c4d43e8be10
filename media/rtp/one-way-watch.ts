/** A party of which no audio has come for this long, although it should, is told of [ms]. */
export const ONE_WAY_MS = 5_000

/** A gap that is none of the network's jitter [ms]. */
const GAP_MS = 200

/**
 * Tells once for each time that a party's audio does not come, or stops coming: one-way audio, most often a firewall or a NAT. Who
 * says by comfort noise that it falls silent (RFC 3389 §4), or begins each talkspurt with a marker (RFC 3551 §4.1), falls silent on
 * purpose.
 */
export class OneWayWatch {
  /** When a packet of it came last [ms]. Its owner writes it with each one; what follows from it is found when somebody asks. */
  heardAt = Number.NEGATIVE_INFINITY
  readonly #limitMs: number
  #since = Infinity
  #isTold = false
  /** No packet yet since audio was expected. */
  #isFresh = true
  #suppressesSilence = false
  /** Up to which packet all is settled. */
  #settledAt = Number.NEGATIVE_INFINITY

  constructor(limitMs = ONE_WAY_MS) {
    this.#limitMs = limitMs
  }

  /** From now on [ms] its audio should come: it was connected, or taken off hold. */
  expect(now: number): void {
    this.#settle()
    this.#since = now
    this.#isFresh = true
  }

  /** A packet of it came that says that a talkspurt begins with it. */
  begins(now: number): void {
    this.#settle()
    if (!this.#isFresh && now - this.#since > GAP_MS) this.#suppressesSilence = true
    this.heardAt = now
    this.#heard(now)
  }

  /** It says that it falls silent. */
  fellSilent(): void {
    this.#settle()
    this.#isFresh = false
    this.#isTold = false
    this.#since = Infinity
  }

  /** Whether it is to be told of now; true once for each time. */
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
