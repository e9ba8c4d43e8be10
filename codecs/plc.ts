/**
 * Packet-loss concealment for 8 kHz speech in the spirit of ITU-T G.711 Appendix I: the last pitch periods are
 * repeated and faded out. Two differences: the Appendix delays everything by 3.75 ms so that it can overlap the last
 * good samples too; here nothing is delayed and good frames are bit exact, and the step at the joint is spread over
 * the first quarter period instead. And the fade is continuous, not per 10 ms.
 */
const MIN_PITCH = 40
const MAX_PITCH = 120
const MAX_PERIODS = 3
const MAX_OVERLAP = 80
/** Samples of the past that are compared with what came one period earlier. */
const CORRELATION = 160
const HISTORY = MAX_PERIODS * MAX_PITCH + MAX_PITCH / 4
/** Room to append, so that the history is moved to the front only now and then. */
const HISTORY_ROOM = HISTORY + 1600
const TEN_MS = 80
/** The repetition keeps its level for 10 ms, then falls by a fifth each 10 ms: silence after 60 ms (§I.2.7). */
const FADE_FROM = TEN_MS
const FADE_TO = 6 * TEN_MS
/** The fade-in of the next good frame grows by 4 ms for each 10 ms lost, up to 10 ms (§I.2.6). */
const OVERLAP_PER_LOST = 0.4

/** Conceals the losses of one stream. Call exactly one of `good` and `conceal` per frame, in order of play-out. */
export class Plc {
  /** What was played; the history is the last samples before `#end`. */
  readonly #played = new Int16Array(HISTORY_ROOM)
  #end = HISTORY
  /** The history as it stood when the loss began: the periods to repeat. */
  readonly #past = new Int16Array(HISTORY)
  readonly #tail = new Float64Array(MAX_OVERLAP)
  #lost = 0
  #pitch = MIN_PITCH
  #periods = 1
  /** Next sample to repeat, counted from the start of the repeated periods. */
  #at = 0
  /** Step between the last good sample and what the repetition would put before its first, spread out from there. */
  #step = 0

  /** Samples concealed since the last good frame. */
  get lostSamples(): number {
    return this.#lost
  }

  /** Takes a received frame. Only after a loss its start is changed, in place: faded in over the repetition. */
  good(frame: Int16Array): void {
    if (this.#lost > 0) this.#fadeIn(frame)
    this.#remember(frame)
  }

  /** Fills `out` with a guess of the frame that did not come. */
  conceal(out: Int16Array): void {
    if (this.#lost === 0) this.#begin()
    for (let i = 0; i < out.length; i++) {
      // The longer the loss, the more periods are repeated, lest it sound like a buzzer (§I.2.5).
      if (this.#lost === this.#periods * TEN_MS && this.#periods < MAX_PERIODS) this.#addPeriod()
      out[i] = this.#next()
    }
    this.#remember(out)
  }

  /** Forgets the stream, as at its start. */
  reset(): void {
    this.#played.fill(0)
    this.#lost = 0
  }

  #remember(frame: Int16Array): void {
    const kept = frame.length > HISTORY ? frame.subarray(frame.length - HISTORY) : frame
    if (this.#end + kept.length > HISTORY_ROOM) {
      this.#played.copyWithin(0, this.#end - HISTORY, this.#end)
      this.#end = HISTORY
    }
    this.#played.set(kept, this.#end)
    this.#end += kept.length
  }

  #begin(): void {
    this.#past.set(this.#played.subarray(this.#end - HISTORY, this.#end))
    this.#pitch = findPitch(this.#past)
    this.#periods = 1
    this.#at = 0
    this.#step = this.#past[HISTORY - 1]! - this.#past[HISTORY - 1 - this.#pitch]!
  }

  #next(): number {
    const gain = this.#lost <= FADE_FROM ? 1 : Math.max(0, (FADE_TO - this.#lost) / (FADE_TO - FADE_FROM))
    const quarter = this.#pitch >> 2
    let sample = this.#repeat()
    if (this.#lost < quarter) {
      sample += this.#step * (1 - this.#lost / quarter)
    } else {
      // The joint to more periods: what the shorter repetition would have played fades out.
      const since = this.#lost - (this.#periods - 1) * TEN_MS
      if (this.#periods > 1 && since < quarter) sample += (this.#tail[since]! - sample) * (1 - since / quarter)
    }
    this.#lost++
    return Math.max(-32_768, Math.min(32_767, Math.round(gain * sample)))
  }

  /** The next sample of the repeated periods; their last quarter period is blended so that end and start meet. */
  #repeat(): number {
    const length = this.#periods * this.#pitch
    const start = HISTORY - length
    const quarter = this.#pitch >> 2
    const at = this.#at
    this.#at = at + 1 === length ? 0 : at + 1
    const sample = this.#past[start + at]!
    const left = length - at
    if (left > quarter) return sample
    const before = this.#past[start - left]!
    return before + (sample - before) * ((left - 1) / quarter)
  }

  #addPeriod(): void {
    const at = this.#at
    for (let i = 0; i < this.#pitch >> 2; i++) this.#tail[i] = this.#repeat()
    this.#periods++
    this.#at = at % this.#pitch
  }

  #fadeIn(frame: Int16Array): void {
    const overlap = Math.min(
      Math.round((this.#pitch >> 2) + OVERLAP_PER_LOST * (this.#lost - TEN_MS)),
      MAX_OVERLAP,
      frame.length,
    )
    for (let i = 0; i < overlap; i++) {
      const repeated = this.#next()
      frame[i] = Math.round(repeated + (frame[i]! - repeated) * ((i + 1) / (overlap + 1)))
    }
    this.#lost = 0
  }
}

/** The lag at which the end of `past` resembles what came before it most, by normalised correlation [samples]. */
function findPitch(past: Int16Array): number {
  let best = MAX_PITCH
  let bestScore = 0
  for (let lag = MIN_PITCH; lag <= MAX_PITCH; lag++) {
    let correlation = 0
    let energy = 1
    for (let i = HISTORY - CORRELATION; i < HISTORY; i++) {
      const before = past[i - lag]!
      correlation += past[i]! * before
      energy += before * before
    }
    const score = correlation / Math.sqrt(energy)
    if (score > bestScore) {
      best = lag
      bestScore = score
    }
  }
  return best
}
