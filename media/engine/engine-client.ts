import type { EventLoopUtilization } from 'node:perf_hooks'
import { Worker } from 'node:worker_threads'
import { workerEntry } from '../protocol/worker-entry.ts'
import type { EndedReason, Failure, MediaEvent } from '../protocol.ts'
import type {
  CrossMessage,
  EngineCommandName,
  EngineCommands,
  EngineConfig,
  FromEngine,
  LegReport,
  ToEngine,
} from './engine-protocol.ts'

/** Commands that wait for one thread at most; further ones fail as `capacity`. */
const MAX_PENDING = 10_000
/** A command that a thread has not answered by then is `unanswered` [ms]: before control gives it up, which waits for 5 s. */
const DEADLINE_MS = 4500

export interface EngineHooks {
  event(event: MediaEvent): void
  /** What a command began on it is over: a stream, a recording. */
  over(kind: string, id: string): void
  /** The thread wants a leg ended. */
  end(legId: string, reason: EndedReason): void
  /** A key is to be told to a browser's page. */
  key(legId: string, key: string, durationMs: number): void
  /** A report of a leg's audio. */
  report(report: LegReport): void
  /** What another thread is to know. */
  cross(message: CrossMessage): void
  /** Which UDP sockets it has; `problem`: why not the system's own. */
  sockets(kind: string, problem: string | null): void
  /** Something threw in the thread; the legs that it belongs to are being ended. */
  fault(error: string, legIds: readonly string[]): void
  /** The thread died: all of its calls are lost. */
  failed(error: Error): void
}

/** Who carries out what belongs to the audio of legs. */
export interface EngineThread {
  request<N extends EngineCommandName>(
    name: N,
    body: EngineCommands[N]['request'],
    /** How long the answer may take; null: as long as it likes; absent: a while. */
    deadlineMs?: number | null,
  ): Promise<EngineCommands[N]['reply'] | Failure>
}

/** A thread as it is, and how busy. */
export interface WorkingThread extends EngineThread {
  /** Which share of the time since it was last asked it has worked; absent: nobody knows. */
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

/** The main thread's end of one engine thread. */
export class EngineClient implements WorkingThread {
  /** Commands without an answer in time. */
  unanswered = 0
  /** Resolves once the thread carries out commands; it may be asked before. */
  readonly ready: Promise<void>
  readonly #worker: Worker
  readonly #pending = new Map<number, (reply: object) => void>()
  #nextId = 1
  /** Of its event loop, when it was last asked. */
  #utilisation: EventLoopUtilization | undefined
  #isClosing = false

  constructor(config: EngineConfig, hooks: EngineHooks, start: (config: EngineConfig) => Worker = startThread) {
    this.#worker = start(config)
    let isReady = (): void => {}
    this.ready = new Promise(resolve => {
      isReady = resolve
    })
    this.#worker.on('message', (message: FromEngine) => {
      if (message.type === 'event') hooks.event(message.event)
      else if (message.type === 'over') hooks.over(message.kind, message.id)
      else if (message.type === 'end') hooks.end(message.legId, message.reason)
      else if (message.type === 'fault') hooks.fault(message.error, message.legIds)
      else if (message.type === 'sockets') {
        hooks.sockets(message.kind, message.problem)
        isReady()
      } else if (message.type === 'key') hooks.key(message.legId, message.key, message.durationMs)
      else if (message.type === 'report') hooks.report(message.report)
      else if (message.type === 'cross') hooks.cross(message.message)
      else {
        this.#pending.get(message.id)?.(message.body as object)
        this.#pending.delete(message.id)
      }
    })
    this.#worker.on('error', error => hooks.failed(error as Error))
    this.#worker.on('exit', code => {
      if (!this.#isClosing) hooks.failed(new Error(`exit code ${code}`))
    })
  }

  /** Asks the thread; replies come after the events that were raised before them. `deadlineMs` null: it may take its time. */
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
      this.#worker.postMessage({ id, name, body } satisfies ToEngine)
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
