import type { MediaPort } from '../../control/media-link/events.ts'
import { type CommandName, type Failure, isFailure, type Reply, type Request } from '../../media/protocol.ts'
import { MediaDouble } from './media-double.ts'

export class Killed extends Error {}

/** The double of media as a port, for models. A control that is to be killed dies at one of its commands, before or after it is carried out. */
export class PocketMedia extends MediaDouble implements MediaPort {
  /** Every command that was carried out, in order; one that is refused again and again, once. */
  readonly handled: { name: CommandName; body: unknown }[] = []
  readonly #refused = new Set<string>()
  /** Commands until control dies. */
  #fuse = Number.POSITIVE_INFINITY

  constructor(now: () => Date) {
    super(() => now().toISOString())
  }

  killAfter(commands: number): void {
    this.#fuse = commands
  }

  /** Control has died at a command; what it does after that is nothing. */
  get isKilled(): boolean {
    return this.#fuse <= 0
  }

  revive(): void {
    this.#fuse = Number.POSITIVE_INFINITY
  }

  /** Its calls are gone with it. */
  die(): void {
    this.forget(`boot-${Number(this.bootId.slice(5)) + 1}`)
  }

  settled(): Promise<void> {
    return Promise.resolve()
  }

  get waitingSince(): string | null {
    return this.unacknowledged[0]?.event.at ?? null
  }

  async request<N extends CommandName>(name: N, body: Request<N>): Promise<Reply<N> | Failure> {
    if (this.#fuse <= 0) throw new Killed()
    this.#fuse -= 0.5
    if (this.#fuse <= 0) throw new Killed()
    const reply = this.carryOut(name, body)
    const text = JSON.stringify({ name, body })
    if (!isFailure(reply)) this.handled.push({ name, body })
    else if (!this.#refused.has(text)) {
      this.#refused.add(text)
      this.handled.push({ name, body })
    }
    this.#fuse -= 0.5
    if (this.#fuse <= 0) throw new Killed()
    return reply
  }
}
