import Type, { type Static } from 'typebox'
import { apiObject, metadata, nullable, timestamp } from '../kernel/schema.ts'
import { showRow } from '../kernel/show-row.ts'
import type { WebhookEndpointRow } from './tables.ts'

export const webhookEndpointSchema = apiObject('webhook_endpoint', {
  url: Type.String(),
  description: nullable(Type.String()),
  event_types: Type.Array(Type.String(), { description: 'What it subscribes to; `*` stands for every type.' }),
  status: Type.String({ description: 'enabled, disabled' }),
  disabled_reason: nullable(
    Type.String({ description: 'gone: it answered 410; failing: for five days; requested: through the API.' }),
  ),
  failing_since: nullable(timestamp('The first failure since the last success.')),
  algorithm: Type.String({ description: 'hmac (`v1` signatures), ed25519 (`v1a` signatures)' }),
  previous_algorithm: nullable(Type.String({ description: 'That of the previous key, while it still signs too.' })),
  previous_expires_at: nullable(timestamp('Until when the previous key signs too.')),
  api_version: Type.String({ description: 'API version of its payloads.' }),
  metadata,
  created: timestamp(),
  updated: timestamp(),
})

export const webhookEndpointWithSecretSchema = Type.Object(
  {
    ...webhookEndpointSchema.properties,
    secret: nullable(
      Type.String({ description: '`whsec_…`, returned only once; null for ed25519: see its `/public_key`.' }),
    ),
  },
  { title: 'WebhookEndpointWithSecret' },
)

export type WebhookEndpoint = Static<typeof webhookEndpointSchema>

/** Whether the key before the last rotation still signs at `now`. */
export const overlaps = (row: Pick<WebhookEndpointRow, 'previous_expires_at'>, now: Date): boolean =>
  row.previous_expires_at !== null && Date.parse(row.previous_expires_at) > now.getTime()

export function toWebhookEndpoint(row: WebhookEndpointRow, now: Date): WebhookEndpoint {
  const previous = overlaps(row, now)
  return showRow(webhookEndpointSchema, row, {
    previous_algorithm: previous ? row.previous_algorithm : null,
    previous_expires_at: previous ? row.previous_expires_at : null,
    metadata: JSON.parse(row.metadata) as Record<string, string>,
  })
}
