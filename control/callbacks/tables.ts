import type { TenantColumns } from '../kernel/store/tenant-columns.ts'

declare module '../kernel/store/tables.ts' {
  interface Database {
    callbacks: CallbackRow
    callback_requests: CallbackRequestTable
  }
}

export interface CallbackRow extends TenantColumns {
  id: string
  phone: string
  /** `phone` while the callback is open, otherwise null. Unique, so that a number has at most one open callback. */
  open_phone: string | null
  name: string
  status: CallbackStatus
  source: string
  site_id: string | null
  due_at: string
  window_end: string | null
  priority: number
  route: CallbackRoute
  queue_id: string | null
  agent_id: string | null
  assistant_id: string | null
  attempts: number
  max_attempts: number
  last_attempt_at: string | null
  last_result: string | null
  call_id: string | null
  origin_call_id: string | null
  notes: string
  summary: string | null
  sla_at: string | null
  /** When the event about a missed `sla_at` was written; null: not yet. */
  sla_missed_at: string | null
  merged_requests: number
  web_context: string | null
  /** JSON of the IDs of agents who did not answer an offer of it since it was last due. */
  tried: string | null
  /** The agent to whom it is offered, or who returns it. */
  offered_to: string | null
  metadata: string
  completed_at: string | null
  created: string
  updated: string
}

/** The callback that a call requested, even if it was merged into an earlier one. */
interface CallbackRequestTable extends TenantColumns {
  origin_call_id: string
  callback_id: string
}

export const CALLBACK_STATUSES = [
  'pending',
  'offered',
  'dialing',
  'connected',
  'completed',
  'failed',
  'cancelled',
  'expired',
] as const
export type CallbackStatus = (typeof CALLBACK_STATUSES)[number]
export type CallbackRoute = 'agent_queue' | 'agent' | 'assistant'
