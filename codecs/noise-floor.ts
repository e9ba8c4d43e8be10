import { float64Array } from './arrays.ts'
import type { Frame } from './audio.ts'
import { NARROWBAND_HZ } from './audio.ts'
import { SILENCE_DBOV } from './level.ts'

/** Centres of the bands, an octave apart: noise seldom fills all of them, and a voice stands out of one at least [Hz]. */
const BANDS_HZ = [350, 800, 1600, 3000]
const QUALITY = 1
/** Each level is the mean of so many frames: noise of few frequencies sways from one to the next. */
const SMOOTHED_FRAMES = 3
/** Speakers take a breath or close the lips within this time: twelve parts of eight frames, some two seconds. */
const PART_FRAMES = 8
const PARTS = 12
/** Empty frames at the beginning are those before the first packet; more are a line without any noise. */
const MAX_EMPTY = 25
/** Fewer frames tell nothing of the noise; who speaks in the first of them is heard in the next. */
const LEAST_FRAMES = 5
/** The least of many levels lies below their mean [dB]. */
const BIAS_DB = 2

/**
 * After speech that turned out to be noise, a frame must exceed its peaks by this much to count as speech again, and by more the
 * next time [dB].
 */
const LEARNT_DB = 3
const MAX_LEARNT_DB = 9
/** Peaks are those of the last seconds [dB per frame]. */
const PEAK_FALL_DB = 0.03
/** That is forgotten bit by bit: 1 dB in a second [dB per frame]. */
const FORGOTTEN_DB = 0.02

/** Steady noise has a mean so near to its least; what is so far below the floor shows that it has stopped [dB]. */
const STEADY_DB = 4
const STOPPED_DB = 6

/** How soon the mean follows: in a second [share of a frame]. */
const FOLLOWING = 0.02

/** Noise stands out of its own floor by this when nothing is known of it yet [dB]. */
const FIRST_SWAY_DB = 2.8
/** Larger excesses are not fluctuating noise [dB]. */
const MAX_SWAY_DB = 8
/** It rises by so much with a frame that is above it and falls by so little with each other one, that one in forty is [dB]. */
const SWAY_STEP_DB = 0.1
const SWAY_SHARE = 40
/** At the beginning by more, so that it is found within seconds [dB frames]. */
const SWAY_FIRST = 20

/**
 * Follows the noise of a stream, band by band. Steady noise is the minimum of the last two seconds (minimum statistics): it falls at once
 * and rises within two seconds, however far. Fluctuating noise, such as other people's voices, is the mean of the sound while nobody spoke
 * to us. A tone or steady noise that stops is forgotten at once, so speech right after it is heard from the first word.
 */
export class NoiseFloor {
  readonly #bands = BANDS_HZ.map(hz => new Band(hz))
  #frames = 0
  #empty = 0
  #aboveDb = 0
  #swayDb = FIRST_SWAY_DB

  /** The noise itself stands out of its floor by no more, but in one frame of forty [dB]. */
  get swayDb(): number {
    return this.#swayDb
  }

  /** By how much the last frames stand out of the noise, in the band where they do most; not at all while too little was heard [dB]. */
  get aboveDb(): number {
    return this.#aboveDb
  }

