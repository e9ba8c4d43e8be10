/**
 * What became of the frames that were due from a party: played, or concealed, and in which bursts. If audio continues after
 * a silence, as much of the silence counts as loss as packets are missing; the rest is a pause of the speaker.
 */
export class HeardFrames {
  played = 0
  concealed = 0
  /** Bursts of concealed frames. */
  bursts = 0
  readonly #missing: () => number
  #run = 0
  #hasSilence = false
  #counted = 0
  #accounted = 0

  /** @param missing number of packets lost so far */
  constructor(missing: () => number) {
    this.#missing = missing
  }

  /** To be called once per tick. @param concealed frames concealed so far */
  note(isHeard: boolean, concealed: number): void {
    const isConcealed = concealed > this.#counted
    this.#counted = concealed
    if (isHeard && !isConcealed) {
      this.played++
      if (this.#run > 0) this.#goesOn()
      return
    }
    // Silence without preceding concealment is a pause.
    if (!isHeard && this.#run === 0) return
    this.#run++
    this.#hasSilence ||= !isHeard
  }

  /** A packet was relayed, after this many missing ones, which the receiver conceals. */
  passed(missing: number): void {
    this.played++
    if (missing === 0) return
    this.#accounted = this.#missing()
    this.bursts++
    this.concealed += missing
  }

  #goesOn(): void {
    const missing = this.#missing()
    const run = this.#hasSilence ? Math.min(this.#run, missing - this.#accounted) : this.#run
    this.#accounted = missing
    this.#run = 0
    this.#hasSilence = false
    if (run <= 0) return
    this.bursts++
    this.concealed += run
  }

  /** Another source, whose missing packets are counted from zero. */
  newSource(): void {
    this.#accounted = 0
    this.#run = 0
    this.#hasSilence = false
  }

  /** Share of all frames [%]. */
  get concealedPercent(): number {
    const all = this.played + this.concealed
    return all === 0 ? 0 : (100 * this.concealed) / all
  }

  /** Mean burst length relative to random loss (ITU-T G.107 §7.5); 1 without loss. */
  get burstRatio(): number {
    if (this.bursts === 0) return 1
    return Math.max(1, (this.concealed / this.bursts) * (1 - this.concealedPercent / 100))
  }
}
