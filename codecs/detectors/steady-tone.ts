import { float64Array } from '../arrays.ts'
import { FRAME_MS, type Frame, NARROWBAND_HZ, samplesPerFrame } from '../audio.ts'
import { goertzelCoefficient, goertzelPower } from '../goertzel.ts'
import { levelDbov } from '../level.ts'

const SAMPLES = samplesPerFrame(NARROWBAND_HZ)
/** The search range [Hz]: beeps begin at 400, special information tones reach 1800. It is wider than the melody of a voice. */
const LOWEST_HZ = 350
const HIGHEST_HZ = 2700
/** The main lobe of the window is wider, so that a tone between two of them is found by either [Hz]. */
const STEP_HZ = 40
const WINDOW = Float64Array.from(
  { length: SAMPLES },
  (_, i) => 0.5 - 0.5 * Math.cos((2 * Math.PI * (i + 0.5)) / SAMPLES),
)
/** Power that `goertzelPower` gives of a sine in this window, by the energy of the windowed sine: a third of the samples. */
const WHOLE = SAMPLES / 3
/** Share of the energy that is in one sine: noise 4 dB below it leaves as much. A vowel with one strong harmonic has it for a frame or two. */
const SHARE = 0.7
/** Softer sound is line noise [dBov]. */
const FLOOR_DBOV = -50
/** A tone keeps to its frequency and level; a voice, and most music, does not. */
const SAME_HZ = 12
const SAME_DB = 2.5

const HZ = Array.from({ length: Math.floor((HIGHEST_HZ - LOWEST_HZ) / STEP_HZ) + 1 }, (_, i) => LOWEST_HZ + i * STEP_HZ)
const COEFFICIENTS = HZ.map(hz => goertzelCoefficient(hz, NARROWBAND_HZ))

/** A tone that has ended. */
export interface ToneHeard {
  hz: number
  /** To a frame. */
  ms: number
}

/** Follows a single steady sine in 8 kHz audio by frames of 20 ms: beeps, ringing, special information tones. */
export class SteadyTone {
  /** Frames of the tone that is on. */
  frames = 0
  hz = 0
  #db = 0
  #missing = 0
  readonly #windowed = float64Array(SAMPLES)
  readonly #powers = new Float64Array(HZ.length)

  /** How long the tone that is on has lasted [ms]; 0: none is. */
  get ms(): number {
    return this.frames * FRAME_MS
  }

  /** @returns the tone that has ended with this frame; null: none */
  write(frame: Frame): ToneHeard | null {
    const hz = this.#look(frame)
    if (hz !== null && this.frames > 0 && Math.abs(hz - this.hz) <= SAME_HZ && this.#isAsLoud(frame)) {
      this.frames += 1 + this.#missing
      this.#missing = 0
      this.hz += (hz - this.hz) / Math.min(this.frames, 8)
      return null
    }
    // One frame may be lost, or hit by a click.
    if (hz === null && this.frames > 2 && this.#missing === 0) {
      this.#missing = 1
      return null
    }
    const ended = this.frames > 1 ? { hz: this.hz, ms: this.ms } : null
    this.frames = hz === null ? 0 : 1
    this.#missing = 0
    this.hz = hz ?? 0
    this.#db = levelDbov(frame)
    return ended
  }

  /** Its first frame is one in part. */
  #isAsLoud(frame: Frame): boolean {
    const db = levelDbov(frame)
    const isSame = this.frames === 1 || Math.abs(db - this.#db) <= SAME_DB
    if (isSame) this.#db = db
    return isSame
  }

  /** The frequency of the one sine in a frame; null: there is none. */
  #look(frame: Frame): number | null {
    if (levelDbov(frame) < FLOOR_DBOV) return null
    const windowed = this.#windowed
    const powers = this.#powers
    let energy = 0
    for (let i = 0; i < SAMPLES; i++) {
      const sample = frame[i]! * WINDOW[i]!
      windowed[i] = sample
      energy += sample * sample
    }
    let best = 0
    for (let i = 0; i < powers.length; i++) {
      powers[i] = goertzelPower(windowed, COEFFICIENTS[i]!)
      if (powers[i]! > powers[best]!) best = i
    }
    if (powers[best]! < SHARE * WHOLE * energy) return null
    // Between two looks: the vertex of a parabola through the logarithms.
    const left = Math.log(powers[Math.max(0, best - 1)]! + 1)
    const right = Math.log(powers[Math.min(powers.length - 1, best + 1)]! + 1)
    const middle = Math.log(powers[best]! + 1)
    const bend = left - 2 * middle + right
    return HZ[best]! + (bend === 0 ? 0 : (STEP_HZ * 0.5 * (left - right)) / bend)
  }
}
