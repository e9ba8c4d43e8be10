import type { Db } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import { GRACE_MS } from './presence.ts'

/** Members whose last device was lost a moment ago, by a reload or a lost network. Callers wait for such a device as long as presence does. */

/** Notes that a device was lost, such as a softphone whose connection broke. One that was closed on purpose is not lost. */
export async function noteLost(db: Db, tenant: Tenant, userId: string, at: string): Promise<void> {
  await forTenant(db, tenant).change('users', userId, { device_lost_at: at })
}

/** Whether a member without a device lost one so recently that it may come back. */
export async function mayComeBack(db: Db, tenant: Tenant, userId: string, now: Date): Promise<boolean> {
  const own = forTenant(db, tenant)
  const user = await own.find('users', userId)
  if (user?.status !== 'active') return false
  const lost = new Date(now.getTime() - GRACE_MS).toISOString()
  if (user.device_lost_at !== null && user.device_lost_at > lost) return true
  const expired = own.select('sip_registrations').select('user_id').where('user_id', '=', userId)
  const justNow = expired.where('expires_at', '>', lost).where('expires_at', '<=', now.toISOString())
  return (await justNow.executeTakeFirst()) !== undefined
}
