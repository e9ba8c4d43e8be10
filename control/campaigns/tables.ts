import type { Generated, Selectable } from 'kysely'
import type { AnsweredBy } from '../calls/answering/schema.ts'
import type { TenantColumns } from '../kernel/store/tenant-columns.ts'
import type { AttemptResult } from './outcomes.ts'
import type { CampaignStatus, ContactStatus } from './states.ts'

declare module '../kernel/store/tables.ts' {
  interface Database {
    campaigns: CampaignRow
    campaign_contacts: ContactRow
    campaign_attempts: CampaignAttemptTable
  }
}

export interface CampaignRow extends TenantColumns {
  id: string
  name: string
  status: CampaignStatus
  /** JSON of `CampaignSettings`. */
  settings: string
  /** When its next call may begin, Unix time [ms]. */
  next_call_ms: number
  /** Number of calls begun, by which its `caller_ids` take turns. */
  calls_begun: number
  metadata: string
  started_at: string | null
  /** When it was stopped, or had called everybody. */
  ended_at: string | null
  created: string
  updated: string
}

export interface ContactRow extends TenantColumns {
  id: string
  campaign_id: string
  /** E.164; unique in a campaign. */
  phone: string
  name: string
  /** IANA name; null: the campaign's time zone. */
  timezone: string | null
  metadata: string
  status: ContactStatus
  attempts: number
  /** Null: it is finished, or is being called. */
  next_attempt_at: string | null
  last_attempt_at: string | null
  last_result: AttemptResult | null
  /** The call of the attempt in progress. */
  call_id: string | null
  /** The agent who looks at it before it is called, in the mode `preview`. */
  claimed_by: string | null
  /** When the claim expires. */
  claimed_until: string | null
  skip_reason: string | null
  created: string
  updated: string
}

interface CampaignAttemptTable extends TenantColumns {
  id: string
  campaign_id: string
  contact_id: string
  /** Number that was called; empty: its contact was deleted. */
  phone: string
  /** Calling number; null: that of the connection. */
  from_number: string | null
  /** Number of the attempt; the first is 1. */
  number: number
  call_id: string
  /** The agent who has requested the call, in mode `preview`. */
  user_id: string | null
  started_at: string
  answered_at: string | null
  /** When an agent, flow or assistant was connected. */
  connected_at: string | null
  /** Null: not known yet, or there is no detection. */
  answered_by: AnsweredBy | null
  /** When `answered_by` was known. */
  found_out_at: string | null
  ended_at: string | null
  /** Null: the attempt is in progress. */
  result: AttemptResult | null
  /** When to delete `phone`, since the contact was deleted. */
  forget_at: Generated<string | null>
}

export type AttemptRow = Selectable<CampaignAttemptTable>
