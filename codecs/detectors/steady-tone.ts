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
/** A tone keeps to its frequency and level; a voice, and most music, does not [dB per frame]. */
const SAME_HZ = 12
const SAME_DB = 2.5
/** The codecs of mobile phones move its frequency (GSM by 20 Hz), and what was struck like a bar fades [dB per frame]. */
const MOVED_HZ = 25
const FADED_DB = 7

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
  /** Frames of the tone that is on, and the last of these that hardly differ. */
  frames = 0
  steadyFrames = 0
  hz = 0
  #db = 0
  #missing = 0
  readonly #windowed = float64Array(SAMPLES)
  readonly #powers = new Float64Array(HZ.length)

  /** @returns the tone that has ended with this frame; null: none */
  write(frame: Frame): ToneHeard | null {
    const hz = this.#look(frame)
    const db = levelDbov(frame)
    // The first frame is one in part.
    const risen = this.frames < 2 ? 0 : db - this.#db
    const moved = hz === null || this.frames === 0 ? Number.POSITIVE_INFINITY : Math.abs(hz - this.hz)
    if (hz !== null && moved <= MOVED_HZ && risen <= SAME_DB && risen >= -FADED_DB) {
      const isSteady = moved <= SAME_HZ && risen >= -SAME_DB
      this.steadyFrames = isSteady ? this.steadyFrames + 1 + this.#missing : 1
      this.frames += 1 + this.#missing
      this.#missing = 0
      this.hz += (hz - this.hz) / Math.min(this.frames, 8)
      this.#db = db
      return null
    }
    // One frame may be lost, or hit by a click.
    if (hz === null && this.frames > 2 && this.#missing === 0) {
      this.#missing = 1
      return null
    }
    const ended = this.frames > 1 ? { hz: this.hz, ms: this.frames * FRAME_MS } : null
    this.frames = hz === null ? 0 : 1
    this.steadyFrames = this.frames
    this.#missing = 0
    this.hz = hz ?? 0
    this.#db = db
    return ended
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
    // At the end of the range it is that of a sine outside of it.
    if (best === 0 || best === powers.length - 1 || powers[best]! < SHARE * WHOLE * energy) return null
    // Between two looks: the vertex of a parabola through the logarithms.
    const left = Math.log(powers[best - 1]! + 1)
    const right = Math.log(powers[best + 1]! + 1)
    const middle = Math.log(powers[best]! + 1)
    const bend = left - 2 * middle + right
    return HZ[best]! + (bend === 0 ? 0 : (STEP_HZ * 0.5 * (left - right)) / bend)
  }
}
