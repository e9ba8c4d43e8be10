import Type, { type Static } from 'typebox'
import { apiObject, nullable, timestamp } from '../kernel/schema.ts'
import { showRow } from '../kernel/show-row.ts'
import type { WebhookDeliveryRow } from './tables.ts'

export const webhookDeliverySchema = apiObject('webhook_delivery', {
  endpoint_id: Type.String(),
  event_id: Type.String({ description: 'Also the `webhook-id` header of every attempt.' }),
  event_type: Type.String(),
  status: Type.String({ description: 'pending, succeeded, failed' }),
  attempts: Type.Integer(),
  next_attempt_at: nullable(timestamp('Null once it has succeeded or failed for good.')),
  last_attempt: nullable(
    Type.Object({
      at: timestamp(),
      duration_ms: Type.Integer(),
      status_code: nullable(Type.Integer({ description: 'Null when there was no answer.' })),
      response_body: nullable(
        Type.String({ description: 'The first 1000 characters; null if a private address answered.' }),
      ),
    }),
  ),
  error: nullable(
    Type.String({
      description:
        'Why it has not succeeded so far: bad_status, redirected, timed_out, connection_failed, address_not_allowed, endpoint_disabled.',
    }),
  ),
  created: timestamp(),
  updated: timestamp(),
})

export type WebhookDelivery = Static<typeof webhookDeliverySchema>

export const toWebhookDelivery = (row: WebhookDeliveryRow): WebhookDelivery =>
  showRow(webhookDeliverySchema, row, { last_attempt: lastAttempt(row) })

const lastAttempt = (row: WebhookDeliveryRow): WebhookDelivery['last_attempt'] =>
  row.last_attempt_at === null
    ? null
    : {
        at: row.last_attempt_at,
        duration_ms: row.duration_ms ?? 0,
        status_code: row.response_status,
        response_body: row.response_body,
      }
