import type { UsesOf } from '../http/references.ts'
import { forTenant } from '../kernel/tenancy.ts'

/** The website forms whose callbacks a queue returns. */
export const sitesUsing: UsesOf = async (db, tenant, queueId) => {
  const sites = forTenant(db, tenant).select('sites').select(['id', 'name']).where('queue_id', '=', queueId)
  return (await sites.orderBy('id').limit(100).execute()).map(row => ({ object: 'site', ...row }))
}
