import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { LogOutput } from '../../media/protocol.ts'
import { isAlive, readPid, removePid, writePid } from '../kernel/data-dir.ts'
import { type Child, type ChildSpec, type Exit, isExit, type ReadyMessage, startChild } from './child.ts'

const FIRST_BACKOFF_MS = 100
const MAX_BACKOFF_MS = 2000
/** If a process has served this long, its next restart is immediate again [ms]. */
const STABLE_MS = 10_000
/** Time after the drain limit, for BYEs, recordings and last events [ms]. */
const DRAIN_MARGIN_MS = 10_000
const CLOSE_MS = 5000
/** npm and init systems pass on a signal that the whole process group has already received [ms]. */
const SAME_SIGNAL_MS = 500
/** How long processes of a killed supervisor may take to notice that it is gone [ms]. */
const ORPHANS_MS = 5000

interface SupervisorParts {
  dataDir: string
  drainSeconds: number
  media: ChildSpec
  /** `httpPort`: the port of the previous run, if any, which a restarted control must use again. */
  control(httpPort: number | null): ChildSpec
  /** Called once when both serve, with control's ready message. */
  onReady(control: ReadyMessage): void
  log: Logger
  /** Takes what the processes write; null: they write to our own terminal. */
  output: LogOutput | null
  now: () => number
}

type Name = ChildSpec['name']

/**
 * Starts media, then control, restarts whichever dies, and ends both in order. When control dies, media and calls go on. If a process fails
 * in the first start, it reports why on stderr, and everything ends.
 */
export class Supervisor {
  readonly #parts: SupervisorParts
  readonly #running = new Map<Name, Child>()
  #stopping: 'no' | 'drain' | 'hurry' | 'now' = 'no'
  #stoppedAt = Number.NEGATIVE_INFINITY
  readonly #everServed = new Set<Name>()
  readonly #backoffMs: Record<Name, number> = { media: 0, control: 0 }
  #httpPort: number | null = null
  /** Control's messages about its start. Keys are generated once, and the process that did so may have died before it was ready. */
  #saidByControl: Record<string, unknown> = {}
  #isAnnounced = false
  readonly #done: Promise<number>
  #resolveDone: (code: number) => void = () => {}

  constructor(parts: SupervisorParts) {
    this.#parts = parts
    this.#done = new Promise(resolve => {
      this.#resolveDone = resolve
    })
  }

  /** Waits for the processes of a killed supervisor, which end by themselves, and occupy the ports until then. */
  async outliveOrphans(): Promise<void> {
    const deadline = this.#parts.now() + ORPHANS_MS
    const pids = (['media', 'control'] as const).map(name => readPid(this.#parts.dataDir, name))
    while (pids.some(pid => pid !== null && isAlive(pid)) && this.#parts.now() < deadline) await sleep(50)
  }

  /** Runs until told to stop; resolves to the exit code. */
  async run(): Promise<number> {
    writePid(this.#parts.dataDir, 'supervisor', process.pid)
    for (const name of ['media', 'control'] as const) {
      if (this.#stopping !== 'no') break
      const outcome = await this.#start(name)
      if (this.#stopping !== 'no') break
      // A process that has already served is restarted instead.
      if (isExit(outcome) && !this.#everServed.has(name)) return this.#giveUp(name, outcome)
    }
    return this.#done
  }

  /** Makes media read its certificates and keys again. */
  reload(): void {
    // Before it serves, it does not handle SIGHUP and would die.
    if (this.#everServed.has('media')) this.#running.get('media')?.kill('SIGHUP')
  }

  /** First call: running calls may finish. Second call: they are hung up. Third call: everything ends at once. */
  stop(): void {
    if (this.#parts.now() - this.#stoppedAt < SAME_SIGNAL_MS) return
    this.#stoppedAt = this.#parts.now()
    if (this.#stopping === 'no') {
      this.#stopping = 'drain'
      this.#parts.log.info({ drainSeconds: this.#parts.drainSeconds }, 'stopping')
      void this.#drain()
    } else if (this.#stopping === 'drain') {
      this.#stopping = 'hurry'
      void endChild(this.#running.get('media'), DRAIN_MARGIN_MS)
    } else if (this.#stopping === 'hurry') {
      this.#stopping = 'now'
      this.#running.get('media')?.kill('SIGKILL')
    }
  }

  async #drain(): Promise<void> {
    const limitMs = this.#parts.drainSeconds * 1000 + DRAIN_MARGIN_MS
    await endChild(this.#running.get('media'), limitMs)
    await endChild(this.#running.get('control'), CLOSE_MS)
    this.#cleanUp()
    this.#resolveDone(0)
  }

  async #giveUp(name: Name, exit: Exit): Promise<number> {
    if (exit.code !== 1) this.#parts.log.fatal({ process: name, ...exit }, 'ended before it was ready')
    this.#stopping = 'now'
    await Promise.all([...this.#running.values()].map(child => endChild(child, CLOSE_MS)))
    this.#cleanUp()
    return 1
  }

  #cleanUp(): void {
    for (const name of ['media', 'control', 'supervisor'] as const) removePid(this.#parts.dataDir, name)
  }

  /** Starts one process and keeps it running from then on. */
  async #start(name: Name): Promise<ReadyMessage | Exit> {
    const child = startChild(
      name === 'media' ? this.#parts.media : this.#parts.control(this.#httpPort),
      this.#parts.output,
      this.#everServed.has(name),
    )
    this.#running.set(name, child)
    writePid(this.#parts.dataDir, name, child.pid)
    const startedAt = this.#parts.now()
    void child.exited.then(exit => this.#ended(name, child, exit, startedAt))
    const outcome = await child.ready
    if (isExit(outcome)) return outcome
    this.#served(name, outcome)
    if (name === 'control' && !this.#isAnnounced) {
      this.#isAnnounced = true
      this.#parts.onReady({ ...outcome, ...this.#saidByControl })
    }
    return outcome
  }

  #served(name: Name, said: Record<string, unknown>): void {
    this.#everServed.add(name)
    if (name !== 'control') return
    if (typeof said.httpPort === 'number') this.#httpPort = said.httpPort
    for (const [key, value] of Object.entries(said)) if (key !== 'type') this.#saidByControl[key] ??= value
  }

  async #ended(name: Name, child: Child, exit: Exit, startedAt: number): Promise<void> {
    if (this.#running.get(name) === child) this.#running.delete(name)
    if (child.serving !== null) this.#served(name, child.serving)
    if (this.#stopping !== 'no' || !this.#everServed.has(name)) return
    if (this.#parts.now() - startedAt >= STABLE_MS) this.#backoffMs[name] = 0
    const waitMs = this.#backoffMs[name]
    this.#backoffMs[name] = Math.min(MAX_BACKOFF_MS, Math.max(FIRST_BACKOFF_MS, waitMs * 2))
    this.#parts.log.error({ process: name, ...exit, waitMs }, 'died; it is started again')
    if (waitMs > 0) await sleep(waitMs)
    if (this.#stopping === 'no') await this.#start(name)
  }
}

/** Ends a child process, by SIGKILL if it has not ended in time. */
async function endChild(child: Child | undefined, limitMs: number): Promise<void> {
  if (child === undefined) return
  const timer = setTimeout(() => child.kill('SIGKILL'), limitMs)
  child.stop()
  await child.exited
  clearTimeout(timer)
}
