import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { workerEntry } from '../protocol/worker-entry.ts'
import type { FromSpeech, SpeechConfig, SpeechRequest, ToSpeech } from './speech-protocol.ts'

const FIRST_BACKOFF_MS = 100
const MAX_BACKOFF_MS = 5000
/** A process that served this long has not died of its start: the next one is started at once. */
const STABLE_MS = 10_000
/** It says every ten seconds what memory it holds; one that has said nothing for so long hangs, and takes nothing either [ms]. */
const MAX_SILENCE_MS = 120_000

interface SpeechChildHooks {
  told(message: FromSpeech): void
  /** It died; the next one is started, or will be after so long [ms]. */
  died(exit: { code: number | null; signal: NodeJS.Signals | null }, waitMs: number): void
}

/** The speech process: started with the first message, and again, with growing pauses in between, whenever it has died. */
export class SpeechChild {
  /** Started again after a death. */
  restarts = 0
  readonly #config: SpeechConfig
  readonly #hooks: SpeechChildHooks
  #process: ChildProcess | null = null
  #waiting: NodeJS.Timeout | null = null
  #backoffMs = 0
  /** When it last said something, or was started [ms]. */
  #heardAt = 0
  #isClosed = false

  constructor(config: SpeechConfig, hooks: SpeechChildHooks) {
    this.#config = config
    this.#hooks = hooks
  }

  get pid(): number | null {
    return this.#process?.pid ?? null
  }

  /** Starts it where it does not run. Idempotent. */
  start(): void {
    if (this.#isClosed || this.#process !== null || this.#waiting !== null) return
    const { url, execArgv } = workerEntry('media/speech/speech-process')
    const child = fork(fileURLToPath(url), { execArgv, serialization: 'advanced' })
    const startedAt = performance.now()
    this.#process = child
    this.#heardAt = startedAt
    child.on('message', message => {
      if (child !== this.#process) return
      this.#heardAt = performance.now()
      this.#hooks.told(message as FromSpeech)
    })
    const ended = (code: number | null, signal: NodeJS.Signals | null): void => {
      if (child === this.#process) this.#ended(code, signal, performance.now() - startedAt)
    }
    child.once('exit', ended)
    // It could not be started, or spoken to.
    child.on('error', () => {
      child.kill('SIGKILL')
      if (child.pid === undefined) ended(null, null)
    })
    this.#write({ kind: 'configure', config: this.#config })
  }

  /** Whether it was sent; not while a new process is waited for. */
  send(request: SpeechRequest): boolean {
    this.start()
    if (this.#process === null) return false
    this.#write(request)
    return true
  }

  /** Ends a process that hangs, so that the next one is started. `now` monotonic [ms]. */
  endSilent(now: number): void {
    if (now - this.#heardAt > MAX_SILENCE_MS) this.#process?.kill('SIGKILL')
  }

  #write(message: ToSpeech): void {
    this.#process?.send(message, () => {
      // A process that cannot be written to is ending, which is told by itself.
    })
  }

  #ended(code: number | null, signal: NodeJS.Signals | null, livedMs: number): void {
    this.#process = null
    if (this.#isClosed) return
    this.restarts++
    if (livedMs >= STABLE_MS) this.#backoffMs = 0
    const waitMs = this.#backoffMs
    this.#backoffMs = Math.min(MAX_BACKOFF_MS, Math.max(FIRST_BACKOFF_MS, waitMs * 2))
    if (waitMs === 0) this.start()
    else {
      this.#waiting = setTimeout(() => {
        this.#waiting = null
        this.start()
      }, waitMs)
    }
    this.#hooks.died({ code, signal }, waitMs)
  }

  /** Ends it; there is nothing in it that would be lost. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#waiting !== null) clearTimeout(this.#waiting)
    const child = this.#process
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    const exited = new Promise(resolve => child.once('exit', resolve))
    child.kill('SIGKILL')
    await exited
  }
}
