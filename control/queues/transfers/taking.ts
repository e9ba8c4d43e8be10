import { type Events, isFailure, isUndecided } from '../../../media/protocol.ts'
import type { Store, Trx } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import type { MediaPort } from '../../media-link/events.ts'
import type { RingPurpose, RingRow } from '../tables.ts'
import { leavable } from './leaving.ts'

/** Purposes of rings that a colleague may pick up: calls for the member, not offers of a queue. */
const PICKED_UP: readonly RingPurpose[] = ['direct', 'transfer', 'referred']

interface Taking {
  tenant: Tenant
  userId: string
  /** The phone's call, or that of the other node which `joins`, and the leg whose place it is to take. */
  call: Pick<Events['leg.incoming'], 'legId' | 'passedOn'>
  replaces: string
}

/**
 * A member's phone calls with Replaces (RFC 3891): it takes over a call from another phone of the same member, or picks up a call that
 * rings at a colleague. Or a node does for a member who leaves, and its other call takes the place.
 */
export async function takeMembersCall({ store }: { store: Store }, media: MediaPort, taking: Taking): Promise<void> {
  const { tenant, userId, call, replaces } = taking
  const { legId, passedOn } = call
  const joins = passedOn?.joins === true
  const left = await store.transaction(trx => (joins ? leavable(trx, tenant, userId, replaces) : claim(trx, taking)))
  if (typeof left === 'number') {
    const reason = left === 486 ? ('busy' as const) : ('rejected' as const)
    await media.request('leg.reject', { legId, sipCode: left, reason })
    return
  }
  const reply = await media.request('leg.replace', { legId: replaces, byLegId: legId })
  if (!isFailure(reply) || left === null || joins || isUndecided(reply)) return
  // The dialog has just ended, or was answered elsewhere: media has refused the caller.
  await store.transaction(trx => giveBack(trx, taking, left))
}

/** Gives a colleague's ring to the member. Returns how it was, null for an own one, or the SIP status of the refusal. */
async function claim(trx: Trx, { tenant, userId, replaces }: Taking): Promise<RingRow | number | null> {
  const scoped = forTenant(trx, tenant)
  const leg = await scoped.find('participants', replaces)
  const ring = await scoped
    .select('rings')
    .selectAll()
    .where(eb => eb.or([eb('leg_id', '=', replaces), eb('id', '=', leg?.ring_id ?? '')]))
    .executeTakeFirst()
  if (leg === undefined || ring === undefined) return 403
  if (ring.user_id === userId) return null
  if (ring.state !== 'ringing' || ring.user_id === null || !PICKED_UP.includes(ring.purpose)) return 403
  const own = await scoped.select('rings').select('id').where('open_user', '=', userId).executeTakeFirst()
  if (own !== undefined) return 486
  await scoped.change('rings', ring.id, { user_id: userId, open_user: userId })
  return ring
}

/** The member's phone could not take it, and it rings on at the colleague's. */
async function giveBack(trx: Trx, { tenant, userId }: Taking, { id, user_id, open_user }: RingRow): Promise<void> {
  const claimed = forTenant(trx, tenant).update('rings').set({ user_id, open_user }).where('id', '=', id)
  await claimed.where('user_id', '=', userId).where('state', '=', 'ringing').execute()
}
