import { goertzelCoefficient, goertzelPower, goertzelPowers } from '../goertzel.ts'
import type { DtmfKey } from '../tones.ts'

const RATE_HZ = 8000
/** Window of one look [samples]: 20 ms, so that a tone of 40 ms holds two whole ones wherever it starts. */
export const WINDOW = 160
/** Distance of the side looks by which the true frequency is found: one bin of the window [Hz]. */
const BIN_HZ = RATE_HZ / WINDOW

const LOW_HZ = [697, 770, 852, 941] as const
const HIGH_HZ = [1209, 1336, 1477, 1633] as const
const KEYS: readonly (readonly DtmfKey[])[] = [
  ['1', '2', '3', 'A'],
  ['4', '5', '6', 'B'],
  ['7', '8', '9', 'C'],
  ['*', '0', '#', 'D'],
]

/** Q.24 table 1 wants ±1.5 % accepted and ±3.5 % refused: the border lies between. */
const MAX_DEVIATION = 0.025
/** High above low group: Q.24 annex A (AT&T) wants +4 dB and -8 dB accepted; 3 dB of room for what noise does to the measurement. */
const MAX_HIGH_OVER_LOW = 10 ** (7 / 10)
const MIN_HIGH_OVER_LOW = 10 ** (-11 / 10)
/** Weakest sine taken [amplitude]: -40 dBm0 (0 dBm0 is 3.14 dB below a full-scale sine, G.711 §6). */
const MIN_AMPLITUDE = 32_768 * 10 ** ((-40 - 3.14) / 20)
/** The two sines must hold this share of all energy: speech that passes by chance seldom does. */
const MIN_SHARE = 0.85
/** Least part of its power that a sine within MAX_DEVIATION shows at the nominal frequency: 0.8 bins beside it. */
const MIN_SCALLOP = 0.38
/** Speech has harmonics, senders have next to none: the second one must stay this far below its fundamental. */
const MAX_HARMONIC = 10 ** (-13 / 10)
/** A harmonic nearer than this to the other tone of the pair cannot be told from it [Hz]. */
const HARMONIC_CLEARANCE_HZ = 150
/** A high sine so near to the octave of the low one is its harmonic: keys that are 1.5 % off are 17 Hz beside it [Hz]. */
const OCTAVE_HZ = 8

const HANN = Float64Array.from({ length: WINDOW }, (_, i) => 0.5 - 0.5 * Math.cos((2 * Math.PI * (i + 0.5)) / WINDOW))
/** Power of a sine of amplitude 1 in a look, and its energy there. */
const SINE_POWER = (WINDOW / 4) ** 2
const SINE_ENERGY = HANN.reduce((sum, w) => sum + w * w, 0) / 2
/** Energy of what is quieter than the weakest sine. */
const MIN_ENERGY = MIN_AMPLITUDE ** 2 * SINE_ENERGY

/** A frequency of a key, and the coefficients of the looks at it, one bin below and above it, and at its harmonic. */
interface Probe {
  readonly hz: number
  readonly looks: Float64Array
}
const probe = (hz: number): Probe => ({
  hz,
  looks: Float64Array.of(hz, hz - BIN_HZ, hz + BIN_HZ, 2 * hz).map(f => goertzelCoefficient(f, RATE_HZ)),
})
const LOW = LOW_HZ.map(probe)
const HIGH = HIGH_HZ.map(probe)
const LOW_LOOKS = Float64Array.from(LOW, ({ looks }) => looks[0]!)
const HIGH_LOOKS = Float64Array.from(HIGH, ({ looks }) => looks[0]!)

/** The result of one look at a probe; reused, so looking allocates nothing. */
interface Sine {
  readonly powers: Float64Array
  /** Amplitude, power of the harmonic, and frequency [Hz]: one array of doubles, because a field of that type is allocated anew. */
  readonly found: Float64Array
}
const newSine = (): Sine => ({ powers: new Float64Array(4), found: new Float64Array(3) })

/** Finds the two sines of a key, and nothing else, in a window of 20 ms at 8 kHz (ITU-T Q.23, Q.24). */
export class DtmfPair {
  /** Frequencies [Hz] and amplitudes of the low and the high sine of the last key that was found. */
  readonly sines = new Float64Array(4)
  readonly #window = new Float64Array(WINDOW)
  readonly #rows = new Float64Array(4)
  readonly #columns = new Float64Array(4)
  readonly #low = newSine()
  readonly #high = newSine()

