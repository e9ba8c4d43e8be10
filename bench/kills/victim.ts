import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Product } from '../product.ts'

const ENTRY = fileURLToPath(new URL('../../dist/control/wiring/main.js', import.meta.url))
const GONE_POLL_MS = 5

/**
 * The control process of a running product, which can be killed and replaced without a pause. The product's supervisor waits longer and longer before
 * it restarts a process that keeps dying, so it is stopped (SIGSTOP) meanwhile, and continued by `giveBack`.
 */
export class Victim {
  readonly #product: Product
  #serving: ChildProcess
  #ready: Promise<unknown>

  private constructor(product: Product) {
    this.#product = product
    this.#serving = this.#start()
    this.#ready = firstOf(this.#serving)
  }

  /** Takes the place of the product's control process. */
  static async instead(product: Product): Promise<Victim> {
    const { supervisor, control } = product.pids
    process.kill(supervisor, 'SIGSTOP')
    process.kill(control, 'SIGKILL')
    await untilGone(control)
    return new Victim(product)
  }

  #start(): ChildProcess {
    return fork(ENTRY, { env: { ...this.#product.env }, execArgv: [] })
  }

  /** Resolves when the process serves, or has died before. */
  async ready(): Promise<void> {
    await this.#ready
  }

  /** Kills the process with SIGKILL, and starts the next one at once. */
  async replace(): Promise<void> {
    await kill(this.#serving)
    this.#serving = this.#start()
    this.#ready = firstOf(this.#serving)
  }

  /** Continues the supervisor, which finds its control process dead and restarts it. Idempotent. */
  async giveBack(): Promise<void> {
    await kill(this.#serving)
    process.kill(this.#product.pids.supervisor, 'SIGCONT')
  }
}

/** Resolves at the first message of the process, or at its exit. */
const firstOf = (child: ChildProcess): Promise<unknown> => Promise.race([once(child, 'message'), once(child, 'exit')])

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

/** Waits until a process is gone. A zombie, whose parent is stopped, counts as gone, since its resources are released. */
async function untilGone(pid: number): Promise<void> {
  for (;;) {
    const stat = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '')
    if (stat === '' || / Z /.test(stat.slice(stat.lastIndexOf(')')))) return
    await sleep(GONE_POLL_MS)
  }
}
