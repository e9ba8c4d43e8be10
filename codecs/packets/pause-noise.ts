import { clamp16, WIDEBAND_HZ } from '../audio.ts'

/** Longer than what is heard of a line's noise at once, and shorter than an encoder waits before it leaves packets out: 80 ms [samples]. */
const KEPT = 0.08 * WIDEBAND_HZ
/** A new piece begins every 10 ms, and lasts for twice as long [samples]. */
const HOP = 0.01 * WIDEBAND_HZ

/** Two pieces that have nothing to do with each other are as loud together as each alone. */
const RISING = Float32Array.from({ length: HOP }, (_, i) => Math.sin((Math.PI / 2) * ((i + 0.5) / HOP)))

/** Continues the noise of a line where its sender leaves it out, as loud and with the same sound: pieces of what was heard last, in random order. */
export class PauseNoise {
  /** A ring; what follows `#at` is the oldest. */
  readonly #kept = new Int16Array(KEPT)
  #at = 0
  /** How the last piece ends, or what was heard before the first. */
  readonly #tail = new Float32Array(HOP)
  readonly #piece = new Int16Array(HOP)
  /** How much of the piece was played: packets may be shorter. */
  #said = HOP
  #isOn = false
  #random = 1

  /** What was heard. */
  keep(frame: Int16Array): void {
    for (let i = Math.max(0, frame.length - KEPT); i < frame.length; i++) {
      this.#kept[this.#at] = frame[i]!
      this.#at = (this.#at + 1) % KEPT
    }
    this.#isOn = false
  }

  fill(frame: Int16Array): void {
    if (!this.#isOn) this.#begin()
    for (let i = 0; i < frame.length; i++) {
      if (this.#said === HOP) this.#next()
      frame[i] = this.#piece[this.#said++]!
    }
  }

  /** What was heard last goes on backwards, and fades into the first piece. */
  #begin(): void {
    this.#isOn = true
    this.#said = HOP
    for (let i = 0; i < HOP; i++) this.#tail[i] = this.#keptAt(KEPT - 1 - i) * RISING[HOP - 1 - i]!
  }

  #next(): void {
    this.#said = 0
    this.#random = (Math.imul(this.#random, 1_103_515_245) + 12_345) >>> 0
    const from = (this.#random >>> 8) % (KEPT - 2 * HOP)
    const sign = (this.#random >>> 30) & 1 ? 1 : -1
    for (let i = 0; i < HOP; i++) {
      this.#piece[i] = clamp16(Math.round(this.#tail[i]! + sign * this.#keptAt(from + i) * RISING[i]!))
      this.#tail[i] = sign * this.#keptAt(from + HOP + i) * RISING[HOP - 1 - i]!
    }
  }

  /** @param age 0: the oldest */
  #keptAt(age: number): number {
    return this.#kept[(this.#at + age) % KEPT]!
  }
}
