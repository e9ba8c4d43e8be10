/**
 * What became of the frames that a party's audio was owed: played as they came, or concealed, and in which runs. Where audio goes on after
 * a silence, as much of that was a loss as packets are missing; the rest is a pause of who speaks.
 */
export class HeardFrames {
  played = 0
  concealed = 0
  /** Runs of concealed frames. */
  bursts = 0
  readonly #missing: () => number
  #run = 0
  #hasSilence = false
  #counted = 0
  #accounted = 0

  /** @param missing packets that are lost so far */
  constructor(missing: () => number) {
    this.#missing = missing
  }

  /** To be called once per tick. @param concealed frames that were concealed so far */
  note(isHeard: boolean, concealed: number): void {
    const isConcealed = concealed > this.#counted
    this.#counted = concealed
    if (isHeard && !isConcealed) {
      this.played++
      if (this.#run > 0) this.#goesOn()
      return
    }
    // Silence that nothing was concealed before is a pause.
    if (!isHeard && this.#run === 0) return
    this.#run++
    this.#hasSilence ||= !isHeard
  }

  /** A packet went on as it came, behind so many that are missing: who hears it conceals those. */
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

  /** Another source, whose missing packets are counted anew. */
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

  /** Mean length of the runs against that of random loss (ITU-T G.107 §7.5); 1 while there was no loss. */
  get burstRatio(): number {
    if (this.bursts === 0) return 1
    return Math.max(1, (this.concealed / this.bursts) * (1 - this.concealedPercent / 100))
  }
}
