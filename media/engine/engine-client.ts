import { Worker } from 'node:worker_threads'
import { workerEntry } from '../kernel/worker-entry.ts'
import type { EndedReason, Failure, MediaEvent } from '../protocol.ts'
import type { EngineCommandName, EngineCommands, EngineConfig, FromEngine, ToEngine } from './engine-protocol.ts'

/** Commands that wait for one thread at most; further ones fail as `capacity`. */
const MAX_PENDING = 10_000
/** A command that a thread has not answered by then is `unanswered` [ms]: before control gives it up, which waits for 5 s. */
const DEADLINE_MS = 4500

export interface EngineHooks {
  event(event: MediaEvent, thread: EngineClient): void
  /** The thread wants a leg ended. */
  end(legId: string, reason: EndedReason): void
  /** A key is to be told to a browser's page. */
  key(legId: string, key: string, durationMs: number): void
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
  ): Promise<EngineCommands[N]['reply'] | Failure>
  /** Whether it was told to have a leg enter this room and has not answered yet: `room.opened` may be on its way. */
  isOpening(roomId: string): boolean
}

/** The room that a command has a leg enter. */
function roomEntered(name: EngineCommandName, body: unknown): string | undefined {
  if (name === 'leg.connect') return (body as EngineCommands['leg.connect']['request']).enter?.roomId
  return name === 'leg.move' ? (body as EngineCommands['leg.move']['request']).room.roomId : undefined
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
export class EngineClient implements EngineThread {
  /** Commands without an answer in time. */
  unanswered = 0
  readonly #worker: Worker
  readonly #pending = new Map<number, (reply: object) => void>()
  /** By the command that has somebody enter them. */
  readonly #opening = new Map<number, string>()
  #nextId = 1
  #isClosing = false

  constructor(config: EngineConfig, hooks: EngineHooks, start: (config: EngineConfig) => Worker = startThread) {
    this.#worker = start(config)
    this.#worker.on('message', (message: FromEngine) => {
      if (message.type === 'event') hooks.event(message.event, this)
      else if (message.type === 'end') hooks.end(message.legId, message.reason)
      else if (message.type === 'fault') hooks.fault(message.error, message.legIds)
      else if (message.type === 'key') hooks.key(message.legId, message.key, message.durationMs)
      else {
        this.#pending.get(message.id)?.(message.body as object)
        this.#pending.delete(message.id)
        this.#opening.delete(message.id)
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
        this.#opening.delete(id)
        this.unanswered++
        resolve({ failure: 'unanswered', message: `${name}: no answer of the engine thread within ${deadlineMs} ms` })
      }
      const timer = deadlineMs === null ? undefined : setTimeout(late, deadlineMs)
      this.#pending.set(id, reply => {
        clearTimeout(timer)
        resolve(reply as EngineCommands[N]['reply'])
      })
      const roomId = roomEntered(name, body)
      if (roomId !== undefined) this.#opening.set(id, roomId)
      this.#worker.postMessage({ id, name, body } satisfies ToEngine)
    })
  }

  isOpening(roomId: string): boolean {
    return [...this.#opening.values()].includes(roomId)
  }

  async close(): Promise<void> {
    await this.request('engine.close', {}, null)
    this.#isClosing = true
    await this.#worker.terminate()
  }
}
