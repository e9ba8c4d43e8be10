import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Child, startChild } from '../../control/child.ts'
import type { Product } from '../product.ts'

const ENTRY = fileURLToPath(new URL('../../dist/control/main.js', import.meta.url))

/**
 * The control process of a running product, to be killed and started again without a pause. The product's own supervisor waits
 * longer and longer before it restarts a process that keeps dying; it is stopped meanwhile, and goes on when this is done.
 */
export class Victim {
  readonly #product: Product
  #child: Child

  private constructor(product: Product) {
    this.#product = product
    this.#child = this.#start()
  }

  /** Takes the place of the product's control process. */
  static async instead(product: Product): Promise<Victim> {
    const { supervisor, control } = product.pids
    process.kill(supervisor, 'SIGSTOP')
    process.kill(control, 'SIGKILL')
    await untilGone(control)
    return new Victim(product)
  }

  #start(): Child {
    return startChild({ name: 'control', entry: ENTRY, env: { ...this.#product.env } })
  }

  /** Resolves when it serves, or died before. */
  async ready(): Promise<void> {
    await this.#child.ready
  }

  /** SIGKILL, and the next one begins at once. */
  async replace(): Promise<void> {
    await this.kill()
    this.#child = this.#start()
  }

  /** SIGKILL. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#child.exited
  }

  /** The supervisor goes on, finds its control dead and starts it again. Idempotent. */
  async giveBack(): Promise<void> {
    await this.kill()
    process.kill(this.#product.pids.supervisor, 'SIGCONT')
  }
}

/** A zombie, whose parent is stopped, counts as gone: it holds nothing any more. */
async function untilGone(pid: number): Promise<void> {
  for (;;) {
    const stat = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '')
    if (stat === '' || / Z /.test(stat.slice(stat.lastIndexOf(')')))) return
    await sleep(5)
  }
}
