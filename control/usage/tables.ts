import type { TenantColumns } from '../kernel/store/tenant-columns.ts'

declare module '../kernel/store/tables.ts' {
  interface Database {
    usage_entries: UsageEntryRow
  }
}

declare module '../kernel/ids.ts' {
  interface IdKinds {
    usage_entry: true
  }
}

/** Meters and their units. Storage has two: `stored_bytes` minus `released_bytes` is what is kept. */
export const METERS = {
  calls: 'count',
  answered_calls: 'count',
  call_ms: 'ms',
  conference_sessions: 'count',
  conference_ms: 'ms',
  media_streams: 'count',
  stream_frames: 'frames',
  recordings: 'count',
  recorded_ms: 'ms',
  transcripts: 'count',
  transcribed_ms: 'ms',
  messages: 'count',
  callbacks: 'count',
  copilot_sessions: 'count',
  copilot_input_tokens: 'tokens',
  copilot_output_tokens: 'tokens',
  model_input_tokens: 'tokens',
  model_output_tokens: 'tokens',
  stored_bytes: 'bytes',
  released_bytes: 'bytes',
} as const
export type Meter = keyof typeof METERS

/** One line of the ledger. It is never changed or deleted, even if the metered object is. */
export interface UsageEntryRow extends TenantColumns {
  id: string
  meter: Meter
  quantity: number
  /** ID of the metered object. One entry for each meter and source. */
  source_id: string
  /** The day it belongs to: when the metered object began, ISO-8601 UTC. */
  at: string
}
