import { LRUCache } from 'lru-cache'
import { atMost, type MediaEvent } from '../../../media/protocol.ts'
import { isStoreOutage } from '../../kernel/store/faults.ts'
import type { Store, Trx } from '../../kernel/store/store.ts'
import { forTenant, tenantOf } from '../../kernel/tenancy.ts'
import type { MediaPort } from '../../media-link/events.ts'
import { countEnd } from '../capture/used.ts'
import { writeLeg } from '../legs.ts'
import { loadLeg } from '../records.ts'
import type { LegEnd } from '../steps/decide.ts'

interface FaultDeps {
  store: Store
  now: () => string
  /** `now` is a time in the past. */
  isPast?: boolean
  log: { error(fields: object, message: string): void }
  centre: { end(trx: Trx, legId: string, end: LegEnd, at: string): Promise<void> }
}

/** Legs that were ended by a fault and may cause another before they are gone. */
const MAX_LEGS = 1000

interface Tally {
  count: number
  legs: LRUCache<string, true>
}

export const BY_FAULT = { reason: 'internal_error' as const, sipCode: null, quality: null }

/** An exception while serving a call ends that call, and is counted and logged. Nothing else stops. */
export class CallFaults {
  readonly #deps: FaultDeps
  readonly #tally: Tally

  constructor(deps: FaultDeps, tally: Tally = { count: 0, legs: new LRUCache(atMost(MAX_LEGS)) }) {
    this.#deps = deps
    this.#tally = tally
  }

  /** Since the start of the process; one per call. */
  get count(): number {
    return this.#tally.count
  }

  /** The same, for a time in the past. */
  endingAt(at: string): CallFaults {
    return new CallFaults({ ...this.#deps, now: () => at, isPast: true }, this.#tally)
  }

  /** Runs one step of many. An exception ends the leg, or is only reported if there is none. Throws only if the database is unavailable. */
  async guard(legId: string | null, media: MediaPort | null, run: () => Promise<unknown>): Promise<void> {
    try {
      await run()
    } catch (error) {
      if (isStoreOutage(error)) throw error
      await this.end(legId, media, error)
    }
  }

  /** Ends the call of a leg because of an exception. `media` null: media no longer has the leg. */
  async end(legId: string | null, media: MediaPort | null, error: unknown): Promise<void> {
    this.#count(legId)
    this.#deps.log.error({ err: error, legId }, legId === null ? 'a fault' : 'a fault ends a call')
    if (legId === null) return
    const reply = await media?.request('leg.hangup', { legId, reason: BY_FAULT.reason })
    // Otherwise the event of its end is on its way.
    if (reply === undefined || ('failure' in reply && reply.failure === 'not_found')) await this.endRows(legId)
  }

  /** A call that ends because of a fault may fail in each of its turns until it is gone: that counts once. */
  #count(legId: string | null): void {
    if (legId !== null && this.#tally.legs.has(legId)) return
    this.#tally.count++
    if (legId !== null) this.#tally.legs.set(legId, true)
  }

  /** Ends what the rows say, in the usual way; if that throws too, directly; if even that does, they stay until the next comparison. */
  async endRows(legId: string): Promise<void> {
    const { store, now, centre, log, isPast = false } = this.#deps
    try {
      await store.transaction(trx => centre.end(trx, legId, { ...BY_FAULT, isPast }, now()))
    } catch (error) {
      if (isStoreOutage(error)) throw error
      log.error({ err: error, legId }, 'a call could not be ended as others are')
      await this.#endPlainly(legId).catch(last => {
        if (isStoreOutage(last)) throw last
        log.error({ err: last, legId }, 'the rows of a call could not be ended')
      })
    }
  }

  async #endPlainly(legId: string): Promise<void> {
    const { store, now } = this.#deps
    const at = now()
    await store.transaction(async trx => {
      const leg = await trx.selectFrom('participants').selectAll().where('id', '=', legId).executeTakeFirst()
      if (leg === undefined) return
      await writeLeg(trx, tenantOf(leg), legId, { step: 'ended', left_at: at })
      if (leg.ring_id !== null) return
      const call = (await loadLeg(trx, legId))?.call
      if (call === undefined || call.ended_at !== null) return
      const status = call.answered_at === null ? 'failed' : 'completed'
      const change = { status, ended_reason: BY_FAULT.reason, ended_at: at } as const
      await forTenant(trx, tenantOf(leg)).change('calls', call.id, change)
      await countEnd(trx, tenantOf(call), { ...call, ...change })
    })
  }
}

/** The leg of an event; null: none. */
export const legOfEvent = ({ body }: MediaEvent): string | null => ('legId' in body ? body.legId : null)