  /** @param isSpeech it belongs to what is being said to us, and is no noise */
  write(frame: Frame, isSpeech: boolean): void {
    // Before the first packet there is no stream.
    if (this.#frames === 0 && this.#empty < MAX_EMPTY && isEmpty(frame)) {
      this.#empty++
      return
    }
    this.#frames++
    let above = Number.NEGATIVE_INFINITY
    for (let i = 0; i < this.#bands.length; i++)
      above = Math.max(above, this.#bands[i]!.write(frame, this.#frames, isSpeech))
    this.#aboveDb = this.#frames < LEAST_FRAMES ? 0 : above
    if (!isSpeech && this.#frames >= LEAST_FRAMES && above < MAX_SWAY_DB) this.#followSway(above)
  }

  #followSway(above: number): void {
    const step = Math.max(SWAY_STEP_DB, SWAY_FIRST / this.#frames)
    this.#swayDb += above > this.#swayDb ? step : -step / SWAY_SHARE
  }

  /** "Speech" of the last second or more was noise. */
  learn(): void {
    for (const band of this.#bands) band.learn()
  }

  /** Another stream begins. */
  reset(): void {
    for (const band of this.#bands) band.reset()
    this.#frames = 0
    this.#empty = 0
    this.#aboveDb = 0
    this.#swayDb = FIRST_SWAY_DB
  }
}

const isEmpty = (frame: Frame): boolean => {
  for (let i = 0; i < frame.length; i++) if (frame[i] !== 0) return false
  return true
}

/** One band: a second-order band-pass (RBJ's cookbook, constant peak gain), its level and the least of it. */
class Band {
  readonly #gain: number
  readonly #back1: number
  readonly #back2: number
  #in1 = 0
  #in2 = 0
  #out1 = 0
  #out2 = 0
  readonly #energies = float64Array(SMOOTHED_FRAMES)
  /** The least of each part, as a ring, and of the part under way [dB]. */
  readonly #least = float64Array(PARTS)
  #leastNow = 0
  /** The mean of what was no speech, and the peaks of all [dB]. */
  #noiseDb = 0
  #peakDb = SILENCE_DBOV
  /** Levels learnt to be noise [dB]. */
  #learntDb = SILENCE_DBOV

  constructor(hz: number) {
    const angle = (2 * Math.PI * hz) / NARROWBAND_HZ
    const width = Math.sin(angle) / (2 * QUALITY)
    this.#gain = width / (1 + width)
    this.#back1 = (-2 * Math.cos(angle)) / (1 + width)
    this.#back2 = (1 - width) / (1 + width)
    this.reset()
  }

  /** @returns how far above the floor it is [dB] */
  write(frame: Frame, count: number, isSpeech: boolean): number {
    this.#energies[count % SMOOTHED_FRAMES] = this.#energyOf(frame)
    const smoothed = Math.min(count, SMOOTHED_FRAMES)
    let sum = 0
    for (let i = 0; i < SMOOTHED_FRAMES; i++) sum += this.#energies[i]!
    const level = Math.max(SILENCE_DBOV, 10 * Math.log10(sum / smoothed / 32_768 ** 2))
    if (count >= PART_FRAMES && this.#hasStopped(level)) this.#forget(level)
    if (level < this.#leastNow) this.#leastNow = level
    if (count % PART_FRAMES === 0) {
      this.#least[(count / PART_FRAMES) % PARTS] = this.#leastNow
      this.#leastNow = Number.POSITIVE_INFINITY
    }
    const steady = Math.min(this.#leastNow, this.#leastOfParts()) + BIAS_DB
    if (count === LEAST_FRAMES) this.#noiseDb = steady
    this.#peakDb = Math.max(level, this.#peakDb - PEAK_FALL_DB)
    if (!isSpeech) this.#noiseDb += FOLLOWING * (level - this.#noiseDb)
    this.#learntDb -= FORGOTTEN_DB
    return level - Math.max(steady, this.#noiseDb, this.#learntDb)
  }

  /** A steady sound was there and has gone. */
  #hasStopped(level: number): boolean {
    const before = this.#leastOfParts()
    return level < before - STOPPED_DB && Math.abs(this.#noiseDb - before) < STEADY_DB
  }

  #leastOfParts(): number {
    let least = Number.POSITIVE_INFINITY
    for (let i = 0; i < PARTS; i++) if (this.#least[i]! < least) least = this.#least[i]!
    return least
  }

  #forget(level: number): void {
    this.#noiseDb = Math.min(this.#noiseDb, level)
    this.#peakDb = level
    this.#learntDb = SILENCE_DBOV
  }

  learn(): void {
    this.#learntDb = Math.min(Math.max(this.#learntDb, this.#peakDb) + LEARNT_DB, this.#peakDb + MAX_LEARNT_DB)
  }

  #energyOf(frame: Frame): number {
    let energy = 0
    for (let i = 0; i < frame.length; i++) {
      const sample = frame[i]!
      const out = this.#gain * (sample - this.#in2) - this.#back1 * this.#out1 - this.#back2 * this.#out2
      this.#in2 = this.#in1
      this.#in1 = sample
      this.#out2 = this.#out1
      this.#out1 = out
      energy += out * out
    }
    return energy / frame.length
  }

  reset(): void {
    this.#in1 = this.#in2 = this.#out1 = this.#out2 = 0
    this.#energies.fill(0)
    this.#learntDb = this.#peakDb = SILENCE_DBOV
    this.#least.fill(Number.POSITIVE_INFINITY)
    this.#leastNow = Number.POSITIVE_INFINITY
  }
}
