import type { Generated, Selectable } from 'kysely'
import type { AnsweredBy } from '../calls/answering/schema.ts'
import type { TenantColumns } from '../kernel/store/tenant-columns.ts'
import type { AttemptResult } from './outcomes.ts'
import type { CampaignStatus, ContactStatus } from './states.ts'

declare module '../kernel/store/tables.ts' {
  interface Database {
    campaigns: CampaignTable
    campaign_contacts: CampaignContactTable
    campaign_attempts: CampaignAttemptTable
  }
}

export interface CampaignTable extends TenantColumns {
  id: string
  name: string
  status: CampaignStatus
  /** JSON of `CampaignSettings`. */
  settings: string
  /** When its next call may begin, Unix time [ms]. */
  next_call_ms: number
  /** So many have: its `caller_ids` take turns by it. */
  calls_begun: number
  metadata: string
  started_at: string | null
  /** When it was stopped or had called everybody. */
  ended_at: string | null
  created: string
  updated: string
}

export interface CampaignContactTable extends TenantColumns {
  id: string
  campaign_id: string
  /** E.164; once in a campaign. */
  phone: string
  name: string
  /** Null: as the campaign's. */
  timezone: string | null
  metadata: string
  status: ContactStatus
  attempts: number
  /** Null: it is not to be called any more, or is being called. */
  next_attempt_at: string | null
  last_attempt_at: string | null
  last_result: AttemptResult | null
  /** For the attempt in progress. */
  call_id: string | null
  /** The agent who looks at it before it is called, in the mode `preview`. */
  claimed_by: string | null
  /** Then it is everybody's again. */
  claimed_until: string | null
  skip_reason: string | null
  created: string
  updated: string
}

export interface CampaignAttemptTable extends TenantColumns {
  id: string
  campaign_id: string
  contact_id: string
  /** Empty: its contact was deleted. */
  phone: string
  /** Null: as its connection says. */
  from_number: string | null
  /** The first is 1. */
  number: number
  call_id: string
  /** The agent who has asked for it, in the mode `preview`. */
  user_id: string | null
  started_at: string
  answered_at: string | null
  /** When an agent, or what leads the campaign, came on the line. */
  connected_at: string | null
  /** Null: not known, or not asked. */
  answered_by: AnsweredBy | null
  /** When that was known. */
  found_out_at: string | null
  ended_at: string | null
  /** Null: it is under way. */
  result: AttemptResult | null
  /** Its contact was deleted: then its number is too. */
  forget_at: Generated<string | null>
}

export type CampaignRow = Selectable<CampaignTable>
export type ContactRow = Selectable<CampaignContactTable>
export type AttemptRow = Selectable<CampaignAttemptTable>
