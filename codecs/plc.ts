import { float64Array, int16Array, uint16Array } from './arrays.ts'
import { compare, copy, energies, products, SEARCHED } from './kernels/frames.ts'

/**
 * Packet-loss concealment for speech in the spirit of ITU-T G.711 Appendix I: the last pitch periods are repeated and
 * faded out. There are two differences. The Appendix delays everything by 3.75 ms to overlap the last good samples too;
 * here nothing is delayed, good frames are bit exact, and what the last good samples differ from the repetition by goes on
 * as it sounds, and fades over the first quarter period. And the fade is continuous, not per 10 ms.
 */
/** For 8 kHz [samples]; for 16 kHz all are doubled. */
const BASE_FRAME = 160
const MIN_PITCH = 40
const MAX_PITCH = 120
const MAX_PERIODS = 3
const MAX_OVERLAP = 80
/** Samples of a guess that are compared with, and fade into, a frame that goes on from it. */
const STEP = 40
/** Samples of the past that are compared with what came one period earlier. */
const CORRELATION = 160
const HISTORY = MAX_PERIODS * MAX_PITCH + MAX_PITCH / 4
/** Places in the ring of `PlayedFrames`: frames of 20 ms that hold the history, and the one that is played next. */
export const PLAYED_FRAMES = 4
const TEN_MS = 80
/** The repetition keeps its level for 10 ms, then falls by a fifth each 10 ms: silence after 60 ms (§I.2.7). */
const FADED_AFTER = 6
/** The fade-in of the next good frame grows by 4 ms for each 10 ms lost, up to 10 ms (§I.2.6). */
const OVERLAP_PER_LOST = 0.4

/** The frames that were played last, in a ring: where nothing is lost, to write each into the next place is all that is to be done. */
export class PlayedFrames {
  readonly frames: readonly Int16Array[]
  /** Place of the newest. */
  at = 0

  /** @param samples of a frame: 20 ms */
  constructor(samples: number) {
    this.frames = Array.from({ length: PLAYED_FRAMES }, () => int16Array(samples))
  }

  /** These samples, less than a frame, were played between the newest and the one before it: what is older makes room for them. */
  insert(samples: Int16Array): void {
    for (let back = PLAYED_FRAMES - 1; back > 0; back--) {
      const frame = this.frames[(this.at - back + PLAYED_FRAMES) % PLAYED_FRAMES]!
      const next = back === 1 ? samples : this.frames[(this.at - back + 1 + PLAYED_FRAMES) % PLAYED_FRAMES]!
      frame.copyWithin(0, samples.length)
      frame.set(next.subarray(0, samples.length), frame.length - samples.length)
    }
  }
}

/** Maximum number of holes: with the shortest packets, of which every second one is lost. */
const MAX_HOLES = 4

/** The parts of a frame that are lost, because packets do not end where frames do. */
export class Holes {
  count = 0
  /** Begin and end of each, in order, in units of the buffer that the frame came from. */
  readonly bounds = uint16Array(2 * MAX_HOLES)

  add(from: number, to: number): void {
    if (this.count === MAX_HOLES) return
    this.bounds[2 * this.count] = from
    this.bounds[2 * this.count + 1] = to
    this.count++
  }
}

/** Conceals the losses of one stream: called for each frame that is lost, and for the first one that is not. */
export class Plc {
  /** The last frame was concealed: the next good one is to be given to `good`. */
  isConcealing = false
  /** The history as it stood when the loss began: the periods to repeat. */
  readonly #past: Int16Array
  readonly #tail: Float64Array
  readonly #guess: Int16Array
  /** For one of 8 kHz [samples]. */
  readonly #scale: number
  readonly #tenMs: number
  readonly #compared: number
  #lost = 0
  #pitch: number
  #periods = 1
  /** As many as there are since the sound began: a repetition of that would be a click. */
  #mostPeriods = MAX_PERIODS
  /** Next sample to repeat, counted from the start of the repeated periods. */
  #at = 0
  /** What the last two good samples differ by from what the repetition would put before its first, and how that goes on from sample to sample. */
  #differs = 0
  #differed = 0
  #next1 = 0
  #next2 = 0

