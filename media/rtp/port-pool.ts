/**
 * The even RTP ports of a range, each together with the odd port above it for RTCP (RFC 3550 §11). A released
 * port goes to the end of the queue and is reused after all others, so that late packets of an ended call do not reach the next
 * one.
 */
export class PortPool {
  /** Ring of free ports: `#free` of them from `#first` on. */
  readonly #ring: Uint16Array
  readonly #inUse = new Set<number>()
  #first = 0
  #free: number

  /** @param range both ends included, 1..65535; a pair must fit in whole */
  constructor(range: { first: number; last: number }) {
    const lowest = Math.max(2, range.first + (range.first % 2))
    const pairs = Math.max(0, Math.floor((Math.min(range.last, 65_535) - lowest + 1) / 2))
    this.#ring = Uint16Array.from({ length: pairs }, (_, i) => lowest + 2 * i)
    this.#free = pairs
  }

  get available(): number {
    return this.#free
  }

  /** @returns an even port, or null when all are in use */
  allocate(): number | null {
    if (this.#free === 0) return null
    const port = this.#ring[this.#first]!
    this.#first = (this.#first + 1) % this.#ring.length
    this.#free--
    this.#inUse.add(port)
    return port
  }

  /** Gives a port back; a port that is not in use is left alone. */
  release(port: number): void {
    if (!this.#inUse.delete(port)) return
    this.#ring[(this.#first + this.#free) % this.#ring.length] = port
    this.#free++
  }
}
