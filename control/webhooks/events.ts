import { type EventKind, eventKind as of } from '../kernel/events/catalog.ts'
import { CREATED } from '../kernel/events/sample-call.ts'
import { type WebhookEndpoint, webhookEndpointSchema } from './endpoint-schema.ts'

const endpoint: WebhookEndpoint = {
  id: 'we_01k9000000000000000000000c',
  object: 'webhook_endpoint',
  livemode: false,
  url: 'https://example.com/webhooks',
  description: 'Call log',
  event_types: ['call.ended', 'call.recording.ready'],
  status: 'enabled',
  disabled_reason: null,
  failing_since: null,
  algorithm: 'ed25519',
  previous_algorithm: null,
  previous_expires_at: null,
  api_version: '2026-11-01',
  metadata: {},
  created: CREATED,
  updated: CREATED,
}

export const webhookEvents = {
  'webhook_endpoint.disabled': of(webhookEndpointSchema, {
    ...endpoint,
    status: 'disabled',
    disabled_reason: 'failing',
    failing_since: '2026-11-01T09:00:05.000Z',
    updated: '2026-11-06T09:30:00.000Z',
  }),
  /** Checks that a webhook endpoint can be reached; sent to that endpoint only. */
  ping: of(webhookEndpointSchema, endpoint),
} as const satisfies Record<string, EventKind>

declare module '../kernel/events/catalog.ts' {
  interface EventTypes extends Record<keyof typeof webhookEvents, true> {}
}
