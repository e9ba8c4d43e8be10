import { cutTo } from '../../media/protocol.ts'
import { renderEvent } from '../http/versions/translate.ts'
import { eventText, toEvent } from '../kernel/events/event.ts'
import type { Store, Trx } from '../kernel/store/store.ts'
import type { EventRow } from '../kernel/store/tables.ts'
import type { Vault } from '../kernel/vault.ts'
import { type Settlement, settle } from './claims.ts'
import { noteFailure, noteSuccess, signingKeys } from './endpoint-state.ts'
import type { PostOutcome, PostRequest } from './http-post.ts'
import { retryAfterMs, retryDelayMs } from './schedule.ts'
import { signedHeaders } from './sign.ts'
import type { WebhookDeliveryRow, WebhookEndpointRow } from './tables.ts'

const GONE = 410
const KEPT_BODY_CHARACTERS = 1000

/**
 * The request of one attempt: signed anew, with the same ID and body as earlier attempts. The payload has the endpoint's API version,
 * whichever was current when the event happened.
 */
export function deliveryRequest(
  endpoint: WebhookEndpointRow,
  event: EventRow,
  parts: { vault: Pick<Vault, 'open'>; now: Date },
): PostRequest {
  const version = endpoint.api_version
  const body = event.api_version === version ? eventText(event) : JSON.stringify(renderEvent(toEvent(event), version))
  const keys = signingKeys(endpoint, parts.vault, parts.now)
  return { url: endpoint.url, body, headers: signedHeaders(keys, event.id, body, parts.now) }
}

/** An attempt and its outcome. */
export interface Attempted {
  delivery: WebhookDeliveryRow
  endpoint: WebhookEndpointRow
  outcome: PostOutcome
  startedAt: Date
  endedAt: Date
  durationMs: number
  /** 0 to 1, for the jitter. */
  random: number
}

/** Stores the outcomes of several attempts, for deliveries and endpoints, in one transaction. Resolves to the deliveries' new statuses. */
export function recordAttempts(store: Store, all: readonly Attempted[]): Promise<string[]> {
  return store.transaction(async trx => {
    const statuses: string[] = []
    for (const attempted of all) statuses.push(await recordAttempt(trx, attempted))
    return statuses
  })
}

async function recordAttempt(trx: Trx, attempted: Attempted): Promise<string> {
  const { delivery, endpoint, outcome, endedAt } = attempted
  const settlement = settlementOf(attempted, endedAt)
  // The lease was lost, or the endpoint was deleted: this attempt no longer decides.
  if (!(await settle(trx, delivery, settlement))) return 'superseded'
  if (settlement.status === 'succeeded') await noteSuccess(trx, endpoint.id)
  else await noteFailure(trx, endpoint.id, 'status' in outcome && outcome.status === GONE, endedAt)
  return settlement.status ?? 'pending'
}

function settlementOf(attempted: Attempted, now: Date): Settlement {
  const { delivery, outcome, startedAt, durationMs } = attempted
  const answered = 'status' in outcome
  const error = answered ? statusError(outcome.status) : outcome.error
  const made = delivery.step + 1
  const askedFor = answered ? retryAfterMs(outcome.retryAfter, now) : null
  const delay = error === null ? null : retryDelayMs(delivery.livemode === 1, made, attempted.random, askedFor)
  return {
    status: error === null ? 'succeeded' : delay === null ? 'failed' : 'pending',
    attempts: delivery.attempts + 1,
    step: made,
    next_attempt_at: delay === null ? null : new Date(now.getTime() + delay).toISOString(),
    last_attempt_at: startedAt.toISOString(),
    response_status: answered ? outcome.status : null,
    // Response bodies from the operator's own network are not shown to customers.
    response_body: answered && outcome.isFromPublic ? storable(outcome.body) : null,
    duration_ms: Math.round(durationMs),
    error,
    updated: now.toISOString(),
  }
}

function statusError(status: number): string | null {
  if (status >= 200 && status < 300) return null
  return status >= 300 && status < 400 ? 'redirected' : 'bad_status'
}

/** PostgreSQL keeps no zero bytes in text. */
const storable = (body: string): string => cutTo(body, KEPT_BODY_CHARACTERS).replaceAll('\0', '')
