import { isFailure } from '../../../media/protocol.ts'
import type { Store } from '../../kernel/store/store.ts'
import type { MediaPort } from '../../media-link/events.ts'

export interface StrayLegParts {
  store: Store
  log: { warn(fields: object, message: string): void }
}

/**
 * Hangs up legs that media has and whose calls have ended: a command that was late dialled them, or an outage of the database ate
 * what was to be sent. One look is not enough, since an end may be on its way; who is still there at the next look is a stray.
 */
export class StrayLegs {
  readonly counters = { hungUp: 0 }
  readonly #parts: StrayLegParts
  #suspects: ReadonlySet<string> = new Set()

  constructor(parts: StrayLegParts) {
    this.#parts = parts
  }

  /** To be called now and then; a second call apart from the first by more than any command takes. */
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
