import type { EventLoopUtilization } from 'node:perf_hooks'
import { Worker } from 'node:worker_threads'
import type { HandOver } from '../kernel/thread-priority.ts'
import { workerEntry } from '../protocol/worker-entry.ts'
import type { EndedReason, Failure, MediaEvent } from '../protocol.ts'
import { OwnDescriptors } from '../rtp/datagrams/own-descriptors.ts'
import type {
  CrossMessage,
  EngineCommandName,
  EngineCommands,
  EngineConfig,
  FromEngine,
  LegReport,
  ToEngine,
} from './engine-protocol.ts'

/** Maximum number of commands that wait for one thread; further ones fail as `capacity`. */
const MAX_PENDING = 10_000
/** A command without an answer by then is `unanswered` [ms]. Shorter than the 5 s after which control gives up. */
const DEADLINE_MS = 4500
/** A thread that dies more often than this is not started again, nor is one that never got ready: only a new process may help. */
const DEATHS = { most: 3, withinMs: 60_000 }

export interface EngineHooks {
  event(event: MediaEvent): void
  /** An event of a party's own room, of no use to control. */
  own(event: MediaEvent): void
  /** Something that a command began has ended: a stream, a recording. */
  over(kind: string, id: string): void
  /** The thread wants signalling to end a leg. */
  end(legId: string, reason: EndedReason): void
  /** Nothing comes from a leg: its far end is to be asked whether it is there. */
  quiet(legId: string): void
  /** A key for a browser's page. */
  key(legId: string, key: string, durationMs: number): void
  /** An RTCP report of a leg. */
  report(report: LegReport): void
  /** A message to another thread. */
  cross(message: CrossMessage): void
  /** The kind of UDP sockets it uses; `problem`: why not the native ones. */
  sockets(kind: string, problem: string | null): void
  /** An exception in the thread; the legs it belongs to are being ended. */
  fault(error: string, legIds: readonly string[]): void
  /** The thread has died, and all its calls are lost. Another one is being started in its place, which takes commands already. */
  died(error: Error): void
  /** The thread has died, and no other one takes its place. */
  failed(error: Error): void
  /** How it is woken. */
  handOver: HandOver
}

/** Carries out commands that concern the audio of legs. */
export interface EngineThread {
  request<N extends EngineCommandName>(
    name: N,
    body: EngineCommands[N]['request'],
    /** Maximum time for the answer; null: unlimited; absent: the default. */
    deadlineMs?: number | null,
  ): Promise<EngineCommands[N]['reply'] | Failure>
}

/** A thread with its load. */
export interface WorkingThread extends EngineThread {
  /** Whether it carries out commands; absent: it does. */
  readonly isReady?: boolean
  /** The share of time that it has worked since the last question; absent: unknown. */
  busy?(): number
}

function startThread(config: EngineConfig): Worker {
  const { url, execArgv } = workerEntry('media/engine/engine-thread')
  return new Worker(url, {
    workerData: config,
    execArgv,
    transferList: [config.speech.port],
    // A small young generation keeps each collection well below a frame.
    resourceLimits: { maxYoungGenerationSizeMb: 16 },
  })
}

/** The main thread's side of one engine thread. A thread that dies is replaced by another one. */
export class EngineClient implements WorkingThread {
  /** Commands without an answer in time. */
  unanswered = 0
  /** How often a thread has died and another one was started. */
  restarts = 0
  isReady = false
  /** Resolves once the first thread carries out commands; requests may be made before. */
  readonly ready: Promise<void>
  readonly #config: () => EngineConfig
  readonly #hooks: EngineHooks
  readonly #start: (config: EngineConfig) => Worker
  readonly #pending = new Map<number, (reply: object) => void>()
  #worker: Worker
  #becomesReady = (): void => {}
  #nextId = 1
  /** Of its event loop, at the last question. */
  #utilisation: EventLoopUtilization | undefined
  #isClosing = false
  /** When threads died, monotonic [ms]. */
  #deaths: number[] = []

