import { FakeMedia } from '../../fakes/media.ts'

/** Media with the parties called through it. Each rings for a moment; then two of three answer and hang up, and the third is busy. */
export class DialledParties extends FakeMedia {
  /** Every leg that was dialled, in order. */
  readonly dialled: { legId: string; phone: string }[] = []
  readonly #seen = new Set<string>()
  readonly #timer: NodeJS.Timeout
  #legs = 0

  constructor(legMs: number) {
    super()
    this.#timer = setInterval(() => this.#look(legMs), 5)
  }

  override async close(): Promise<void> {
    clearInterval(this.#timer)
    await super.close()
  }

  #look(legMs: number): void {
    for (const leg of this.legs.values()) {
      if (this.#seen.has(leg.legId)) continue
      this.#seen.add(leg.legId)
      this.dialled.push({ legId: leg.legId, phone: /\+\d+/.exec(leg.dialled)?.[0] ?? leg.dialled })
      const isBusy = this.#legs++ % 3 === 2
      const { legId } = leg
      if (isBusy) setTimeout(() => this.hangUp(legId, 'busy', 486), legMs)
      else {
        setTimeout(() => this.pickUp(legId), legMs / 2)
        setTimeout(() => this.hangUp(legId, 'caller_hangup'), legMs)
      }
    }
  }
}
