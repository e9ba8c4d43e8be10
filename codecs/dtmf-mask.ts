import { float64Array, int16Array, uint8Array } from './arrays.ts'
import type { Frame } from './audio.ts'
import { goertzelCoefficient, goertzelPower } from './goertzel.ts'

/**
 * Frames by which the output of `DtmfMask` lags its input: 120 ms. A tone's leading edge needs 40, and other reports of a pressed key
 * arrive after its tone has begun.
 */
export const DELAY_FRAMES = 6

const RATE_HZ = 8000
const FRAME = 160
/** Granularity of the mask [samples]: 5 ms. */
const BLOCK = 40
const BLOCKS_PER_FRAME = FRAME / BLOCK
/** Blocks per look: 15 ms, so that a tone of 20 ms holds a whole look wherever it starts. */
const LOOK_BLOCKS = 3
const WINDOW = LOOK_BLOCKS * BLOCK
const LINE = (DELAY_FRAMES + 1) * FRAME
const BLOCKS = LINE / BLOCK
const NEWEST = BLOCKS - BLOCKS_PER_FRAME
/** Blocks blanked before and after each look in which a tone was suspected: 30 ms. */
const GUARD = 6
/** The same where it is sure that it was a key: 90 ms, for scraps of it that a bad network has torn off. */
const SURE_GUARD = 18

/** Weakest sine that raises suspicion [amplitude]: below it G.711 has no more than a step or two left of a sine. */
const MIN_AMPLITUDE = 12
/**
 * Share of the energy in one sine of each group that raises suspicion, and the share that keeps it up. Both are so low
 * that a key is found under equally loud speech, at the price of some 2 % of speech blanked.
 */
const PAIR_SHARE = 0.25
const PAIR_SHARE_HELD = 0.18
/** The share that is a key beyond doubt. */
const SURE_SHARE = 0.7
/** The same for a single sine: a key whose second tone comes late, or is filtered out on the way. */
const SINGLE_SHARE = 0.45
const SINGLE_SHARE_HELD = 0.32
/** The weaker sine of a pair has at least this part of the stronger one's power: 16 dB. */
const MAX_TWIST = 10 ** (-16 / 10)

const LOW = [697, 770, 852, 941].map(hz => goertzelCoefficient(hz, RATE_HZ))
const HIGH = [1209, 1336, 1477, 1633].map(hz => goertzelCoefficient(hz, RATE_HZ))
const HANN = Float64Array.from({ length: WINDOW }, (_, i) => 0.5 - 0.5 * Math.cos((2 * Math.PI * (i + 0.5)) / WINDOW))
const SINE_POWER = (WINDOW / 4) ** 2
const SINE_ENERGY = HANN.reduce((sum, w) => sum + w * w, 0) / 2

/**
 * Blanks keypad tones during a card payment. The output is the input DELAY_FRAMES later, bit exact, except where it may belong to a
 * tone: there it is zero, from 30 ms before the first look that raised suspicion to 30 ms after the last, 90 ms about a key beyond
 * doubt. It errs to one side: speech may lose a syllable, a tone loses everything. 8 kHz, 20 ms frames.
 */
export class DtmfMask {
  readonly #line = int16Array(LINE)
  /** The output. */
  readonly #voice = int16Array(LINE)
  readonly #voiceAt: number
  /** One mark per block of the line: 1 is to be blanked. */
  readonly #marks = uint8Array(BLOCKS)
  readonly #window = float64Array(WINDOW)
  /** Blocks that are still to be blanked after the last suspicion. */
  #hold = 0

  /** @param voiceLag the output is another signal than the analysed one, and arrives this many frames later */
  constructor(voiceLag = 0) {
    this.#voiceAt = LINE - (1 + voiceLag) * FRAME
  }

  /** Whether a tone sounds, or something of one is still to come out: a pause must not end while this is true. */
  get tonePresent(): boolean {
    return this.#hold > 0 || this.#marks.includes(1, BLOCKS_PER_FRAME)
  }

  /**
   * Takes the next frame and gives the one DELAY_FRAMES before it, without its tones. They may be the same array. `isDown`: a key is
   * known to be down, so that nothing is let out of all that is held. `voice`: what may be let out.
   */
  process(input: Frame, output: Frame, isDown = false, voice = input): void {
    this.#line.copyWithin(0, FRAME)
    this.#line.set(input, LINE - FRAME)
    this.#voice.copyWithin(0, FRAME)
    this.#voice.set(voice, this.#voiceAt)
    this.#marks.copyWithin(0, BLOCKS_PER_FRAME)
    this.#marks.fill(0, NEWEST)
    for (let block = NEWEST; block < BLOCKS; block++) this.#judge(block)
    if (isDown) this.#marks.fill(1)
    for (let i = 0; i < FRAME; i++) output[i] = this.#marks[Math.floor(i / BLOCK)] === 1 ? 0 : this.#voice[i]!
  }

  /** Looks at the window that ends with `block` and marks what it makes suspect. */
  #judge(block: number): void {
    const guard = this.#suspect(block, this.#hold > 0)
    if (guard > 0) {
      this.#marks.fill(1, block - (LOOK_BLOCKS - 1) - guard, block + 1)
      this.#hold = Math.max(this.#hold - 1, guard)
      return
    }
    if (this.#hold === 0) return
    this.#marks[block] = 1
    this.#hold--
  }

  /** How much is blanked around this look; 0: it looks like no key. */
  #suspect(block: number, held: boolean): number {
    const from = (block + 1) * BLOCK - WINDOW
    let energy = 0
    for (let i = 0; i < WINDOW; i++) {
      const sample = this.#line[from + i]! * HANN[i]!
      this.#window[i] = sample
      energy += sample * sample
    }
    const floor = MIN_AMPLITUDE ** 2 * SINE_POWER
    if (energy * SINE_POWER < floor * SINE_ENERGY) return 0
    const low = strongest(this.#window, LOW)
    const high = strongest(this.#window, HIGH)
    const stronger = Math.max(low, high)
    if (stronger < floor) return 0
    const share = SINE_ENERGY / SINE_POWER / energy
    const isPair = Math.min(low, high) >= MAX_TWIST * stronger
    if (isPair && (low + high) * share > SURE_SHARE) return SURE_GUARD
    if (stronger * share > (held ? SINGLE_SHARE_HELD : SINGLE_SHARE)) return GUARD
    return isPair && (low + high) * share > (held ? PAIR_SHARE_HELD : PAIR_SHARE) ? GUARD : 0
  }
}

function strongest(window: Float64Array, coefficients: readonly number[]): number {
  let best = 0
  for (let n = 0; n < coefficients.length; n++) best = Math.max(best, goertzelPower(window, coefficients[n]!))
  return best
}
