import type { Frame } from './audio.ts'
import { goertzelCoefficient, goertzelPowers } from './goertzel.ts'
import type { DtmfKey } from './tones.ts'

const RATE_HZ = 8000
/** Window of one look [samples]: 20 ms, so that a tone of 40 ms holds two whole ones wherever it starts. */
const WINDOW = 160
/** Looks are this far apart [samples]: 10 ms, two per frame. */
const HOP = 80
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
/** High above low group: Q.24 annex A (AT&T) wants +4 dB and -8 dB accepted; 1.5 dB of room for the measurement. */
const MAX_HIGH_OVER_LOW = 10 ** (5.5 / 10)
const MIN_HIGH_OVER_LOW = 10 ** (-9.5 / 10)
/** Weakest sine taken [amplitude]: -40 dBm0 (0 dBm0 is 3.14 dB below a full-scale sine, G.711 §6). */
const MIN_AMPLITUDE = 32_768 * 10 ** ((-40 - 3.14) / 20)
/** The two sines must hold this share of all energy: speech that passes by chance seldom does. */
const MIN_SHARE = 0.7
/** Least part of its power that a sine within MAX_DEVIATION shows at the nominal frequency: 0.8 bins beside it. */
const MIN_SCALLOP = 0.38
/** Speech has harmonics, senders have next to none: the second one must stay this far below its fundamental. */
const MAX_HARMONIC = 10 ** (-13 / 10)
/** A harmonic nearer than this to the other tone of the pair cannot be told from it [Hz]. */
const HARMONIC_CLEARANCE_HZ = 150
/** Looks in a row that make a key begin, and that without it make it end. */
const LOOKS = 2

/** The ends of a look that must not be much weaker than its mean [samples], and the part of it that they must have. */
const EDGE = WINDOW / 4
const MIN_EDGE = 0.35

const HANN = Float64Array.from({ length: WINDOW }, (_, i) => 0.5 - 0.5 * Math.cos((2 * Math.PI * (i + 0.5)) / WINDOW))
/** Power of a sine of amplitude 1 in a look, and its energy there. */
const SINE_POWER = (WINDOW / 4) ** 2
const SINE_ENERGY = HANN.reduce((sum, w) => sum + w * w, 0) / 2

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

/** What one look at a probe found; kept, so that looking allocates nothing. */
interface Sine {
  readonly powers: Float64Array
  /** Amplitude and power of the harmonic: one array of doubles, because a field of that type is allocated anew. */
  readonly found: Float64Array
}
const newSine = (): Sine => ({ powers: new Float64Array(4), found: new Float64Array(2) })

/**
 * Finds the keys of in-band DTMF (ITU-T Q.23, Q.24) in 8 kHz audio: tones and pauses of 40 ms and more, ±1.5 %,
 * high group +4 … -8 dB over the low one, -36 … 0 dBm0 per sine. After each `write` the fields tell what it changed.
 */
export class DtmfDetector {
  /** The key that sounds, or null. */
  key: DtmfKey | null = null
  /** The key that began with the last frame, about 30 ms after its first sample, or null. */
  began: DtmfKey | null = null
  /** The key that ended with the last frame, or null. */
  ended: DtmfKey | null = null
  /** The last window, and behind it room for a frame. */
  readonly #line = new Float64Array(WINDOW + HOP)
  readonly #window = new Float64Array(WINDOW)
  readonly #rows = new Float64Array(4)
  readonly #columns = new Float64Array(4)
  readonly #low = newSine()
  readonly #high = newSine()
  #candidate: DtmfKey | null = null
  #hits = 0
  #misses = 0

  /** Takes the next 20 ms frame, 160 samples. */
  write(frame: Frame): void {
    this.began = null
    this.ended = null
    for (let from = 0; from + HOP <= frame.length; from += HOP) {
      this.#line.copyWithin(0, HOP)
      for (let i = 0; i < HOP; i++) this.#line[WINDOW + i] = frame[from + i]!
      this.#judge(this.#look())
    }
  }

  #judge(found: DtmfKey | null): void {
    const whole = found !== null && this.#isWhole()
    this.#hits = !whole ? 0 : found === this.#candidate ? this.#hits + 1 : 1
    this.#candidate = whole ? found : null
    if (this.key !== null) {
      this.#misses = found === this.key ? 0 : this.#misses + 1
      if (this.#misses >= LOOKS) {
        this.ended = this.key
        this.key = null
      }
    }
    if (this.key === null && this.#hits >= LOOKS) {
      this.key = found
      this.began = found
      this.#misses = 0
    }
  }

  /** Whether the newest window is filled to both ends: two such looks in a row need 23 ms, what is shorter is no key. */
  #isWhole(): boolean {
    const whole = energyOf(this.#line, HOP, HOP + WINDOW) / WINDOW
    const first = energyOf(this.#line, HOP, HOP + EDGE) / EDGE
    const last = energyOf(this.#line, HOP + WINDOW - EDGE, HOP + WINDOW) / EDGE
    return first > MIN_EDGE * whole && last > MIN_EDGE * whole
  }

  /** The key of the newest window, or null. */
  #look(): DtmfKey | null {
    const window = this.#window
    let energy = 0
    for (let i = 0; i < WINDOW; i++) {
      const sample = this.#line[HOP + i]! * HANN[i]!
      window[i] = sample
      energy += sample * sample
    }
    // Most frames of a call are quieter than two of the weakest sines: they cost no more than this.
    if (energy < MIN_AMPLITUDE ** 2 * SINE_ENERGY) return null
    goertzelPowers(window, LOW_LOOKS, this.#rows)
    goertzelPowers(window, HIGH_LOOKS, this.#columns)
    const row = strongest(this.#rows)
    const column = strongest(this.#columns)
    // Speech mostly fails here already, before its true frequencies are looked for.
    const seen = ((this.#rows[row]! + this.#columns[column]!) / SINE_POWER) * SINE_ENERGY
    if (seen < MIN_SHARE * MIN_SCALLOP * energy) return null
    measure(window, LOW[row]!, this.#low)
    measure(window, HIGH[column]!, this.#high)
    return isPair(this.#low, this.#high, energy) && !hasHarmonic(this.#low, this.#high, row, column)
      ? KEYS[row]![column]!
      : null
  }
}

function energyOf(samples: Float64Array, from: number, to: number): number {
  let energy = 0
  for (let i = from; i < to; i++) energy += samples[i]! * samples[i]!
  return energy
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
}

function isPair(lowSine: Sine, highSine: Sine, energy: number): boolean {
  const low = lowSine.found[0]!
  const high = highSine.found[0]!
  if (low < MIN_AMPLITUDE || high < MIN_AMPLITUDE) return false
  const twist = (high * high) / (low * low)
  if (twist > MAX_HIGH_OVER_LOW || twist < MIN_HIGH_OVER_LOW) return false
  return (low * low + high * high) * SINE_ENERGY >= MIN_SHARE * energy
}

function hasHarmonic(low: Sine, high: Sine, row: number, column: number): boolean {
  if (isStrong(high)) return true
  return Math.abs(2 * LOW_HZ[row]! - HIGH_HZ[column]!) >= HARMONIC_CLEARANCE_HZ && isStrong(low)
}

const isStrong = ({ found }: Sine): boolean => found[1]! > MAX_HARMONIC * found[0]! * found[0]! * SINE_POWER
