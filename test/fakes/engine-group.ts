import { ThreadStats } from '../../media/channel/thread-stats.ts'
import type { Engine } from '../../media/engine/engine.ts'
import type { CrossMessage, EngineCommands, EngineSnapshot } from '../../media/engine/engine-protocol.ts'
import { Crossings, type Steps } from '../../media/engine/threads/crossings.ts'
import type { Failure, MediaEvent, MediaStats, Target } from '../../media/protocol.ts'

type Name = keyof EngineCommands

/** Number of threads of an engine if its test does not say; `two-threads.test.ts` changes it. */
export const threadsOfTests = { count: 1 }

/**
 * What differs if the legs of a room are on several threads: how much longer a pause lasts, and how late a leg of another thread is
 * heard.
 */
export const crossing = {
  get lingerMs(): number {
    return threadsOfTests.count > 1 ? 60 : 0
  },
  get samples(): number {
    return threadsOfTests.count > 1 ? 160 : 0
  },
}

/**
 * Several engine threads as one engine, on one virtual clock. It passes on commands as the main thread does, but at once. Each new leg begins on the
 * next thread, so that the legs of a room are on all threads.
 */
export class EngineGroup {
  readonly #engines: Engine[]
  readonly #make: (index: number) => Engine
  readonly #threadStats = new ThreadStats()
  readonly #crossings = new Crossings()
  /** The thread on which each thing began, by its ID. */
  readonly #begun = new Map<string, number>()
  readonly #messages: CrossMessage[] = []
  #legs = 0
  /** Whether messages between threads are held back. */
  holds = false
  /** The answer to the next command of this name is lost. */
  loses: Name | null = null

  /** @param make makes an engine; it calls `note` with each event, and `cross` with each message for another engine */
  constructor(count: number, make: (index: number) => Engine) {
    this.#make = make
    this.#engines = Array.from({ length: count }, (_, index) => make(index))
  }

  note(event: MediaEvent, thread: number): void {
    this.#crossings.note(event, thread)
  }

  cross(message: CrossMessage): void {
    this.#messages.push(message)
    // What is said between two ticks, such as words that were understood, waits for no tick.
    queueMicrotask(() => this.#deliver())
  }

  /** A thread dies with all that it was about to say, and another one takes its place. @returns the legs that have no audio any more */
  die(thread: number): string[] {
    this.#engines[thread] = this.#make(thread)
    for (const [index, engine] of this.#engines.entries()) if (index !== thread) engine.do('engine.died', { thread })
    return this.#crossings.lost(thread)
  }

  do<N extends Name>(name: N, body: EngineCommands[N]['request']): ReturnType<typeof Engine.prototype.do<N>> {
    const home = this.#homeOf(name, body)
    const reply = this.#crossings.concerns(home, name, body)
      ? this.#steps(this.#crossings.steps(home, name, body))
      : this.#alone(home, name, body)
    this.#deliver()
    return reply as ReturnType<typeof Engine.prototype.do<N>>
  }

  #alone(home: number, name: Name, body: object): unknown {
    const over = this.#crossings.begins(home, name, body)
    const reply = this.#engines[home]!.do(name, body as never)
    over?.()
    return reply
  }

  #steps(steps: Steps): object {
    let step = steps.next()
    while (step.done !== true) {
      const { thread, name, body } = step.value
      const reply = this.#engines[thread]!.do(name, body as never) as object
      // What a thread says to others on the way comes before its reply.
      this.#deliver()
      const isLost = name === this.loses
      if (isLost) this.loses = null
      step = steps.next(isLost ? { failure: 'unanswered', message: `${name}: no answer` } : reply)
    }
    return step.value
  }

  /** For steps that take a while, such as the opening of sockets. */
  async #stepsDone(steps: Steps): Promise<object> {
    let step = steps.next()
    while (step.done !== true) {
      const { thread, name, body } = step.value
      step = steps.next(await this.#engines[thread]!.run(name, body as never))
    }
    return step.value
  }

  async run<N extends Name>(
    name: N,
    body: EngineCommands[N]['request'],
  ): Promise<EngineCommands[N]['reply'] | Failure> {
    const home = this.#homeOf(name, body)
    if (this.#crossings.concerns(home, name, body)) {
      const reply = await this.#stepsDone(this.#crossings.steps(home, name, body))
      this.#deliver()
      return reply as EngineCommands[N]['reply'] | Failure
    }
    const over = this.#crossings.begins(home, name, body)
    const reply = await this.#engines[home]!.run(name, body)
    over?.()
    this.#deliver()
    return reply
  }

  #homeOf(name: Name, body: object): number {
    const { legId, roomId, target, ...ids } = body as { legId?: string; roomId?: string; target?: Target }
    const known = legId === undefined ? undefined : this.#crossings.homeOf(legId)
    if (name === 'leg.open' || name === 'leg.open_browser') return known ?? this.#legs++ % this.#engines.length
    if (legId !== undefined) return known ?? 0
    if (roomId !== undefined) return this.#crossings.threadOfRoom(roomId) ?? 0
    const id = Object.entries(ids).find(([key]) => key.endsWith('Id'))?.[1] as string | undefined
    if (target === undefined) return this.#begun.get(id ?? '') ?? this.#crossings.threadOfRoom(id ?? '') ?? 0
    const thread =
      'legId' in target ? this.#crossings.homeOf(target.legId) : this.#crossings.threadOfRoom(target.roomId)
    if (id !== undefined) this.#begun.set(id, thread ?? 0)
    return thread ?? 0
  }

  #deliver(): void {
    if (this.holds) return
    for (let message = this.#messages.shift(); message !== undefined; message = this.#messages.shift()) {
      for (const [thread, part] of this.#crossings.ways(message)) {
        this.#engines[thread]!.do('engine.cross', { message: part })
      }
    }
  }

  tick(slot: number, now: number): void {
    for (const engine of this.#engines) engine.tick(slot, now)
    this.#deliver()
  }

  snapshot(): EngineSnapshot {
    const parts = this.#engines.map(engine => engine.snapshot())
    const [first] = parts
    const lists = ['legs', 'rooms', 'captures', 'streams', 'recordings'] as const
    return Object.assign({}, first, ...lists.map(list => ({ [list]: parts.flatMap(part => part[list] as object[]) })))
  }

  stats(): MediaStats {
    const replies = this.#engines.map(engine => engine.stats())
    return this.#threadStats.add({ counters: {}, gauges: {}, histograms: {} }, replies)
  }

  async shutdown(): Promise<Record<string, never>> {
    await Promise.all(this.#engines.map(engine => engine.shutdown()))
    return {}
  }
}
