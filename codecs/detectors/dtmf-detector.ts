import { float64Array, int16Array } from '../arrays.ts'
import type { Frame } from '../audio.ts'
import { copy, correlate, correlations, FRAME_IN, FRAME_IN_AT } from '../kernels/frames.ts'
import { DTMF_FREQUENCIES, type DtmfKey } from '../tones.ts'
import { DtmfPair, WINDOW } from './dtmf-pair.ts'
import { TONAL } from './tonal.ts'

const RATE_HZ = 8000
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

/**
 * A key begins: before it, its two sines were not there. A voice that passes through its frequencies was there before, and as strong. So
 * much weaker both sines must have been in one of the windows that ended 10, 20 or 30 ms before the first look that found them: 8 dB.
 */
const RISEN = 10 ** (-8 / 10)
const WINDOWS_BEFORE = [WINDOW + HOP, WINDOW + 2 * HOP, WINDOW + 3 * HOP]
/** Looks after such a beginning in which speech may still spoil the key. */
const RISEN_LOOKS = 8
/** A key whose beginning was spoiled is told when it ends, if both its sines end at once, by 10 dB ... */
const FALLEN = 10 ** (-10 / 10)
/** ... and it held its frequencies [Hz] and levels [factor] in so many looks or more. */
const FALLEN_LOOKS = 3
const HELD_HZ = 6
const HELD_LEVEL = 10 ** (2.5 / 20)
/** Looks after a key in which the same one may be the rest of it, or its echo, if it is so much weaker: 6 dB. */
const ECHO_LOOKS = 20
const ECHO = 10 ** (-6 / 10)
/** A key that goes on has the same phase behind a hole, give or take so much [rad]: another press of it seldom has, in both sines. */
const IN_PHASE = (25 / 360) * 2 * Math.PI
/** For longer holes, its frequency is not known well enough, but where it is the nominal one [samples]. */
const MEASURED_HOLE = 1600
const MOST_HOLE = 8000
/** Limits of the mean of all looks, in which noise has less effect than on one: Q.24 wants ±1.5 %, and +4 to -8 dB. */
const MAX_DEVIATION = 0.02
const MAX_HIGH_OVER_LOW = 10 ** (5.5 / 20)
const MIN_HIGH_OVER_LOW = 10 ** (-9.5 / 20)

/** The analysed samples: three frames of the caller, and the newest one. */
export const FRAMES_BEFORE = 3
const NEWEST = FRAMES_BEFORE * WINDOW
const LINE = new Float64Array(NEWEST + WINDOW)
const BEFORE = new Int16Array(NEWEST)
/** Working memory of an analysis. All detectors share it, because nothing of it is needed afterwards. */
const PAIR = new DtmfPair()

/** What came before a frame. */
export interface Past {
  /** Writes the `FRAMES_BEFORE` frames before the newest one. */
  read(into: Int16Array): void
}

/**
 * Finds the keys of in-band DTMF (ITU-T Q.23, Q.24) in 8 kHz audio: tones and pauses of 40 ms and more, ±1.5 %, high group +4 … -8 dB
 * over the low one, -36 … 0 dBm0 per sine. A tone under 23 ms is no key, and an interruption under 10 ms does not split one. After each
 * `write` the fields tell what it changed.
 */
export class DtmfDetector {
  /** What sounds like a key, or null: it may still turn out to be a voice, and what must not be heard is masked by then. */
  key: DtmfKey | null = null
  /**
   * The key that was recognised with the last frame, or null: as a rule about 30 ms after its first sample. If something else
   * sounded as it began, when it has ended.
   */
  began: DtmfKey | null = null
  /** The recognised key that ended with the last frame, or null. */
  ended: DtmfKey | null = null
  /** The last frames in a ring, if the caller does not keep them, and where its oldest one begins. */
  #last: Int16Array | null = null
  #oldest = 0
  /** The sines of the candidate in its last look, and what it showed since it was first found. */
  readonly #before = float64Array(4)
  readonly #run = new KeyRun()
  #candidate: DtmfKey | null = null
  #hits = 0
  #misses = 0
  /** Energy of a block of the key while it sounded, and of the last recognised one; and quiet blocks in a row since: doubles in an array are not allocated anew. */
  readonly #level = float64Array(2)
  #quietBlocks = 0
  /** The key that has risen, and for how many looks that holds. */
  #risen: DtmfKey | null = null
  #risenFor = 0
  /** `key` has been recognised. */
  #isTold = false
  /** It has ended, but that is told after its beginning. */
  #ending: DtmfKey | null = null
  /** The last recognised key, in how many looks its rest or echo may still be heard, and whether it went on when it was lost. */
  #told: DtmfKey | null = null
  #toldFor = 0
  #isRest = false
  /** The key that goes on behind a hole, and in how many looks it must be found. */
  #goesOn: DtmfKey | null = null
  #goesOnFor = 0