  /** @param samples of a frame: 20 ms at 8 or 16 kHz */
  constructor(samples = BASE_FRAME) {
    const scale = samples / BASE_FRAME
    this.#scale = scale
    this.#tenMs = scale * TEN_MS
    this.#compared = scale * STEP
    this.#past = int16Array(scale * HISTORY)
    this.#tail = float64Array(scale * MAX_OVERLAP)
    this.#guess = int16Array(scale * (MAX_PITCH + STEP))
    this.#pitch = scale * MIN_PITCH
  }

  /** Takes the first frame that came after a loss: its start is changed, in place, to fade in over the repetition. */
  good(frame: Int16Array): void {
    if (this.isConcealing) this.#fadeIn(frame)
    this.isConcealing = false
  }

  /**
   * Takes the first frame after a wait. Nothing is lost between what was played before the concealment and this frame, so the concealment
   * continues until it is in step with the frame, for less than a period.
   *
   * @param more receives the continued concealment, before the frame; as long as that
   * @returns how many samples that are
   */
  resume(frame: Int16Array, more: Int16Array): number {
    const guess = this.#guess
    const compared = this.#compared
    for (let i = 0; i < this.#pitch + compared; i++) guess[i] = this.#next()
    const length = inStep(guess, frame, this.#pitch, compared)
    more.set(guess.subarray(0, length))
    for (let i = 0; i < compared; i++) {
      const guessed = guess[length + i]!
      frame[i] = Math.round(guessed + (frame[i]! - guessed) * ((i + 1) / (compared + 1)))
    }
    this.#lost = 0
    this.isConcealing = false
    return length
  }

  /** The newest of these frames does not continue the one before it: changes its start, in place, so that no step is heard. */
  join(played: PlayedFrames): void {
    this.#begin(played)
    this.#fadeIn(played.frames[played.at]!)
  }

  /** Fills the newest of these frames with a guess of the one that did not come. */
  conceal(played: PlayedFrames): void {
    if (!this.isConcealing) this.#begin(played)
    this.isConcealing = true
    const out = played.frames[played.at]!
    for (let i = 0; i < out.length; i++) out[i] = this.#guessed()
  }

  #guessed(): number {
    // The longer the loss, the more periods are repeated, lest it sound like a buzzer (§I.2.5).
    if (this.#lost === this.#periods * this.#tenMs && this.#periods < this.#mostPeriods) this.#addPeriod()
    return this.#next()
  }

  /** Fills these parts of the newest frame: each continues what is before it, and fades into what is after it. @param samples of a unit */
  mend(played: PlayedFrames, { count, bounds }: Holes, samples = 1): void {
    const frame = played.frames[played.at]!
    let whole = 0
    for (let hole = 0; hole < count; hole++) {
      const from = samples * bounds[2 * hole]!
      const to = samples * bounds[2 * hole + 1]!
      if (from > whole) this.good(frame.subarray(whole, from))
      if (!this.isConcealing) this.#begin(played, from)
      this.isConcealing = true
      for (let i = from; i < to; i++) frame[i] = this.#guessed()
      whole = to
    }
    if (whole < frame.length) this.good(frame.subarray(whole))
  }

  /** Copies the end of what was played before this sample of the newest frame. */
  #begin({ frames, at }: PlayedFrames, sample = 0): void {
    const history = this.#past.length
    this.#past.set(frames[at]!.subarray(0, sample), history - sample)
    let end = history - sample
    for (let back = 1; end > 0; back++) {
      const frame = frames[(at - back + PLAYED_FRAMES) % PLAYED_FRAMES]!
      const from = Math.max(0, frame.length - end)
      end -= frame.length - from
      this.#past.set(frame.subarray(from), end)
    }
    this.#pitch = findPitch(this.#past, this.#scale)
    this.#periods = 1
    this.#mostPeriods = this.#periodsHeard
    this.#at = 0
    this.#predict()
  }

  /**
   * A voice differs from its last period by something deep, a consonant by noise: a step that is only spread out would be a thud in it.
   * So the difference goes on by linear prediction.
   */
  #predict(): void {
    const past = this.#past
    const pitch = this.#pitch
    let [now, once, twice] = [0, 0, 0]
    let [before, differed, differs] = [0, 0, 0]
    for (let i = past.length - this.#tenMs; i < past.length; i++) {
      before = differed
      differed = differs
      differs = past[i]! - past[i - pitch]!
      now += differs * differs
      once += differs * differed
      twice += differs * before
    }
    this.#differs = differs
    this.#differed = differed
    const share = once / (now + 1)
    this.#next2 = (twice - share * once) / (now * (1 - share * share) + 1)
    this.#next1 = share * (1 - this.#next2)
  }

