import type { EndedReason } from '../../media/protocol.ts'
import type { Db, Trx } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import type { ParticipantRow } from './tables.ts'

/** In `leave_prompt`: what is heard before the call ends. */
export const BUSY_TONE = 'busy-tone'

/** The leg that the call is about. */
export const mainLeg = (db: Db, tenant: Tenant, callId: string): Promise<ParticipantRow | undefined> =>
  forTenant(db, tenant)
    .select('participants')
    .selectAll()
    .where('call_id', '=', callId)
    .where('ring_id', 'is', null)
    .executeTakeFirst()

export const findLeg = (db: Db, tenant: Tenant, id: string): Promise<ParticipantRow | undefined> =>
  forTenant(db, tenant).find('participants', id)

/** What a leg is to do next; its command is sent by the next drive. One that has ended stays so. */
export async function setLeg(
  trx: Trx,
  tenant: Tenant,
  legId: string,
  change: Partial<
    Pick<
      ParticipantRow,
      'step' | 'leave_reason' | 'leave_prompt' | 'prompted' | 'left_at' | 'role' | 'quality' | 'dial' | 'on_hold'
    >
  >,
): Promise<void> {
  await forTenant(trx, tenant)
    .update('participants')
    .set({ prompted: 0, ...change })
    .where('id', '=', legId)
    .where('step', '!=', 'ended')
    .execute()
}

export const hangUpLeg = (trx: Trx, tenant: Tenant, legId: string, reason: EndedReason): Promise<void> =>
  setLeg(trx, tenant, legId, { step: 'hanging_up', leave_reason: reason, leave_prompt: null })

/** Ends a caller who has been answered by us and reaches nobody: for `busy` it hears the tone first, as a telephone exchange has it. */
export const turnAway = (trx: Trx, tenant: Tenant, legId: string, reason: EndedReason): Promise<void> =>
  setLeg(trx, tenant, legId, {
    step: 'hanging_up',
    leave_reason: reason,
    leave_prompt: reason === 'busy' ? BUSY_TONE : null,
  })
