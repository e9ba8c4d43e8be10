import type { UsesOf } from '../http/references.ts'
import { forTenant } from '../kernel/tenancy.ts'

/** The inbound routes that lead calls to an object: a room, a flow, an assistant, a queue. */
export const routesLeadingTo: UsesOf = async (db, tenant, id) => {
  const routes = forTenant(db, tenant).select('inbound_routes').select('id').where('target_id', '=', id)
  return (await routes.orderBy('id').limit(100).execute()).map(row => ({ object: 'inbound_route', id: row.id }))
}
