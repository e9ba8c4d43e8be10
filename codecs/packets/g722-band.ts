/** Past differences that the predictor weighs. */
const ZEROS = 6
/** Numbers are of 15 binary places. */
const ONE = 15
/** The weights of differences leak by 1/256, those of the signal by 1/128 and 1/256 per sample (G.722 §3.6.2). */
const LEAK_ZERO = 32_640
const LEAK_FIRST = 32_640
const LEAK_SECOND = 32_512
const STEP_ZERO = 128
const STEP_FIRST = 192
const STEP_SECOND = 128
const MAX_SECOND = 12_288
const MAX_FIRST = 15_360

const saturate = (value: number): number => (value > 32_767 ? 32_767 : value < -32_768 ? -32_768 : value)

/** Step sizes within an octave, out of their logarithm (G.722 §3.5, table of the inverse logarithm). */
const OCTAVE = Int16Array.from({ length: 32 }, (_, i) => Math.round(2048 * 2 ** (i / 32)))

/** How one band's step size follows what it quantises. */
interface StepRule {
  /** By what the logarithm grows for each code. */
  readonly growth: Int16Array
  /** The logarithm of the greatest step. */
  readonly maxLog: number
  /** Octaves between the logarithm's scale and the step's. */
  readonly octaves: number
  /** The step of a silent band. */
  readonly firstStep: number
}

/**
 * One band of G.722: what the next sample is expected to be, and how fine the difference to it is told. Encoder and decoder do the same with
 * the same differences, so that both always know both (ITU-T G.722 §3.5, §3.6; integers, as the Recommendation has them).
 */
export class G722Band {
  /** The next sample, as it is expected. */
  expected = 0
  /** Size of a quantiser's step. */
  step: number
  readonly #rule: StepRule
  #log = 0
  #byZeros = 0
  /** Weights of the last two samples (poles). */
  #first = 0
  #second = 0
  /** The last sample. */
  #lastSignal = 0
  /** Signs of the last two samples without what the poles predict of them: bits 0 and 1. */
  #signs = 0
  readonly #weights = new Int32Array(ZEROS)
  readonly #differences = new Int32Array(ZEROS)

  constructor(rule: StepRule) {
    this.#rule = rule
    this.step = rule.firstStep
  }

  /** Goes on from where another one is. */
  copy(other: G722Band): void {
    this.expected = other.expected
    this.step = other.step
    this.#log = other.#log
    this.#byZeros = other.#byZeros
    this.#first = other.#first
    this.#second = other.#second
    this.#lastSignal = other.#lastSignal
    this.#signs = other.#signs
    this.#weights.set(other.#weights)
    this.#differences.set(other.#differences)
  }

  /** The sample is told: by so much it differs from what was expected, and with this code. */
  adapt(difference: number, code: number): void {
    this.#adaptStep(code)
    this.#predict(difference)
  }

  #adaptStep(code: number): void {
    const { growth, maxLog, octaves } = this.#rule
    const log = ((this.#log * 127) >> 7) + growth[code]!
    this.#log = log < 0 ? 0 : log > maxLog ? maxLog : log
    const shift = octaves - (this.#log >> 11)
    const fraction = OCTAVE[(this.#log >> 6) & 31]!
    this.step = (shift < 0 ? fraction << -shift : fraction >> shift) << 2
  }

  #predict(difference: number): void {
    const signal = saturate(this.expected + difference)
    const partial = saturate(this.#byZeros + difference)
    const sign = partial >> 31
    // Signs of the last two: bits 0 and 1.
    const sameAsLast = sign === -(this.#signs & 1)
    const sameAsBefore = sign === -((this.#signs >> 1) & 1)
    this.#signs = ((this.#signs << 1) | (sign & 1)) & 3
    const pull = saturate(this.#first << 2)
    const second =
      (sameAsBefore ? STEP_SECOND : -STEP_SECOND) +
      (Math.min(sameAsLast ? -pull : pull, 32_767) >> 7) +
      ((this.#second * LEAK_SECOND) >> ONE)
    this.#second = second > MAX_SECOND ? MAX_SECOND : second < -MAX_SECOND ? -MAX_SECOND : second
    const first = saturate((sameAsLast ? STEP_FIRST : -STEP_FIRST) + ((this.#first * LEAK_FIRST) >> ONE))
    const limit = saturate(MAX_FIRST - this.#second)
    this.#first = first > limit ? limit : first < -limit ? -limit : first
    const byZeros = this.#weigh(difference)
    const byPoles = saturate(
      ((this.#first * saturate(2 * signal)) >> ONE) + ((this.#second * saturate(2 * this.#lastSignal)) >> ONE),
    )
    this.#lastSignal = signal
    this.#byZeros = byZeros
    this.expected = saturate(byPoles + byZeros)
  }

  /** Moves the weights of past differences after the newest, and weighs. */
  #weigh(difference: number): number {
    const weights = this.#weights
    const differences = this.#differences
    const sign = difference >> 31
    const step = difference === 0 ? 0 : STEP_ZERO
    let sum = 0
    for (let i = ZEROS - 1; i >= 0; i--) {
      const past = differences[i]!
      const weight = saturate((past >> 31 === sign ? step : -step) + ((weights[i]! * LEAK_ZERO) >> ONE))
      weights[i] = weight
      const next = i === 0 ? difference : differences[i - 1]!
      sum += (weight * saturate(2 * next)) >> ONE
      differences[i] = next
    }
    return saturate(sum)
  }
}
