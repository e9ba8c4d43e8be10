import { float64Array, int16Array } from '../arrays.ts'
import type { Frame } from '../audio.ts'
import { correlate, correlations, FRAME_IN, FRAME_IN_AT } from '../kernels/frames.ts'
import type { DtmfKey } from '../tones.ts'
import { DtmfPair, WINDOW } from './dtmf-pair.ts'
import { TONAL } from './tonal.ts'

/** Looks are this far apart [samples]: 10 ms, two per frame. */
const HOP = 80
/** Looks in a row that make a key begin. */
const LOOKS = 2
/** Keys hold their frequencies [Hz] and levels [factor] from look to look, voices seldom do; noise of 15 dB below moves them half as much. */
const STEADY_HZ = 14
const STEADY_LEVEL = 10 ** (3.5 / 20)
/** Looks in a row without it that make a key end though it is not quiet: more than an interruption of 10 ms spoils. */
const MISSES = 4

/** Energy is followed in blocks of 5 ms [samples]: the beat of the two sines of a key is shorter. */
const BLOCK = 40
/** A block with so much less than the key had is quiet: 8 dB. */
const QUIET = 10 ** (-8 / 10)
/** Quiet blocks in a row that are a pause: 20 ms, between the 10 of an interruption and the 40 of a pause (Q.24 table 1). */
const PAUSE_BLOCKS = 4

/** The ends of a look that must not be much weaker than its mean [samples], and the part of it that they must have. */
const EDGE = WINDOW / 4
const MIN_EDGE = 0.55

/**
 * For a frame of just two keypad sines: how well a sample predicts the next one (mean product as a share of the energy, 0.37 to 0.80), and the
 * residual of the one after it (0 to 0.24, more with noise). With a margin for clipping.
 */
const NEXT = [0.33, 0.84] as const
const AFTER = [-0.03, 0.32] as const

/** The analysed window: two frames of the caller. */
const LINE = new Float64Array(2 * WINDOW)
/** Working memory of an analysis. All detectors share it, because nothing of it is needed afterwards. */
const PAIR = new DtmfPair()

/**
 * Finds the keys of in-band DTMF (ITU-T Q.23, Q.24) in 8 kHz audio: tones and pauses of 40 ms and more, ±1.5 %, high group +4 … -8 dB
 * over the low one, -36 … 0 dBm0 per sine. A tone under 23 ms is no key, and an interruption under 10 ms does not split one. After each
 * `write` the fields tell what it changed.
 */
export class DtmfDetector {
  /** The key that sounds, or null. */
  key: DtmfKey | null = null
  /** The key that began with the last frame, about 30 ms after its first sample, or null. */
  began: DtmfKey | null = null
  /** The key that ended with the last frame, or null. */
  ended: DtmfKey | null = null
  /** The last frame; and with the newest one in a line, where looks are taken: one ends in the middle of that, and one at its end. */
  readonly #last = int16Array(WINDOW)
  /** The sines of the candidate in its last look. */
  readonly #before = float64Array(4)
  #candidate: DtmfKey | null = null
  #hits = 0
  #misses = 0
  /** Energy of a block of the key while it sounded, and quiet blocks in a row since: doubles in an array are not allocated anew. */
  readonly #level = float64Array(1)
  #quietBlocks = 0

  /** No key sounds or may have begun: frames outside the limits of `TONAL` may be left out. */
  get isIdle(): boolean {
    return this.key === null && this.#hits === 0
  }

  /** Takes the next 20 ms frame, 160 samples. @param before the frame before it, if it was left out */
  write(frame: Frame, before: Frame = this.#last): void {
    this.began = null
    this.ended = null
    const { isIdle } = this
    if (!isIdle || mayBeKey(frame)) this.#look(frame, before, isIdle)
    this.#last.set(frame)
  }

  #look(frame: Frame, before: Frame, isIdle: boolean): void {
    LINE.set(before)
    LINE.set(frame, WINDOW)
    // Of two consecutive looks, one sees a whole frame. If it finds nothing, the other is not needed.
    if (isIdle && PAIR.look(LINE, WINDOW) === null) return
    for (let from = WINDOW - HOP; from <= WINDOW; from += HOP) this.#judge(PAIR.look(LINE, from), from)
  }

  /** @param from where the window of this look begins */
  #judge(found: DtmfKey | null, from: number): void {
    const whole = found !== null && this.#isWhole(from)
    const goesOn = whole && found === this.#candidate && this.#isSteady()
    this.#hits = !whole ? 0 : goesOn ? this.#hits + 1 : 1
    if (whole) this.#before.set(PAIR.sines)
    this.#candidate = whole ? found : null
    if (this.key !== null) this.#follow(found, from)
    if (this.key === null && this.#hits >= LOOKS) {
      this.key = found
      this.began = found
      this.#misses = 0
      this.#quietBlocks = 0
      this.#level[0] = energyOf(LINE, from, from + WINDOW) / (WINDOW / BLOCK)
    }
  }

  #follow(found: DtmfKey | null, from: number): void {
    this.#misses = found === this.key ? 0 : this.#misses + 1
    for (let at = from + WINDOW - HOP; at < from + WINDOW; at += BLOCK) {
      const isQuiet = energyOf(LINE, at, at + BLOCK) < QUIET * this.#level[0]!
      this.#quietBlocks = isQuiet ? this.#quietBlocks + 1 : 0
    }
    if (this.#misses < MISSES && this.#quietBlocks < PAUSE_BLOCKS) return
    this.ended = this.key
    this.key = null
  }

  #isSteady(): boolean {
    const { sines } = PAIR
    for (let n = 0; n < 2; n++) {
      const change = sines[n + 2]! / this.#before[n + 2]!
      if (Math.abs(sines[n]! - this.#before[n]!) > STEADY_HZ) return false
      if (change > STEADY_LEVEL || change < 1 / STEADY_LEVEL) return false
    }
    return true
  }

  /** Whether a window is filled to both ends: two such looks in a row need 25 ms, what is shorter is no key. */
  #isWhole(from: number): boolean {
    const whole = energyOf(LINE, from, from + WINDOW) / WINDOW
    const first = energyOf(LINE, from, from + EDGE) / EDGE
    const last = energyOf(LINE, from + WINDOW - EDGE, from + WINDOW) / EDGE
    return first > MIN_EDGE * whole && last > MIN_EDGE * whole
  }
}

function energyOf(samples: Float64Array, from: number, to: number): number {
  let energy = 0
  for (let i = from; i < to; i++) energy += samples[i]! * samples[i]!
  return energy
}

/** Whether a frame may lie within a key: most of speech and music costs no more than this. A key of 40 ms holds a whole frame. */
function mayBeKey(frame: Frame): boolean {
  FRAME_IN.set(frame)
  correlate(FRAME_IN_AT, frame.length)
  const energy = correlations[0]!
  const next = correlations[1]!
  if (energy < TONAL.power * frame.length || next < NEXT[0] * energy || next > NEXT[1] * energy) return false
  const rest = correlations[2]! / energy + 1 - 2 * (next / energy) ** 2
  return rest > AFTER[0] && rest < AFTER[1]
}
