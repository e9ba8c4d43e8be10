import type { Generated, Selectable } from 'kysely'
import type { TenantColumns } from './tenant-columns.ts'

/**
 * The database schema for Kysely, with types that SQLite and PostgreSQL share: text, integer, JSON as text, booleans as 0 and 1,
 * times as ISO-8601 UTC text. Each noun adds its own tables where it describes them (`declare module`).
 */
export interface Database {
  organisations: OrganisationTable
  partner_organisations: PartnerOrganisationTable
  api_keys: ApiKeyRow
  events: EventRow
  idempotency_keys: IdempotencyKeyTable
  request_logs: RequestLogRow
  settings: SettingTable
  sunset_notices: SunsetNoticeTable
}

export interface OrganisationTable {
  id: string
  name: string
  timezone: string
  pci_enabled: number
  pci_mask_dtmf: number
  pci_max_seconds: number
  /** Callers' keys reach payment numbers only. */
  pci_numbers_only: Generated<number>
  /** Two columns, so that the test mode never signs with the live secret. */
  live_stream_secret: string
  test_stream_secret: string
  /** ISO 3166 code of the country for local numbers; null: none. */
  country: string | null
  /** JSON, or null: always open. */
  business_hours: string | null
  /** JSON of the callback settings that differ from the defaults, or null. */
  callbacks: string | null
  /** JSON of `CaptureSettings`, or null. */
  capture: string | null
  /** JSON of `Retention`, or null. */
  retention: string | null
  encrypt_recordings: Generated<number>
  /** JSON of the redaction rules that differ from the defaults, or null. */
  redaction: Generated<string | null>
  /** JSON of `QualitySettings`, or null. */
  quality: Generated<string | null>
  /** JSON of the purposes that require a consent; null: none. */
  require_consent: Generated<string | null>
  created: string
  updated: string
}

/** An organisation that another one, the owner of this row, has created and runs; only in the mode in which it was created. */
interface PartnerOrganisationTable extends TenantColumns {
  /** The organisation of the client. */
  id: string
  name: string
  suspended: number
  /** JSON of `Limits`. */
  limits: string
  /** JSON of `Reached`, or null. */
  limits_reached: Generated<string | null>
  created: string
  updated: string
}
export type PartnerOrganisationRow = Selectable<PartnerOrganisationTable>

export interface ApiKeyRow extends TenantColumns {
  id: string
  name: string
  /** SHA-256 of the secret, hex. */
  hash: string
  /** The part of the secret that may be shown: its prefix and last four characters. */
  hint: string
  /** JSON list, or null: all scopes. */
  scopes: string | null
  api_version: string
  expires_at: string | null
  created: string
}

export interface EventRow extends TenantColumns {
  id: string
  type: string
  timestamp: string
  api_version: string
  /** JSON of the payload's `data`. */
  data: string
  request_id: string | null
  idempotency_key: string | null
  /** The call that the event belongs to, for `GET /calls/{id}/events`. */
  call_id: string | null
  /** `id` of `data.object`; for an agent's presence the user, for an object without an ID the call. */
  object_id: string | null
}

interface IdempotencyKeyTable extends TenantColumns {
  method: string
  path: string
  key: string
  /** SHA-256 over the request's parameters, hex. */
  fingerprint: string
  /** Null while the first request is running. */
  status: number | null
  body: string | null
  /** The node whose process handles it, and until when no other may assume that it is dead. */
  lease: string | null
  leased_until: string | null
  created: string
}

/** Who was notified of the sunset of an API version, and how many months before. */
interface SunsetNoticeTable {
  organisation_id: string
  version: string
  months: number
  email: string
  created: string
}

/** One request to the API, with its status. */
export interface RequestLogRow extends TenantColumns {
  /** `Request-Id` of the answer. */
  id: string
  method: string
  /** With its IDs, without its query. */
  path: string
  operation: string
  status: number
  error_code: string | null
  api_key_id: string
  api_version: string
  duration_ms: number
  created: string
}

/** Facts about this installation, such as the last media process it spoke to. */
interface SettingTable {
  name: string
  value: string
}
