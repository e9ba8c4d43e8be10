import { float64Array } from '../arrays.ts'
import type { Frame } from '../audio.ts'
import { correlate, correlations, FRAME_IN, FRAME_IN_AT } from '../kernels/frames.ts'
import { TONAL } from './tonal.ts'

/**
 * `cng`: calling tone of a fax machine (T.30 §4.3.3.1: 1100 Hz, half a second). `ced`: answering tone (2100 Hz). `ans`: the same with phase reversals,
 * from a modem or a fax that disables echo cancellers (V.25). `ansam`: the same of V.8, whose level also swings at 15 Hz.
 */
export type FaxTone = 'cng' | 'ced' | 'ans' | 'ansam'

const RATE_HZ = 8000
/** Analysed at a time [samples]: the tone may be off its frequency by 38 Hz. */
const HALF = 80
const FRAME = 2 * HALF
const CNG_HZ = 1100
const ANSWER_HZ = 2100
/** Share of the energy that is in the tone: of 1100 ± 38 Hz a look of 10 ms shows 0.61, of 1000 Hz 0.14; of 2100 ± 15 Hz 0.93. */
const CNG_SHARE = 0.5
const ANSWER_SHARE = 0.7
/** T.30 wants half a second, give or take 15 %; a frame at either end is but in part of it [frames]. */
const CNG_LEAST = 20
const CNG_MOST = 30
/** Then it is quiet for three seconds; so much of that is waited for [frames]. */
const CNG_QUIET = 10
/** Phase reversals begin within 450 ms: without one by then, the tone has none [frames]. */
const ANSWER_FRAMES = 50
/** Two reversals are further apart [frames]. */
const REVERSAL_FRAMES = 10
/** So many frames of an answer tone may be broken, by a reversal or a loss. */
const MAX_BROKEN = 2
/**
 * Of 15 Hz of ± 20 % (V.8) nearly half of the steady frames are weaker than the loudest by so much [power]. So are a few of a plain tone whose losses
 * are concealed, which fade.
 */
const SWING = 1.4
const SWING_FRAMES = 10
/** Steadier frames than this are compared; those about a reversal are weaker. */
const STEADY = 0.85

const wave = (hz: number, quarter: number): Float64Array =>
  Float64Array.from({ length: HALF }, (_, i) => Math.cos((2 * Math.PI * hz * i) / RATE_HZ - quarter * (Math.PI / 2)))
const CNG_COS = wave(CNG_HZ, 0)
const CNG_SIN = wave(CNG_HZ, 1)
const ANSWER_COS = wave(ANSWER_HZ, 0)
const ANSWER_SIN = wave(ANSWER_HZ, 1)

/** The result of an analysis: the phases of both halves. All legs share it, because nothing of it is needed afterwards. */
const LOOK = new Float64Array(2)

/** Hears the tones by which fax machines and modems call and answer, in 8 kHz audio by frames of 20 ms. */
export class FaxTones {
  #cngFrames = 0
  #quietFrames = 0
  #answerFrames = 0
  #broken = 0
  #reversals = 0
  #framesSinceReversal = 0
  /** Phase of the answer tone in the last half of a frame, by how much it moves from half to half, and of steady frames the most energy and how many are weaker. */
  readonly #answer = float64Array(4)

  /** No tone may have begun: frames outside the limits of `TONAL` may be left out. */
  get isIdle(): boolean {
    return this.#cngFrames === 0 && this.#answerFrames === 0
  }

