import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { workerEntry } from '../protocol/worker-entry.ts'
import type { FromSpeech, SpeechConfig, SpeechRequest, ToSpeech } from './speech-protocol.ts'

const FIRST_BACKOFF_MS = 100
/** Loading takes ten seconds of a core, beside calls: where memory does not suffice for it, it is tried once a minute. */
const MAX_BACKOFF_MS = 60_000
/** A process that could serve for this long has not died of its start: the next one is started at once. */
const STABLE_MS = 60_000
/** It says every ten seconds what memory it holds; one that has said nothing for so long hangs, and takes nothing either [ms]. */
const MAX_SILENCE_MS = 120_000

interface SpeechChildHooks {
  told(message: FromSpeech): void
  /** It died; the next one is started, or will be after so long [ms]. */
  died(exit: SpeechExit, waitMs: number): void
}

export interface SpeechExit {
  code: number | null
  signal: NodeJS.Signals | null
  /** Why, as far as that is known, and what can be done. */
  hint?: string
}

const KILLED_HINT =
  'killed from outside, as the kernel does where memory is short: the offline engines take 600 to 900 MB (TANDEM_STT_URL names a provider)'
const HUNG_HINT = `it had said nothing for ${MAX_SILENCE_MS / 1000} s`

/** The speech process: started with the first message, and again, with growing pauses in between, whenever it has died. */
export class SpeechChild {
  /** Started again after a death. */
  restarts = 0
  readonly #config: SpeechConfig
  readonly #hooks: SpeechChildHooks
  readonly #stableMs: number
  #process: ChildProcess | null = null
  #waiting: NodeJS.Timeout | null = null
  #backoffMs = 0
  /** When it last said something, or was started [ms]. */
  #heardAt = 0
  /** Since when it can serve: the recogniser is loaded, or something was answered [ms]. */
  #servesSince: number | null = null
  #isHung = false
  #isClosed = false

  constructor(config: SpeechConfig, hooks: SpeechChildHooks, stableMs = STABLE_MS) {
    this.#config = config
    this.#hooks = hooks
    this.#stableMs = stableMs
  }

  get pid(): number | null {
    return this.#process?.pid ?? null
  }

  /** Starts it where it does not run. Idempotent. */
  start(): void {
    if (this.#isClosed || this.#process !== null || this.#waiting !== null) return
    const { url, execArgv } = workerEntry('media/speech/speech-process')
    const child = fork(fileURLToPath(url), { execArgv, serialization: 'advanced' })
    this.#process = child
    this.#heardAt = performance.now()
    this.#servesSince = null
    this.#isHung = false
    child.on('message', (message: FromSpeech) => {
      if (child !== this.#process) return
      this.#heardAt = performance.now()
      if (message.kind === 'answer' || (message.kind === 'loaded' && message.engine === 'moonshine')) {
        this.#servesSince ??= this.#heardAt
      }
      this.#hooks.told(message)
    })
    const ended = (code: number | null, signal: NodeJS.Signals | null): void => {
      if (child === this.#process) this.#ended(code, signal)
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
    if (now - this.#heardAt <= MAX_SILENCE_MS) return
    this.#isHung = true
    this.#process?.kill('SIGKILL')
  }

  #write(message: ToSpeech): void {
    this.#process?.send(message, () => {
      // A process that cannot be written to is ending, which is told by itself.
    })
  }

  #ended(code: number | null, signal: NodeJS.Signals | null): void {
    this.#process = null
    if (this.#isClosed) return
    this.restarts++
    if (this.#servesSince !== null && performance.now() - this.#servesSince >= this.#stableMs) this.#backoffMs = 0
    const waitMs = this.#backoffMs
    this.#backoffMs = Math.min(MAX_BACKOFF_MS, Math.max(FIRST_BACKOFF_MS, waitMs * 2))
    if (waitMs === 0) this.start()
    else {
      this.#waiting = setTimeout(() => {
        this.#waiting = null
        this.start()
      }, waitMs)
    }
    const hint = this.#isHung ? HUNG_HINT : signal === 'SIGKILL' ? KILLED_HINT : null
    this.#hooks.died({ code, signal, ...(hint === null ? {} : { hint }) }, waitMs)
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
