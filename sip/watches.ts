import type { AgentCore } from './agent-core.ts'
import type { Peer, Watch, Watching } from './agent-types.ts'
import { OptionsPing } from './options-ping.ts'
import { Registration } from './registration.ts'

/** The far ends that we register at or ask whether they are there. */
export class Watches {
  readonly #core: AgentCore
  readonly #running = new Map<string, Watching>()
  /** Replaces one that is being stopped. The old one's unregistration would otherwise undo the new one's registration. */
  readonly #successors = new Map<string, Watch>()

  constructor(core: AgentCore) {
    this.#core = core
  }

  /** Those that run, and those whose farewell is not answered yet. */
  get size(): number {
    return this.#running.size
  }

  /** Starts one, in the place of one with the same ID. */
  add(watch: Watch, now: number): void {
    const before = this.#running.get(watch.watchId)
    if (before === undefined) this.#start(watch, now)
    else {
      this.#successors.set(watch.watchId, watch)
      before.stop(now)
    }
  }

  remove(watchId: string, now: number): void {
    this.#successors.delete(watchId)
    this.#running.get(watchId)?.stop(now)
  }

  disconnected(from: Peer, now: number): void {
    for (const watching of this.#running.values()) watching.disconnected?.(from, now)
  }

  #start(watch: Watch, now: number): void {
    const over = (at: number): void => {
      const next = this.#successors.get(watch.watchId)
      this.#running.delete(watch.watchId)
      this.#core.accounts.delete(watch.contactUser)
      this.#successors.delete(watch.watchId)
      this.#core.unreport(watch.watchId)
      if (next !== undefined) this.#start(next, at)
    }
    const Kind = watch.kind === 'register' ? Registration : OptionsPing
    const watching = new Kind(this.#core, watch, over)
    this.#running.set(watch.watchId, watching)
    if (watch.kind === 'register' && watch.credentials !== null) {
      this.#core.accounts.set(watch.contactUser, watch.credentials)
    }
    watching.start(now)
  }
}