  get #periodsHeard(): number {
    const past = this.#past
    let silent = 0
    while (silent < past.length && past[silent] === 0) silent++
    const heard = past.length - silent - (this.#pitch >> 2)
    return Math.max(1, Math.min(MAX_PERIODS, Math.floor(heard / this.#pitch)))
  }

  #next(): number {
    const faded = FADED_AFTER * this.#tenMs
    const gain = this.#lost <= this.#tenMs ? 1 : Math.max(0, (faded - this.#lost) / (faded - this.#tenMs))
    const quarter = this.#pitch >> 2
    let sample = this.#repeat()
    if (this.#lost < quarter) {
      const differs = this.#next1 * this.#differs + this.#next2 * this.#differed
      this.#differed = this.#differs
      this.#differs = differs
      sample += differs * (1 - this.#lost / quarter)
    } else {
      // The joint to more periods: what the shorter repetition would have played fades out.
      const since = this.#lost - (this.#periods - 1) * this.#tenMs
      if (this.#periods > 1 && since < quarter) sample += (this.#tail[since]! - sample) * (1 - since / quarter)
    }
    this.#lost++
    return Math.max(-32_768, Math.min(32_767, Math.round(gain * sample)))
  }

  /** The next sample of the repeated periods; their last quarter period is blended so that end and start meet. */
  #repeat(): number {
    const length = this.#periods * this.#pitch
    const start = this.#past.length - length
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
    const quarter = this.#pitch >> 2
    const overlap = Math.min(
      Math.max(quarter, Math.round(quarter + OVERLAP_PER_LOST * (this.#lost - this.#tenMs))),
      this.#tail.length,
      frame.length,
    )
    for (let i = 0; i < overlap; i++) {
      const repeated = this.#next()
      frame[i] = Math.round(repeated + (frame[i]! - repeated) * ((i + 1) / (overlap + 1)))
    }
    this.#lost = 0
  }
}

/** The lag at which the end of `past` is most like what came before it, by normalised correlation [samples]. */
function findPitch(past: Int16Array, scale: number): number {
  const compared = scale * CORRELATION
  const least = scale * MIN_PITCH
  const most = scale * MAX_PITCH
  const here = past.length - compared
  copy(SEARCHED, past)
  compare(here, here - least, -1, compared, most - least + 1)
  const best = mostAlike(most - least + 1)
  return best < 0 ? most : least + best
}

/** How many samples of the guess come before the part that is most like the beginning of the frame. */
function inStep(guess: Int16Array, frame: Int16Array, period: number, compared: number): number {
  copy(SEARCHED, guess)
  copy(SEARCHED, frame, guess.length)
  compare(guess.length, 0, 1, compared, period)
  return Math.max(0, mostAlike(period))
}

/** Of the compared places, the one with the highest correlation for its energy; -1: none. */
function mostAlike(places: number): number {
  let best = -1
  let bestScore = 0
  for (let place = 0; place < places; place++) {
    const score = products[place]! / Math.sqrt(energies[place]! + 1)
    if (score <= bestScore) continue
    best = place
    bestScore = score
  }
  return best
}