  /** The key that sounds in the window that begins at `from`, or null. */
  look(samples: Float64Array, from: number): DtmfKey | null {
    const window = this.#window
    const energy = this.#weigh(samples, from)
    if (energy < MIN_ENERGY) return null
    goertzelPowers(window, LOW_LOOKS, this.#rows)
    goertzelPowers(window, HIGH_LOOKS, this.#columns)
    const row = strongest(this.#rows)
    const column = strongest(this.#columns)
    // Speech mostly fails here already, before its true frequencies are looked for.
    const seen = ((this.#rows[row]! + this.#columns[column]!) / SINE_POWER) * SINE_ENERGY
    if (seen < MIN_SHARE * MIN_SCALLOP * energy) return null
    measure(window, LOW[row]!, this.#low)
    measure(window, HIGH[column]!, this.#high)
    const [low, high] = [this.#low, this.#high]
    if (!isPair(low, high, energy) || hasHarmonic(low, high, row, column)) return null
    this.sines[0] = low.found[2]!
    this.sines[1] = high.found[2]!
    this.sines[2] = low.found[0]!
    this.sines[3] = high.found[0]!
    return KEYS[row]![column]!
  }

  /** How much of the power of two sines, as they were found elsewhere, there is in this window: of each, and here the greater part counts. */
  partOf(sines: Float64Array, samples: Float64Array, from: number): number {
    this.#weigh(samples, from)
    return Math.max(this.#part(sines[0]!, sines[2]!), this.#part(sines[1]!, sines[3]!))
  }

  #part(hz: number, amplitude: number): number {
    return goertzelPower(this.#window, goertzelCoefficient(hz, RATE_HZ)) / (amplitude * amplitude * SINE_POWER)
  }

  /** @returns the energy */
  #weigh(samples: Float64Array, from: number): number {
    const window = this.#window
    let energy = 0
    for (let i = 0; i < WINDOW; i++) {
      const sample = samples[from + i]! * HANN[i]!
      window[i] = sample
      energy += sample * sample
    }
    return energy
  }
}

function strongest(powers: Float64Array): number {
  let best = 0
  for (let n = 1; n < powers.length; n++) if (powers[n]! > powers[best]!) best = n
  return best
}

/**
 * Finds the amplitude of the sine near a probe, 0 when its true frequency deviates too far, and its harmonic. A sine
 * x bins beside the probe is seen through the Hann window with sin(πx) / (πx (1 - x²)) there, and correspondingly one
 * bin to each side: the ratio of the side looks gives x.
 */
function measure(window: Float64Array, { hz, looks }: Probe, sine: Sine): void {
  goertzelPowers(window, looks, sine.powers)
  const centre = Math.sqrt(sine.powers[0]!)
  const lower = Math.sqrt(sine.powers[1]!)
  const upper = Math.sqrt(sine.powers[2]!)
  // From the main lobe: upper / centre = (1 + x) / (2 - x), lower / centre = (1 - x) / (2 + x).
  const bins =
    upper > lower ? (2 * upper - centre) / (upper + centre + 1e-9) : (centre - 2 * lower) / (lower + centre + 1e-9)
  const x = Math.abs(bins) < 1e-6 ? 1e-6 : bins
  const seen = Math.sin(Math.PI * x) / (Math.PI * x * (1 - x * x))
  sine.found[0] = Math.abs(bins) * BIN_HZ > MAX_DEVIATION * hz ? 0 : centre / Math.sqrt(SINE_POWER) / seen
  sine.found[1] = sine.powers[3]!
  sine.found[2] = hz + bins * BIN_HZ
}

function isPair(lowSine: Sine, highSine: Sine, energy: number): boolean {
  const low = lowSine.found[0]!
  const high = highSine.found[0]!
  if (low < MIN_AMPLITUDE || high < MIN_AMPLITUDE) return false
  const twist = (high * high) / (low * low)
  if (twist > MAX_HIGH_OVER_LOW || twist < MIN_HIGH_OVER_LOW) return false
  if (Math.abs(highSine.found[2]! - 2 * lowSine.found[2]!) < OCTAVE_HZ) return false
  return (low * low + high * high) * SINE_ENERGY >= MIN_SHARE * energy
}

function hasHarmonic(low: Sine, high: Sine, row: number, column: number): boolean {
  if (isStrong(high)) return true
  return Math.abs(2 * LOW_HZ[row]! - HIGH_HZ[column]!) >= HARMONIC_CLEARANCE_HZ && isStrong(low)
}

const isStrong = ({ found }: Sine): boolean => found[1]! > MAX_HARMONIC * found[0]! * found[0]! * SINE_POWER
