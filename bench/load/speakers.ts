import type { Percentiles } from './histogram.ts'
import { Ledger, type LedgerMemory } from './ledger.ts'
import type { LoadPlan } from './messages.ts'
import { Network } from './network.ts'
import { Pacer } from './pacer.ts'
import { Speech } from './speech.ts'
import { Talkers } from './talker.ts'
import type { Wires } from './wires.ts'

/** What was sent in the measurement. */
export interface Spoken {
  packetsSent: number
  /** Frames with a mark. */
  said: number
  /** The same, each counted once for every leg that should hear it. */
  framesExpected: number
  /** How late packets left [ms]. */
  paceLagMs: Percentiles | null
}

export type SpeakingPlan = Pick<LoadPlan, 'legs' | 'roomSize' | 'jitterMs' | 'turnMs'>

/** The talking half of all legs: sends their packets at the times that their clocks and the network give. */
export class Speakers {
  readonly #wires: Pick<Wires, 'send' | 'report'>
  readonly #talkers: Talkers
  readonly #speech: Speech
  readonly #network: Network
  readonly #pacer: Pacer
  readonly #startedAt: number
  #from = Number.POSITIVE_INFINITY
  #to = Number.POSITIVE_INFINITY
  #spoken = { packetsSent: 0, said: 0, framesExpected: 0 }

  /** @param now a clock [ms] */
  constructor(
    { legs, roomSize, jitterMs, turnMs }: SpeakingPlan,
    memory: LedgerMemory,
    wires: Pick<Wires, 'send' | 'report'>,
    now: () => number,
  ) {
    this.#wires = wires
    this.#startedAt = now()
    this.#talkers = new Talkers(legs, new Ledger(legs, memory), this.#startedAt)
    this.#speech = new Speech(legs, roomSize)
    this.#network = new Network(legs, jitterMs, this.#startedAt)
    this.#pacer = new Pacer(legs, this.#network, (leg, frame, at) => this.#send(leg, frame, at), now, turnMs)
  }

  /** Sends what is due. @returns time until something is due again [ms] */
  advance(): number {
    return this.#pacer.advance()
  }

  /** Starts to count anew: what is sent from `from` until `to` [ms]. */
  measure(from: number, to: number): void {
    this.#from = from
    this.#to = to
    this.#spoken = { packetsSent: 0, said: 0, framesExpected: 0 }
    this.#pacer.lag.clear()
  }

  get spoken(): Spoken {
    return { ...this.#spoken, paceLagMs: this.#pacer.lag.percentiles() }
  }

  #send(leg: number, frame: number, now: number): void {
    // No engine has to play a packet that arrives after its successor, so it has no mark that would be expected to be heard.
    const isLost = this.#network.isOvertaken(leg, frame)
    const saying = isLost ? 'silence' : this.#speech.at(leg, this.#network.dueAt(leg, frame) - this.#startedAt)
    const isMarked = this.#talkers.write(leg, frame, saying, now)
    this.#wires.send(leg, this.#talkers.packet)
    if (now >= this.#from && now < this.#to) this.#count(leg, isMarked)
    const length = this.#talkers.report(leg, frame, now)
    if (length > 0) this.#wires.report(leg, this.#talkers.reports, length)
  }

  #count(leg: number, isMarked: boolean): void {
    const spoken = this.#spoken
    spoken.packetsSent++
    if (!isMarked) return
    spoken.said++
    spoken.framesExpected += this.#speech.othersOf(leg)
  }
}
