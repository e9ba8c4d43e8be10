import { seeded } from '../../bench/seeded.ts'

export interface NetworkOptions {
  seed: number
  /** probability that a packet does not arrive */
  loss?: number
  /** probability that it arrives twice */
  duplication?: number
  /** one way [ms] */
  delayMs?: number
  /** added to the delay, evenly spread over 0..jitterMs; packets may overtake each other */
  jitterMs?: number
  /** probability that a packet takes `reorderMs` longer than the others */
  reorder?: number
  reorderMs?: number
}

/** An in-memory network path: packets go in with the time of sending and come out with that of arrival. */
export class Network<T> {
  readonly #options: Required<NetworkOptions>
  readonly #random: () => number
  readonly #flying: { packet: T; arrivalMs: number }[] = []
  /** Packets that were lost. */
  readonly lost: T[] = []

  constructor(options: NetworkOptions) {
    this.#options = { loss: 0, duplication: 0, delayMs: 0, jitterMs: 0, reorder: 0, reorderMs: 0, ...options }
    this.#random = seeded(options.seed)
  }

  send(packet: T, nowMs: number): void {
    const { loss, duplication } = this.#options
    if (this.#random() < loss) {
      this.lost.push(packet)
      return
    }
    this.#launch(packet, nowMs)
    if (this.#random() < duplication) this.#launch(packet, nowMs)
  }

  /** Takes the packets that have arrived by `nowMs`, in the order of their arrival. */
  receive(nowMs: number): { packet: T; arrivalMs: number }[] {
    let count = 0
    while (count < this.#flying.length && this.#flying[count]!.arrivalMs <= nowMs) count++
    return this.#flying.splice(0, count)
  }

  #launch(packet: T, nowMs: number): void {
    const { delayMs, jitterMs, reorder, reorderMs } = this.#options
    const extraMs = this.#random() < reorder ? reorderMs : 0
    const arrivalMs = nowMs + delayMs + this.#random() * jitterMs + extraMs
    let at = this.#flying.length
    while (at > 0 && this.#flying[at - 1]!.arrivalMs > arrivalMs) at--
    this.#flying.splice(at, 0, { packet, arrivalMs })
  }
}
