import { newId } from '../ids.ts'
import { type Place, rowsOf } from '../store/compiled.ts'
import type { Trx } from '../store/store.ts'
import { ofTenant, type Tenant, valuesOf } from '../tenancy.ts'

/** Rows of one INSERT: databases bound the number of values in a statement. */
const ROWS_AT_ONCE = 500

/** What a delivery needs to know of its event. */
export interface OutboxEvent {
  id: string
  type: string
}

/** Whether an endpoint with this list (`*` stands for all) gets events of a type. */
export const subscribes = (eventTypes: readonly string[], type: string): boolean =>
  eventTypes.includes('*') || eventTypes.includes(type)

/**
 * Puts an event into the outbox of every endpoint that subscribes to it, in the transaction that caused it: whoever sees the
 * event committed can rely on its deliveries. `at`: the time of the database, ISO-8601 UTC.
 */
export async function enqueueEvent(trx: Trx, tenant: Tenant, event: OutboxEvent, at: string): Promise<void> {
  const build = (place: Place) =>
    ofTenant(trx, 'webhook_endpoints', place).select(['id', 'event_types']).where('status', '=', 'enabled')
  const endpoints = await rowsOf(trx, 'enabled endpoints', build, valuesOf(tenant))
  for (const { id, event_types } of endpoints) {
    if (subscribes(JSON.parse(event_types), event.type)) await enqueueFor(trx, tenant, id, [event], at)
  }
}

/** Puts events into the outbox of one endpoint, due at once. Returns the deliveries' IDs. */
export async function enqueueFor(
  trx: Trx,
  tenant: Tenant,
  endpointId: string,
  events: readonly OutboxEvent[],
  at: string,
): Promise<string[]> {
  const rows = events.map(({ id, type }) => ({
    id: newId('webhook_delivery'),
    organisation_id: tenant.organisationId,
    livemode: tenant.livemode ? 1 : 0,
    endpoint_id: endpointId,
    event_id: id,
    event_type: type,
    status: 'pending' as const,
    attempts: 0,
    step: 0,
    next_attempt_at: at,
    created: at,
    updated: at,
  }))
  for (let from = 0; from < rows.length; from += ROWS_AT_ONCE) {
    await trx
      .insertInto('webhook_deliveries')
      .values(rows.slice(from, from + ROWS_AT_ONCE))
      .execute()
  }
  return rows.map(row => row.id)
}