  /** No key sounds or may have begun: frames outside the limits of `TONAL` may be left out. */
  get isIdle(): boolean {
    return this.key === null && this.#hits === 0 && this.#risenFor === 0 && this.#toldFor === 0
  }

  /** Takes the next 20 ms frame, 160 samples. @param past what came before it; absent: each frame is given to the detector */
  write(frame: Frame, past?: Past): void {
    this.began = null
    this.ended = this.#ending
    this.#ending = null
    const { isIdle } = this
    if (!isIdle || mayBeKey(frame)) this.#look(frame, past, isIdle)
    if (past !== undefined) return
    this.#last ??= int16Array(NEWEST)
    copy(this.#last, frame, this.#oldest)
    this.#oldest = (this.#oldest + WINDOW) % NEWEST
  }

  /**
   * Between these two frames, so many samples were lost; what `write` was given in their place was made up, and `after` is its next frame. A key that
   * sounds in both is one press if its phases say so.
   */
  bridge(before: Frame, after: Frame, samples: number): void {
    if (samples > MOST_HOLE) return
    LINE.set(before)
    LINE.set(after, NEWEST)
    const key = this.#isWhole(0) ? PAIR.look(LINE, 0) : null
    const sines = PAIR.sines.slice()
    if (key === null || !this.#isWhole(NEWEST) || PAIR.look(LINE, NEWEST) !== key || !isSteady(sines)) return
    if (!isInPhase(key, sines, WINDOW + samples)) return
    this.#goesOn = key
    this.#goesOnFor = RISEN_LOOKS
  }

  #look(frame: Frame, past: Past | undefined, isIdle: boolean): void {
    // The newest frame follows the others in a line: one look ends in its middle, and one at its end.
    LINE.set(frame, NEWEST)
    // Of two consecutive looks, one sees a whole frame. If it finds nothing, the other is not needed.
    if (isIdle && PAIR.look(LINE, NEWEST) === null) return
    if (past !== undefined) past.read(BEFORE)
    else this.#readLast(BEFORE)
    LINE.set(BEFORE)
    for (let from = NEWEST - HOP; from <= NEWEST; from += HOP) this.#judge(PAIR.look(LINE, from), from)
  }

  #readLast(into: Int16Array): void {
    if (this.#last === null) into.fill(0)
    else for (let i = 0; i < NEWEST; i++) into[i] = this.#last[(this.#oldest + i) % NEWEST]!
  }

  /** @param from where the window of this look begins */
  #judge(found: DtmfKey | null, from: number): void {
    const whole = found !== null && this.#isWhole(from)
    const goesOn = whole && found === this.#candidate && isSteady(this.#before)
    this.#hits = !whole ? 0 : goesOn ? this.#hits + 1 : 1
    this.#risenFor = Math.max(0, this.#risenFor - 1)
    this.#toldFor = Math.max(0, this.#toldFor - 1)
    if (this.#goesOn !== null && this.key === null && --this.#goesOnFor < 0) this.#goesOn = null
    if (whole) this.#note(found, goesOn, from)
    this.#candidate = whole ? found : null
    if (this.key !== null) this.#follow(found, from)
    if (this.key === null && this.#hits >= LOOKS) {
      this.key = found
      this.#isTold = false
      this.#misses = 0
      this.#quietBlocks = 0
      this.#level[0] = energyOf(LINE, from, from + WINDOW) / (WINDOW / BLOCK)
    }
    if (this.key !== null && !this.#isTold && this.#hits >= LOOKS && this.#hasRisen()) {
      this.#level[0] = energyOf(LINE, from, from + WINDOW) / (WINDOW / BLOCK)
      this.#tell()
    }
  }

  #note(found: DtmfKey, goesOn: boolean, from: number): void {
    this.#before.set(PAIR.sines)
    if (!goesOn) this.#run.begin(found)
    this.#run.add(this.#before)
    if (goesOn || !WINDOWS_BEFORE.some(ago => PAIR.partOf(this.#before, LINE, from - ago) < RISEN)) return
    this.#risen = found
    this.#risenFor = RISEN_LOOKS
  }

  #hasRisen(): boolean {
    return this.#risen === this.key && this.#risenFor > 0 && this.#run.isKey
  }

  #tell(): void {
    this.#isTold = true
    // Of a press that was told before the hole.
    if (this.#goesOn === this.key && this.#told === this.key && this.#toldFor > 0) return
    this.began = this.key
  }

  #follow(found: DtmfKey | null, from: number): void {
    this.#misses = found === this.key ? 0 : this.#misses + 1
    for (let at = from + WINDOW - HOP; at < from + WINDOW; at += BLOCK) {
      const isQuiet = energyOf(LINE, at, at + BLOCK) < QUIET * this.#level[0]!
      this.#quietBlocks = isQuiet ? this.#quietBlocks + 1 : 0
    }
    if (this.#misses < MISSES && this.#quietBlocks < PAUSE_BLOCKS) return
    const hasFallen = [from, from - HOP].some(at => PAIR.partOf(this.#before, LINE, at) < FALLEN)
    if (!this.#isTold && hasFallen && this.#run.isSteadyKey && !this.#isEcho()) this.#tell()
    if (this.#isTold) this.#end()
    this.#isRest = !hasFallen
    this.#goesOn = null
    this.key = null
  }

  #end(): void {
    if (this.began === null) this.ended = this.key
    else this.#ending = this.key
    this.#told = this.key
    this.#toldFor = ECHO_LOOKS
    this.#risenFor = 0
    this.#level[1] = this.#level[0]!
  }

  #isEcho(): boolean {
    return this.#told === this.key && this.#toldFor > 0 && (this.#isRest || this.#level[0]! < ECHO * this.#level[1]!)
  }

  /** Whether a window is filled to both ends: two such looks in a row need 25 ms, what is shorter is no key. */
  #isWhole(from: number): boolean {
    const whole = energyOf(LINE, from, from + WINDOW) / WINDOW
    const first = energyOf(LINE, from, from + EDGE) / EDGE
    const last = energyOf(LINE, from + WINDOW - EDGE, from + WINDOW) / EDGE
    return first > MIN_EDGE * whole && last > MIN_EDGE * whole
  }
}

/** Whether the last look has found what another one has. */
function isSteady(before: Float64Array): boolean {
  const { sines } = PAIR
  for (let n = 0; n < 2; n++) {
    const change = sines[n + 2]! / before[n + 2]!
    if (Math.abs(sines[n]! - before[n]!) > STEADY_HZ) return false
    if (change > STEADY_LEVEL || change < 1 / STEADY_LEVEL) return false
  }
  return true
}

/** Whether both sines of the windows at 0 and at `NEWEST` of the line are the same ones, that far apart [samples]; the last look was at the second. */
function isInPhase(key: DtmfKey, before: Float64Array, distance: number): boolean {
  const nominal = DTMF_FREQUENCIES[key]
  const at = (hz: (n: number) => number): boolean =>
    [0, 1].every(n => {
      const step = (2 * Math.PI * hz(n)) / RATE_HZ
      const moved = phaseOf(NEWEST, step) - phaseOf(0, step) - step * distance
      return Math.abs(moved - 2 * Math.PI * Math.round(moved / (2 * Math.PI))) < IN_PHASE
    })
  const measured = (n: number): number => (before[n]! + PAIR.sines[n]!) / 2
  return at(n => nominal[n]!) || (distance < MEASURED_HOLE && at(measured))
}

/** Phase of a sine at the beginning of a window of the line. @param step per sample [rad] */
function phaseOf(from: number, step: number): number {
  let [real, imaginary] = [0, 0]
  for (let i = 0; i < WINDOW; i++) {
    const weighed = LINE[from + i]! * (0.5 - 0.5 * Math.cos((2 * Math.PI * (i + 0.5)) / WINDOW))
    real += weighed * Math.cos(step * i)
    imaginary -= weighed * Math.sin(step * i)
  }
  return Math.atan2(imaginary, real)
}

/** What the looks at a candidate have shown since it was first found: of both frequencies and both amplitudes the sum, the least, the most. */
class KeyRun {
  #looks = 0
  #key: DtmfKey = '0'
  readonly #sums = float64Array(4)
  readonly #least = float64Array(4)
  readonly #most = float64Array(4)

  begin(key: DtmfKey): void {
    this.#looks = 0
    this.#key = key
  }

  /** @param sines as in `DtmfPair` */
  add(sines: Float64Array): void {
    const isFirst = this.#looks++ === 0
    for (let n = 0; n < 4; n++) {
      this.#sums[n] = isFirst ? sines[n]! : this.#sums[n]! + sines[n]!
      this.#least[n] = isFirst ? sines[n]! : Math.min(this.#least[n]!, sines[n]!)
      this.#most[n] = isFirst ? sines[n]! : Math.max(this.#most[n]!, sines[n]!)
    }
  }

  get isKey(): boolean {
    const nominal = DTMF_FREQUENCIES[this.#key]
    const twist = this.#sums[3]! / this.#sums[2]!
    if (twist > MAX_HIGH_OVER_LOW || twist < MIN_HIGH_OVER_LOW) return false
    return [0, 1].every(n => Math.abs(this.#sums[n]! / this.#looks / nominal[n]! - 1) <= MAX_DEVIATION)
  }

  get isSteadyKey(): boolean {
    if (this.#looks < FALLEN_LOOKS || !this.isKey) return false
    return [0, 1].every(n => {
      const isSameLevel = this.#most[n + 2]! <= HELD_LEVEL * this.#least[n + 2]!
      return isSameLevel && this.#most[n]! - this.#least[n]! <= HELD_HZ
    })
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
