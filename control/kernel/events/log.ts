import { isDeepStrictEqual } from 'node:util'
import { newId } from '../ids.ts'
import { causeOf, noteFact, together } from '../store/after-commit.ts'
import { insertRows } from '../store/compiled.ts'
import type { Trx } from '../store/store.ts'
import { ownedBy, type Tenant } from '../tenancy.ts'
import { CURRENT_VERSION } from '../versions/current.ts'
import type { EventType } from './catalog.ts'
import { enqueueEvent, enqueueFor } from './outbox.ts'

/** The API request that caused something; empty: none did, but a phone, a page or the network. A `Context` is one. */
export type Cause = Partial<{ requestId: string; idempotencyKey: string | null }>

interface NewEvent {
  type: EventType
  /** When it happened, ISO-8601 UTC. */
  at: string
  /** `data.object`: the API object in its state after the event. */
  object: object
  /** The object before it; absent: the event does not tell of a change. */
  before?: object
  /** The call it belongs to, for `GET /calls/{id}/events`. */
  callId?: string
  /** Absent: the request that the transaction carries out, if any (`causedBy`). */
  request?: Cause
  /** The only webhook endpoint to receive it, whatever it subscribes to; absent: all that subscribe to the type. */
  onlyEndpointId?: string
}

/** The former values of what has changed, which `previous_attributes` shows. */
const changedFrom = (before: object, object: object): object =>
  Object.fromEntries(
    Object.entries(before).filter(([name, value]) => !isDeepStrictEqual(value, object[name as keyof typeof object])),
  )

const objectId = (object: { id?: string; user_id?: string; call_id?: string }): string | null =>
  object.id ?? object.user_id ?? object.call_id ?? null

/** Writes an event and its webhook deliveries in the transaction that caused it, so that none exists without the others. Returns the event's ID. */
export async function appendEvent(trx: Trx, tenant: Tenant, event: NewEvent): Promise<string> {
  const id = newId('event')
  const cause: Cause = event.request ?? causeOf(trx) ?? {}
  const { object, before } = event
  const data = { object, previous_attributes: before && changedFrom(before, object) }
  const row = {
    id,
    type: event.type,
    timestamp: event.at,
    api_version: CURRENT_VERSION,
    data: JSON.stringify(data),
    request_id: cause.requestId ?? null,
    idempotency_key: cause.idempotencyKey ?? null,
    call_id: event.callId ?? null,
    object_id: objectId(event.object),
    ...ownedBy(tenant),
  }
  await together(trx, 'events', [row], rows => insertRows(trx, 'events', rows))
  const queued = { id, type: event.type }
  if (event.onlyEndpointId === undefined) await enqueueEvent(trx, tenant, queued, event.at)
  else await enqueueFor(trx, tenant, event.onlyEndpointId, [queued], event.at)
  await noteFact(trx, { type: event.type, object: event.object, tenant, at: event.at })
  return id
}
