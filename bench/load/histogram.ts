/** Percentiles of a duration [ms]; null when nothing was measured. */
export interface Percentiles {
  count: number
  p50: number
  p95: number
  p99: number
  max: number
}

const BIN_MS = 0.05
const BINS = 40_000

/** Counts durations in bins of 0.05 ms up to 2 s, without allocating per value. */
export class Histogram {
  readonly #bins = new Uint32Array(BINS)
  #count = 0
  #max = 0

  /** @param ms negative ones count as 0 */
  add(ms: number): void {
    this.#bins[Math.max(0, Math.min(BINS - 1, Math.floor(ms / BIN_MS)))]!++
    this.#count++
    if (ms > this.#max) this.#max = ms
  }

  clear(): void {
    this.#bins.fill(0)
    this.#count = 0
    this.#max = 0
  }

  /** The upper edge of the bin that holds each percentile. */
  percentiles(): Percentiles | null {
    if (this.#count === 0) return null
    const at = (share: number): number => Math.min(this.#max, this.#percentile(share))
    return { count: this.#count, p50: at(0.5), p95: at(0.95), p99: at(0.99), max: this.#max }
  }

  #percentile(share: number): number {
    const wanted = Math.ceil(share * this.#count)
    let seen = 0
    for (let bin = 0; bin < BINS; bin++) {
      seen += this.#bins[bin]!
      if (seen >= wanted) return (bin + 1) * BIN_MS
    }
    return this.#max
  }
}
