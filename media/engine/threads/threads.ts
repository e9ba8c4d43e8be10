import { LRUCache } from 'lru-cache'
import { atMost } from '../../protocol/at-most.ts'
import type { Failure, MediaEvent } from '../../protocol.ts'
import type { EngineThread, WorkingThread } from '../engine-client.ts'
import type { CrossMessage, EngineCommandName, EngineCommands } from '../engine-protocol.ts'
import { Crossings, type Steps } from './crossings.ts'

/** A thread with a higher load gets no leg that another one can take [share of its time]. */
const FULL = 0.75
/** Interval of load measurements [ms]. */
const LOOK_MS = 1000
/** Estimated load per leg: until it is known, minimum, and maximum. */
const LEG_SHARE = { first: 0.002, least: 0.0002, most: 0.01 }
/** Maximum number of remembered meeting places. */
const MAX_PLACES = 10_000

/**
 * The front of all engine threads. A command goes to the leg's own thread, wherever its room is. A new leg goes to the thread of the
 * party it is to meet, unless that is full; otherwise to the one with the most spare time.
 */
export class Threads {
  readonly all: readonly EngineThread[]
  readonly #threads: readonly WorkingThread[]
  readonly #now: () => number
  readonly #crossings = new Crossings()
  /** Legs on the way to another thread's room, or back. */
  readonly #crossing = new Map<string, Promise<unknown>>()
  /** The thread of the first leg that was to meet this room or leg. */
  readonly #places = new LRUCache<string, number>(atMost(MAX_PLACES))
  #lookedAt = Number.NEGATIVE_INFINITY
  /** By thread, at the last measurement. */
  readonly #busy: number[]
  #legsThen: number[]
  #legShare = LEG_SHARE.first

  /** @param now monotonic [ms] */
  constructor(threads: readonly WorkingThread[], now: () => number) {
    this.#threads = threads
    this.#now = now
    this.#busy = threads.map(() => 0)
    this.#legsThen = threads.map(() => 0)
    this.all = threads.map((_, index) => ({
      request: (name, body, deadlineMs) => this.#request(index, name, body, deadlineMs),
    }))
  }

  // ------------------------------------------------------------------ which one

  /**
   * The thread of a new leg.
   * @param near the room or leg it is likely to meet; null: unknown
   * @param usedUp a thread that has no port left: another one, if there is one
   */
  place(near: string | null, usedUp?: EngineThread): EngineThread {
    this.#look()
    const met = near === null ? undefined : this.#threadNear(near)
    const isFit = met !== undefined && this.#isReady(met) && this.#load(met) < FULL
    const index = isFit ? met : this.#idlest(usedUp)
    if (near !== null && met === undefined) this.#places.set(near, index)
    return this.all[index]!
  }

  #threadNear(near: string): number | undefined {
    return this.#crossings.threadOfRoom(near) ?? this.#crossings.homeOf(near) ?? this.#places.get(near)
  }

  #idlest(usedUp?: EngineThread): number {
    const rank = this.#threads.map((_, index) => ({
      index,
      load: this.#load(index),
      legs: this.#crossings.legsOn(index),
    }))
    const others = rank.filter(({ index }) => this.all[index] !== usedUp)
    const ready = others.filter(({ index }) => this.#isReady(index))
    const fit = [ready, others, rank].find(some => some.length > 0)!
    return fit.reduce((best, one) =>
      one.load < best.load || (one.load === best.load && one.legs < best.legs) ? one : best,
    ).index
  }

  #isReady(index: number): boolean {
    return this.#threads[index]!.isReady !== false
  }

  /** Its load, with the legs that came since the last measurement. */
  #load(index: number): number {
    return this.#busy[index]! + (this.#crossings.legsOn(index) - this.#legsThen[index]!) * this.#legShare
  }

  #look(): void {
    const now = this.#now()
    if (now - this.#lookedAt < LOOK_MS) return
    this.#lookedAt = now
    this.#legsThen = this.#threads.map((_, index) => this.#crossings.legsOn(index))
    for (const [index, thread] of this.#threads.entries()) {
      this.#busy[index] = thread.busy?.() ?? this.#legsThen[index]! * LEG_SHARE.first
    }
    const legs = sum(this.#legsThen)
    const share = legs === 0 ? LEG_SHARE.first : sum(this.#busy) / legs
    this.#legShare = Math.min(LEG_SHARE.most, Math.max(LEG_SHARE.least, share))
  }

  // ------------------------------------------------------------------ what they are asked

  async #request<N extends EngineCommandName>(
    home: number,
    name: N,
    body: EngineCommands[N]['request'],
    deadlineMs?: number | null,
  ): Promise<EngineCommands[N]['reply'] | Failure> {
    const legId = 'legId' in body ? body.legId : undefined
    const before = legId === undefined ? undefined : this.#crossing.get(legId)
    if (before !== undefined) {
      await before
      return this.#request(home, name, body, deadlineMs)
    }
    if (legId === undefined || !this.#crossings.concerns(home, name, body))
      return this.#ask(home, name, body, deadlineMs)
    const crossing = this.#run(this.#crossings.steps(home, name, body))
    this.#crossing.set(legId, crossing)
    return (await crossing.finally(() => this.#crossing.delete(legId))) as EngineCommands[N]['reply'] | Failure
  }

  async #ask<N extends EngineCommandName>(
    home: number,
    name: N,
    body: EngineCommands[N]['request'],
    deadlineMs?: number | null,
  ): Promise<EngineCommands[N]['reply'] | Failure> {
    const over = this.#crossings.begins(home, name, body)
    try {
      return await this.#threads[home]!.request(name, body, deadlineMs)
    } finally {
      over?.()
    }
  }

  async #run(steps: Steps): Promise<object> {
    let step = steps.next()
    while (step.done !== true) {
      const { thread, name, body, deadlineMs } = step.value
      step = steps.next(await this.#threads[thread]!.request(name, body as never, deadlineMs))
    }
    return step.value
  }

  // ------------------------------------------------------------------ what they tell

  /** The thread on which a room is, or is being opened. */
  ofRoom(roomId: string): EngineThread | undefined {
    return this.all[this.#crossings.threadOfRoom(roomId) ?? -1]
  }

  /** Sees an event on its way to control. */
  note(event: MediaEvent, thread: number): void {
    this.#crossings.note(event, thread)
  }

  /** A thread has died. @returns the legs that have no audio any more: its own, and those of others that were in its rooms */
  lost(thread: number): string[] {
    // Before the next thread in its place is told anything.
    for (const [index, other] of this.#threads.entries()) {
      if (index !== thread) void other.request('engine.died', { thread })
    }
    return this.#crossings.lost(thread)
  }

  /** A message between threads. */
  cross(message: CrossMessage): void {
    for (const [thread, part] of this.#crossings.ways(message)) {
      void this.#threads[thread]?.request('engine.cross', { message: part })
    }
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0)
