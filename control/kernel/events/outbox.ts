import { newId } from '../ids.ts'
import { claimFor, type NewDelivery, together, written } from '../store/after-commit.ts'
import { insertRows, type Place, rowsOf } from '../store/compiled.ts'
import type { Trx } from '../store/store.ts'
import { ofTenant, type Tenant, valuesOf } from '../tenancy.ts'

/** The fields of its event that a delivery needs. */
interface OutboxEvent {
  id: string
  type: string
}

/** Whether an endpoint with this list (`*` means all) subscribes to a type. */
const subscribes = (eventTypes: readonly string[], type: string): boolean =>
  eventTypes.includes('*') || eventTypes.includes(type)

interface Due {
  tenant: Tenant
  event: OutboxEvent
  at: string
}

/**
 * Puts an event into the outbox of every endpoint that subscribes to it, in the transaction that caused it: once the event is committed,
 * its deliveries are certain. `at`: the time of the database, ISO-8601 UTC.
 */
export const enqueueEvent = (trx: Trx, tenant: Tenant, event: OutboxEvent, at: string): Promise<void> =>
  together(trx, 'webhook_deliveries', [{ tenant, event, at }], all => enqueueAll(trx, all))

async function enqueueAll(trx: Trx, all: readonly Due[]): Promise<void> {
  const build = (place: Place) =>
    ofTenant(trx, 'webhook_endpoints', place)
      .select(['id', 'event_types', 'failing_since'])
      .where('status', '=', 'enabled')
  const known = new Map<string, { id: string; types: string[]; isFailing: boolean }[]>()
  const rows = []
  for (const { tenant, event, at } of all) {
    const whose = `${tenant.organisationId} ${tenant.livemode}`
    let endpoints = known.get(whose)
    if (endpoints === undefined) {
      const enabled = await rowsOf(trx, 'enabled endpoints', build, valuesOf(tenant))
      endpoints = enabled.map(({ id, event_types, failing_since }) => ({
        id,
        isFailing: failing_since !== null,
        types: JSON.parse(event_types) as string[],
      }))
      known.set(whose, endpoints)
    }
    for (const { id, types, isFailing } of endpoints) {
      if (!subscribes(types, event.type)) continue
      const delivery = deliveryOf(tenant, id, event, at)
      // One that fails is tried by turns with its organisation's others.
      const claim = isFailing ? null : claimFor(trx, delivery)
      rows.push({ lease: null, leased_until: null, ...delivery, ...claim })
    }
  }
  await insertRows(trx, 'webhook_deliveries', rows)
}

/** Puts events into the outbox of one endpoint, due at once. Returns the deliveries' IDs. */
export async function enqueueFor(
  trx: Trx,
  tenant: Tenant,
  endpointId: string,
  events: readonly OutboxEvent[],
  at: string,
): Promise<string[]> {
  // They hang on their events.
  await written(trx)
  const rows = events.map(event => deliveryOf(tenant, endpointId, event, at))
  await insertRows(trx, 'webhook_deliveries', rows)
  return rows.map(row => row.id)
}

const deliveryOf = (
  { organisationId, livemode }: Tenant,
  endpointId: string,
  { id, type }: OutboxEvent,
  at: string,
): NewDelivery => ({
  id: newId('webhook_delivery'),
  organisation_id: organisationId,
  livemode: livemode ? 1 : 0,
  endpoint_id: endpointId,
  event_id: id,
  event_type: type,
  status: 'pending',
  attempts: 0,
  step: 0,
  next_attempt_at: at,
  created: at,
  updated: at,
})
