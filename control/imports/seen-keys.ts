/** Two seeds of FNV-1a. */
const SEEDS = [0x811c9dc5, 0x01000193] as const

const hash = (text: string, seed: number): number => {
  let value = seed
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193)
  value = Math.imul(value ^ (value >>> 15), 0x2c1b3c6d)
  return (value ^ (value >>> 13)) >>> 0
}

/** Keys that a dry run has seen: 52 bits of each hash, so that a million takes 16 MB. Two keys are taken for one in about one of 10,000 files. */
export class SeenKeys {
  readonly #slots: Float64Array

  /** @param most maximum number of keys */
  constructor(most: number) {
    this.#slots = new Float64Array(2 ** Math.ceil(Math.log2(Math.max(16, most * 1.5))))
  }

  /** Adds a key; returns whether it is new. */
  add(key: string): boolean {
    const value = (hash(key, SEEDS[0]) >>> 6) * 2 ** 26 + (hash(key, SEEDS[1]) >>> 6) + 1
    const mask = this.#slots.length - 1
    for (let at = value % this.#slots.length; ; at = (at + 1) & mask) {
      if (this.#slots[at] === value) return false
      if (this.#slots[at] === 0) {
        this.#slots[at] = value
        return true
      }
    }
  }
}