  /** @param config called for each thread that is started */
  constructor(config: () => EngineConfig, hooks: EngineHooks, start: (config: EngineConfig) => Worker = startThread) {
    this.#config = config
    this.#hooks = hooks
    this.#start = start
    this.ready = new Promise(resolve => {
      this.#becomesReady = resolve
    })
    this.#worker = this.#begin()
  }

  #begin(): Worker {
    const config = this.#config()
    const worker = this.#start(config)
    let cause: Error | null = null
    worker.on('message', (messages: FromEngine[]) => {
      for (const message of messages) this.#receive(message)
    })
    worker.on('error', error => {
      cause = error as Error
    })
    worker.on('exit', code => {
      if (!this.#isClosing) this.#died(config, cause ?? new Error(`exit code ${code}`))
    })
    return worker
  }

  #receive(message: FromEngine): void {
    const hooks = this.#hooks
    if (message.type === 'event') hooks.event(message.event)
    else if (message.type === 'own') hooks.own(message.event)
    else if (message.type === 'over') hooks.over(message.kind, message.id)
    else if (message.type === 'end') hooks.end(message.legId, message.reason)
    else if (message.type === 'quiet') hooks.quiet(message.legId)
    else if (message.type === 'fault') hooks.fault(message.error, message.legIds)
    else if (message.type === 'sockets') {
      hooks.sockets(message.kind, message.problem)
      this.isReady = true
      this.#becomesReady()
    } else if (message.type === 'key') hooks.key(message.legId, message.key, message.durationMs)
    else if (message.type === 'report') hooks.report(message.report)
    else if (message.type === 'cross') hooks.cross(message.message)
    else {
      this.#pending.get(message.id)?.(message.body as object)
      this.#pending.delete(message.id)
    }
  }

  #died({ descriptors }: EngineConfig, error: Error): void {
    const now = performance.now()
    this.#deaths = [...this.#deaths.filter(at => now - at < DEATHS.withinMs), now]
    if (!this.isReady || this.#deaths.length > DEATHS.most) {
      this.#hooks.failed(error)
      return
    }
    // First of all: the next one needs the same ports.
    new OwnDescriptors(descriptors).closeAll()
    this.restarts++
    this.isReady = false
    this.#utilisation = undefined
    const pending = [...this.#pending.values()]
    this.#pending.clear()
    this.#worker = this.#begin()
    for (const answer of pending) answer({ failure: 'unanswered', message: 'the engine thread died' })
    this.#hooks.died(error)
  }

  /** Sends a command. Replies come after the events that were raised before them. `deadlineMs` null: unlimited. */
  request<N extends EngineCommandName>(
    name: N,
    body: EngineCommands[N]['request'],
    deadlineMs: number | null = DEADLINE_MS,
  ): Promise<EngineCommands[N]['reply'] | Failure> {
    if (this.#pending.size >= MAX_PENDING) {
      return Promise.resolve({ failure: 'capacity', message: 'too many commands wait for the engine thread' })
    }
    const id = this.#nextId++
    return new Promise(resolve => {
      const late = (): void => {
        if (!this.#pending.delete(id)) return
        this.unanswered++
        resolve({ failure: 'unanswered', message: `${name}: no answer of the engine thread within ${deadlineMs} ms` })
      }
      const timer = deadlineMs === null ? undefined : setTimeout(late, deadlineMs)
      this.#pending.set(id, reply => {
        clearTimeout(timer)
        resolve(reply as EngineCommands[N]['reply'])
      })
      this.#hooks.handOver(() => this.#worker.postMessage({ id, name, body } satisfies ToEngine))
    })
  }

  busy(): number {
    const { performance } = this.#worker
    const now = performance.eventLoopUtilization()
    const since = performance.eventLoopUtilization(now, this.#utilisation)
    this.#utilisation = now
    return since.utilization
  }

  async close(): Promise<void> {
    await this.request('engine.close', {}, null)
    this.#isClosing = true
    await this.#worker.terminate()
  }
}
