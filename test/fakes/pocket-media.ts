import type { MediaPort } from '../../control/media-link/events.ts'
import { type CommandName, type Failure, isFailure, type Reply, type Request } from '../../media/protocol.ts'
import { MediaDouble } from './media-double.ts'

export class Killed extends Error {}

/** The double of media as a port, for tests with models. It can kill control at one of its commands, before or after that is carried out. */
export class PocketMedia extends MediaDouble implements MediaPort {
  /** Every command that was carried out, in order; repeated refusals of the same command once. */
  readonly handled: { name: CommandName; body: unknown }[] = []
  readonly #refused = new Set<string>()
  /** Number of commands until control dies. */
  #fuse = Number.POSITIVE_INFINITY

  constructor(now: () => Date) {
    super(() => now().toISOString())
  }

  killAfter(commands: number): void {
    this.#fuse = commands
  }

  /** Whether control has died at a command; further ones have no effect. */
  get isKilled(): boolean {
    return this.#fuse <= 0
  }

  revive(): void {
    this.#fuse = Number.POSITIVE_INFINITY
  }

  /** Restarts media, which loses its calls. */
  die(): void {
    this.forget(`boot-${Number(this.bootId.slice(5)) + 1}`)
  }

  isDraining = false

  settled(): Promise<void> {
    return Promise.resolve()
  }

  isEnding(legId: string): boolean {
    return this.unacknowledged.some(({ event }) => event.name === 'leg.ended' && event.body.legId === legId)
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
