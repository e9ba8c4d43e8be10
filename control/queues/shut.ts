import { endLeg, loadLeg } from '../calls/records.ts'
import type { Trx } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import { shutReason } from './distributor.ts'
import { rulesOf } from './ringing/rounds.ts'
import { settingsOf } from './settings/store.ts'
import { joinQueue, leaveQueue } from './waiting-calls.ts'

const BUSY_HERE = 486

/**
 * Refuses a new call with 486 if its queue takes no calls now and overflows to `busy`: answered only to hear the busy tone, the caller
 * would be charged. Rows and events are written as for a call that has waited. Returns whether it was refused.
 */
export async function refuseWhenShut(
  trx: Trx,
  tenant: Tenant,
  { callId, legId, queueId, at }: { callId: string; legId: string; queueId: string; at: string },
): Promise<boolean> {
  const scoped = forTenant(trx, tenant)
  const row = await scoped.find('queues', queueId)
  if (row === undefined || settingsOf(row).overflow.action !== 'busy') return false
  const users = await scoped.select('users').selectAll().where('status', '=', 'active').execute()
  const active = new Set(users.map(user => user.id))
  const statuses = await scoped.select('agent_statuses').select('id').where('status', '!=', 'offline').execute()
  const signedIn = new Set(statuses.map(({ id }) => id).filter(id => active.has(id)))
  const outcome = shutReason(rulesOf(row, users), signedIn)
  if (outcome === null) return false
  await joinQueue(trx, tenant, { callId, legId, queueId, at })
  await leaveQueue(trx, tenant, callId, { outcome, at })
  const rows = await loadLeg(trx, legId)
  if (rows !== null) await endLeg(trx, rows, { reason: 'busy', sipCode: BUSY_HERE, quality: null }, at)
  return true
}
