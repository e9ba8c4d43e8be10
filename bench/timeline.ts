import { NARROWBAND_HZ } from '../codecs/audio.ts'

const SAMPLES_PER_MS = NARROWBAND_HZ / 1000

interface Waiter {
  position: number
  resolve: () => void
  reject: (error: Error) => void
}

/** One direction of a call's audio at 8 kHz: every packet at the place that its RTP timestamp says, with zeros where none arrived. */
export class Timeline {
  /** End of the latest audio [samples]. */
  length = 0
  #samples = new Int16Array(NARROWBAND_HZ * 30)
  #octets = new Uint8Array(NARROWBAND_HZ * 30)
  #waiters: Waiter[] = []
  #ended: Error | null = null

  /** Adds the audio of a packet: its G.711 octets, and their decoded samples. */
  write(at: number, octets: Uint8Array, samples: Int16Array): void {
    if (at < 0) return
    this.#grow(at + samples.length)
    this.#octets.set(octets, at)
    this.#samples.set(samples, at)
    this.length = Math.max(this.length, at + samples.length)
    const reached = this.#waiters.filter(waiter => waiter.position <= this.length)
    if (reached.length === 0) return
    this.#waiters = this.#waiters.filter(waiter => waiter.position > this.length)
    for (const { resolve } of reached) resolve()
  }

  /** A copy of `[from, to)` [samples]. */
  samples(from = 0, to = this.length): Int16Array {
    return this.#samples.slice(from, Math.min(to, this.length))
  }

  /** The same as the G.711 octets that were in the packets. */
  octets(from = 0, to = this.length): Uint8Array {
    return this.#octets.slice(from, Math.min(to, this.length))
  }

  /** Resolves when there is audio up to `position` [samples]; rejects if the call ends before. */
  reach(position: number): Promise<void> {
    if (position <= this.length) return Promise.resolve()
    if (this.#ended !== null) return Promise.reject(this.#ended)
    return new Promise((resolve, reject) => this.#waiters.push({ position, resolve, reject }))
  }

  /** Resolves with the next `ms` of audio, after skipping `afterMs`. */
  async next(ms: number, afterMs = 0): Promise<Int16Array> {
    const from = this.length + afterMs * SAMPLES_PER_MS
    const to = from + ms * SAMPLES_PER_MS
    await this.reach(to)
    return this.samples(from, to)
  }

  /** To be called when no more audio follows. Idempotent. */
  end(): void {
    this.#ended ??= new Error(`the call ended after ${(this.length / NARROWBAND_HZ).toFixed(2)} s of audio`)
    for (const { reject } of this.#waiters.splice(0)) reject(this.#ended)
  }

  #grow(needed: number): void {
    if (needed <= this.#samples.length) return
    const capacity = Math.max(needed, 2 * this.#samples.length)
    const samples = new Int16Array(capacity)
    samples.set(this.#samples)
    const octets = new Uint8Array(capacity)
    octets.set(this.#octets)
    this.#samples = samples
    this.#octets = octets
  }
}
