import { isFailure } from '../../../media/protocol.ts'
import type { Store } from '../../kernel/store/store.ts'
import type { MediaPort } from '../../media-link/events.ts'

interface StrayLegParts {
  store: Store
  log: { warn(fields: object, message: string): void }
}

/**
 * Hangs up media's legs whose calls have ended: a late command dialled them, or a database outage lost the command to hang up. One look is
 * not enough, since the end may be on its way. A leg that is still there at the next look is a stray.
 */
export class StrayLegs {
  readonly counters = { hungUp: 0 }
  readonly #parts: StrayLegParts
  #suspects: ReadonlySet<string> = new Set()

  constructor(parts: StrayLegParts) {
    this.#parts = parts
  }

  /** To be called regularly, at intervals longer than any command takes. */
  async run(media: MediaPort): Promise<void> {
    const snapshot = await media.request('media.snapshot', {})
    if (isFailure(snapshot)) return
    const alive = snapshot.legs.filter(leg => leg.state !== 'ended').map(leg => leg.legId)
    const strays = alive.length === 0 ? [] : await this.#ended(alive)
    for (const legId of strays) {
      if (!this.#suspects.has(legId)) continue
      this.counters.hungUp++
      this.#parts.log.warn({ legId }, 'a leg whose call has ended is hung up')
      await media.request('leg.hangup', { legId, reason: 'internal_error' })
    }
    this.#suspects = new Set(strays)
  }

  async #ended(legIds: string[]): Promise<string[]> {
    const { db } = this.#parts.store
    const rows = await db
      .selectFrom('participants')
      .innerJoin('calls', 'calls.id', 'participants.call_id')
      .select('participants.id')
      .where('participants.id', 'in', legIds)
      .where(eb => eb.or([eb('participants.step', '=', 'ended'), eb('calls.ended_at', 'is not', null)]))
      .execute()
    return rows.map(row => row.id)
  }
}
