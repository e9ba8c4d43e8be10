import { LRUCache } from 'lru-cache'
import type { MediaEvent } from '../../../media/protocol.ts'
import { isStoreOutage } from '../../kernel/store/faults.ts'
import type { Store, Trx } from '../../kernel/store/store.ts'
import { forTenant, tenantOf } from '../../kernel/tenancy.ts'
import type { MediaPort } from '../../media-link/events.ts'
import { countEnd } from '../capture/used.ts'
import { writeLeg } from '../legs.ts'
import { loadLeg } from '../records.ts'
import type { LegEnd } from './decide.ts'

export interface FaultDeps {
  store: Store
  now: () => string
  /** `now` tells a time that is long over. */
  isPast?: boolean
  log: { error(fields: object, message: string): void }
  centre: { end(trx: Trx, legId: string, end: LegEnd, at: string): Promise<void> }
}

/** Legs that a fault has ended and that may meet another one before they are gone. */
const MAX_LEGS = 1000

interface Tally {
  count: number
  legs: LRUCache<string, true>
}

const END = { reason: 'internal_error' as const, sipCode: null, quality: null }

/** What throws where a call is served ends that call, is counted and logged, and nothing else comes to a stop for it. */
export class CallFaults {
  readonly #deps: FaultDeps
  readonly #tally: Tally

  constructor(deps: FaultDeps, tally: Tally = { count: 0, legs: new LRUCache({ max: MAX_LEGS }) }) {
    this.#deps = deps
    this.#tally = tally
  }

  /** Since the start of the process; of one call one. */
  get count(): number {
    return this.#tally.count
  }

  /** The same, for what was over at a time that has passed. */
  endingAt(at: string): CallFaults {
    return new CallFaults({ ...this.#deps, now: () => at, isPast: true }, this.#tally)
  }

  /** Does one step of many; what it throws ends the leg, or is only told of where it is none's. Throws for an absent database alone. */
  async guard(legId: string | null, media: MediaPort | null, run: () => Promise<unknown>): Promise<void> {
    try {
      await run()
    } catch (error) {
      if (isStoreOutage(error)) throw error
      await this.end(legId, media, error)
    }
  }

  /** Ends the call of a leg for what was thrown. `media` null: it has no such leg any more. */
  async end(legId: string | null, media: MediaPort | null, error: unknown): Promise<void> {
    this.#count(legId)
    this.#deps.log.error({ err: error, legId }, legId === null ? 'a fault' : 'a fault ends a call')
    if (legId === null) return
    const reply = await media?.request('leg.hangup', { legId, reason: END.reason })
    // Else the event that tells of its end is on its way.
    if (reply === undefined || ('failure' in reply && reply.failure === 'not_found')) await this.endRows(legId)
  }

  /** A call that ends for a fault may meet it in each of its turns until it is gone: that is one. */
  #count(legId: string | null): void {
    if (legId !== null && this.#tally.legs.has(legId)) return
    this.#tally.count++
    if (legId !== null) this.#tally.legs.set(legId, true)
  }

  /** Ends what the rows say, by the way of all calls; where that throws too, plainly. */
  async endRows(legId: string): Promise<void> {
    const { store, now, centre, log, isPast = false } = this.#deps
    try {
      await store.transaction(trx => centre.end(trx, legId, { ...END, isPast }, now()))
    } catch (error) {
      if (isStoreOutage(error)) throw error
      log.error({ err: error, legId }, 'a call could not be ended as others are')
      await this.#endPlainly(legId)
    }
  }

  async #endPlainly(legId: string): Promise<void> {
    const { store, now } = this.#deps
    const at = now()
    await store.transaction(async trx => {
      const leg = await trx.selectFrom('participants').selectAll().where('id', '=', legId).executeTakeFirst()
      if (leg === undefined) return
      const scoped = forTenant(trx, tenantOf(leg))
      await writeLeg(trx, tenantOf(leg), legId, { step: 'ended', left_at: at })
      if (leg.ring_id !== null) return
      const call = (await loadLeg(trx, legId))?.call
      if (call === undefined || call.ended_at !== null) return
      const status = call.answered_at === null ? 'failed' : 'completed'
      const change = { status, ended_reason: END.reason, ended_at: at } as const
      await scoped.update('calls').set(change).where('id', '=', call.id).execute()
      await countEnd(trx, tenantOf(call), { ...call, ...change })
    })
  }
}

/** Whose call an event belongs to; null: it is no leg's. */
export const legOfEvent = ({ body }: MediaEvent): string | null => ('legId' in body ? body.legId : null)
