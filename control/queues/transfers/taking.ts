import { isFailure } from '../../../media/protocol.ts'
import type { Store, Trx } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import type { MediaPort } from '../../media-link/events.ts'
import type { RingPurpose } from '../tables.ts'

/** Purposes of rings that a colleague may pick up: calls for the member, not offers of a queue. */
const PICKED_UP: readonly RingPurpose[] = ['direct', 'transfer', 'referred']

interface Taking {
  tenant: Tenant
  userId: string
  /** The phone's call, and the leg whose place it is to take. */
  legId: string
  replaces: string
}

/**
 * A member's phone calls with Replaces (RFC 3891): it takes over a call from another phone of the same member, or picks up a call that
 * rings at a colleague.
 */
export async function takeMembersCall({ store }: { store: Store }, media: MediaPort, taking: Taking): Promise<void> {
  const { legId, replaces } = taking
  const refusal = await store.transaction(trx => claim(trx, taking))
  if (refusal !== null) {
    const reason = refusal === 486 ? ('busy' as const) : ('rejected' as const)
    await media.request('leg.reject', { legId, sipCode: refusal, reason })
    return
  }
  const reply = await media.request('leg.replace', { legId: replaces, byLegId: legId })
  // The dialog has just ended, or was answered elsewhere.
  if (!isFailure(reply) || reply.failure === 'invalid') return
  await media.request('leg.reject', { legId, sipCode: 481, reason: 'not_found' })
}

/** Gives the ring to the member. Returns null, or the SIP status of the refusal. */
async function claim(trx: Trx, { tenant, userId, replaces }: Taking): Promise<number | null> {
  const scoped = forTenant(trx, tenant)
  const leg = await scoped.find('participants', replaces)
  const rings = await scoped
    .select('rings')
    .selectAll()
    .where(eb => eb.or([eb('leg_id', '=', replaces), eb('id', '=', leg?.ring_id ?? '')]))
    .execute()
  const [ring] = rings
  if (leg === undefined || ring === undefined) return 403
  if (ring.user_id === userId) return null
  if (ring.state !== 'ringing' || ring.user_id === null || !PICKED_UP.includes(ring.purpose)) return 403
  const own = await scoped.select('rings').select('id').where('open_user', '=', userId).executeTakeFirst()
  if (own !== undefined) return 486
  await scoped.update('rings').set({ user_id: userId, open_user: userId }).where('id', '=', ring.id).execute()
  return null
}
