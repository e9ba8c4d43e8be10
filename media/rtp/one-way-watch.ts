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
  readonly #limitMs: number
  #since = Infinity
  #isTold = false
  /** No packet yet since audio was expected. */
  #isFresh = true
  #suppressesSilence = false

  constructor(limitMs = ONE_WAY_MS) {
    this.#limitMs = limitMs
  }

  /** From now on [ms] its audio should come: it was connected, or taken off hold. */
  expect(now: number): void {
    this.#since = now
    this.#isFresh = true
  }

  /** A packet of it came. `begins`: it says that a talkspurt begins with it. */
  heard(now: number, begins: boolean): void {
    if (begins && !this.#isFresh && now - this.#since > GAP_MS) this.#suppressesSilence = true
    this.#isFresh = false
    this.#isTold = false
    this.#since = this.#suppressesSilence ? Infinity : now
  }

  /** It says that it falls silent. */
  fellSilent(): void {
    this.#isFresh = false
    this.#isTold = false
    this.#since = Infinity
  }

  /** Whether it is to be told of now; true once for each time. */
  isDue(now: number): boolean {
    if (this.#isTold || now - this.#since < this.#limitMs) return false
    this.#isTold = true
    return true
  }
}