  /** @returns the tone that is known with this frame; null: none */
  write(frame: Frame): FaxTone | null {
    FRAME_IN.set(frame)
    correlate(FRAME_IN_AT, frame.length)
    const energy = correlations[0]!
    const next = correlations[1]!
    const after = correlations[2]!
    const isIdle = energy < TONAL.power * FRAME
    // All but a single sine ends here; about a reversal it is not quite one.
    const isSine = !isIdle && (this.#answerFrames > 0 || Math.abs(after / energy + 1 - 2 * (next / energy) ** 2) < 0.2)
    return this.#calls(frame, isSine, isIdle, energy) ?? this.#answers(frame, isSine, energy)
  }

  #calls(frame: Frame, isSine: boolean, isIdle: boolean, energy: number): 'cng' | null {
    if (isSine && share(frame, CNG_COS, CNG_SIN, energy, LOOK) > CNG_SHARE) {
      // The tone again, before it was quiet for long enough: no such machine.
      this.#cngFrames = this.#quietFrames > 1 ? 1 : this.#cngFrames + 1
      this.#quietFrames = 0
      return null
    }
    if (this.#cngFrames === 0) return null
    // The frame in which it ends is neither; what goes on as something else is no such machine.
    this.#quietFrames++
    const isOver = this.#quietFrames > 1 && !isIdle
    const isLength = this.#cngFrames >= CNG_LEAST && this.#cngFrames <= CNG_MOST
    if (!isLength || isOver) this.#cngFrames = 0
    else if (this.#quietFrames >= CNG_QUIET) {
      this.#cngFrames = 0
      return 'cng'
    }
    return null
  }

  #answers(frame: Frame, isSine: boolean, energy: number): FaxTone | null {
    const part = isSine ? share(frame, ANSWER_COS, ANSWER_SIN, energy, LOOK) : 0
    if (part < ANSWER_SHARE) {
      if (this.#answerFrames > 0 && ++this.#broken > MAX_BROKEN) this.#answerFrames = 0
      return null
    }
    if (this.#answerFrames === 0) {
      this.#reversals = 0
      this.#framesSinceReversal = 0
      this.#answer[0] = LOOK[0]!
      this.#answer[1] = 0
      this.#answer[2] = 0
      this.#answer[3] = 0
    } else this.#followPhase(LOOK[0]!, 2 * this.#broken + 1)
    this.#followPhase(LOOK[1]!, 1)
    this.#framesSinceReversal++
    this.#broken = 0
    this.#answerFrames++
    if (part > STEADY && this.#framesSinceReversal > 1) {
      this.#answer[2] = Math.max(this.#answer[2]!, energy)
      if (SWING * energy < this.#answer[2]!) this.#answer[3] = this.#answer[3]! + 1
    }
    if (this.#answerFrames < ANSWER_FRAMES) return null
    this.#answerFrames = 0
    const swings = this.#answer[3]! >= SWING_FRAMES
    return swings ? 'ansam' : this.#reversals > 0 ? 'ans' : 'ced'
  }

  /**
   * Half a frame has whole periods of 2100 Hz. So the phase moves only by the tone's deviation (15 Hz: 54°), and at a reversal by half a
   * turn.
   */
  #followPhase(phase: number, halves: number): void {
    const answer = this.#answer
    const moved = turn(phase - answer[0]! - halves * answer[1]!)
    answer[0] = phase
    if (Math.abs(moved) <= Math.PI / 2) {
      answer[1] = answer[1]! + moved / (4 * halves)
      return
    }
    if (this.#framesSinceReversal < REVERSAL_FRAMES) return
    this.#reversals++
    this.#framesSinceReversal = 0
  }
}

const turn = (phase: number): number => phase - 2 * Math.PI * Math.round(phase / (2 * Math.PI))

/** Share of the frame's energy in the tone; `look` gets the phases of its halves. */
function share(frame: Frame, cos: Float64Array, sin: Float64Array, energy: number, look: Float64Array): number {
  let power = 0
  for (let half = 0; half < 2; half++) {
    const from = half * HALF
    let real = 0
    let imaginary = 0
    for (let i = 0; i < HALF; i++) {
      const sample = frame[from + i]!
      real += sample * cos[i]!
      imaginary += sample * sin[i]!
    }
    power += real * real + imaginary * imaginary
    look[half] = Math.atan2(imaginary, real)
  }
  return (power * 2) / (HALF * energy)
}
