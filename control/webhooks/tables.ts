import type { TenantColumns } from '../kernel/store/tenant-columns.ts'
import type { Algorithm } from './sign.ts'

declare module '../kernel/store/tables.ts' {
  interface Database {
    webhook_endpoints: WebhookEndpointRow
    webhook_deliveries: WebhookDeliveryRow
  }
}

export interface WebhookEndpointRow extends TenantColumns {
  id: string
  url: string
  description: string | null
  status: 'enabled' | 'disabled'
  /** `gone` (410), `failing` (for days) or `requested`; null while enabled. */
  disabled_reason: string | null
  /** JSON list of types, or of `*` only. */
  event_types: string
  api_version: string
  metadata: string
  algorithm: Algorithm
  /** Sealed by the vault, as all keys here. */
  signing_key: string
  public_key: string | null
  /** The key before the last rotation; it signs until `previous_expires_at`. */
  previous_algorithm: Algorithm | null
  previous_signing_key: string | null
  previous_public_key: string | null
  previous_expires_at: string | null
  /** The first failure since the last success. */
  failing_since: string | null
  created: string
  updated: string
}

export interface WebhookDeliveryRow extends TenantColumns {
  id: string
  endpoint_id: string
  event_id: string
  event_type: string
  status: 'pending' | 'succeeded' | 'failed'
  /** Attempts made in all. */
  attempts: number
  /** Attempts made in the current schedule; a manual retry begins a new one. */
  step: number
  /** Null once the delivery is closed. */
  next_attempt_at: string | null
  /** Random ID of the lease under which an attempt runs, and until when no other process may begin one. */
  lease: string | null
  leased_until: string | null
  last_attempt_at: string | null
  response_status: number | null
  response_body: string | null
  duration_ms: number | null
  error: string | null
  created: string
  updated: string
}
