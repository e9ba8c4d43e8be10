import type { Events } from '../../media/protocol.ts'
import { appendEvent } from '../kernel/events/log.ts'
import type { Trx } from '../kernel/store/store.ts'
import { forTenant, tenantOf } from '../kernel/tenancy.ts'
import { toConnection } from './connection-schema.ts'
import type { ConnectionRow } from './tables.ts'

/** Stores media's report about a far end, and sends an event on a change. A connection that is disabled or deleted meanwhile is ignored. */
export async function applyConnectionReport(
  trx: Trx,
  { connectionId, status, sipCode, serviceRoute = [] }: Events['connection.changed'],
  at: string,
): Promise<void> {
  const row = await trx.selectFrom('connections').selectAll().where('id', '=', connectionId).executeTakeFirst()
  if (row === undefined || row.enabled === 0) return
  const service_route = JSON.stringify(serviceRoute)
  if (row.status === status && row.sip_code === sipCode && row.service_route === service_route) return
  const tenant = tenantOf(row)
  const change = { status, sip_code: sipCode, service_route }
  await forTenant(trx, tenant).change('connections', row.id, change)
  const type = eventOf(row.status, status)
  if (type !== null) await appendEvent(trx, tenant, { type, at, object: toConnection({ ...row, ...change }) })
}

/** The event for a change. The first report that a trunk is reachable is none. */
function eventOf(before: ConnectionRow['status'], status: NonNullable<ConnectionRow['status']>) {
  if (before === status) return null
  if (status !== 'reachable') return `connection.${status}` as const
  return before === 'unreachable' ? ('connection.reachable' as const) : null
}
