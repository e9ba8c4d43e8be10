import type { Selectable } from 'kysely'
import type { TenantColumns } from '../kernel/store/tenant-columns.ts'

declare module '../kernel/store/tables.ts' {
  interface Database extends QualityTables {}
}

export interface QualityTables {
  call_summaries: CallSummaryTable
  call_marks: CallMarkTable
  qa_evaluations: QaEvaluationTable
  transcript_search: TranscriptSearchTable
}

/** What is made of a call whose words were written down. */
export interface CallSummaryTable extends TenantColumns {
  /** The call's ID. */
  id: string
  /** When the call was made. */
  call_at: string
  /** JSON of `SummaryContent`. */
  summary: string
  /** JSON of what a person has put in its place; `{}`: nothing. */
  corrected: string
  /** JSON of `CallFigures`. */
  figures: string
  corrected_at: string | null
  corrected_by: string | null
  created: string
  updated: string
}

export type MarkKind = 'topic' | 'reason' | 'objection' | 'missed_disclosure' | 'forbidden_phrase'

/** Something by which calls are found: what they were about. */
export interface CallMarkTable extends TenantColumns {
  kind: MarkKind
  value: string
  call_id: string
}

export interface QaEvaluationTable extends TenantColumns {
  id: string
  call_id: string
  call_at: string
  user_id: string | null
  queue_id: string | null
  profile_id: string | null
  profile_version: number | null
  rubric: 'profile' | 'organisation'
  status: 'pending' | 'scored' | 'needs_model'
  review: 'none' | 'wanted' | 'done'
  score: number | null
  /** JSON of `ScoredCriterion[]`. */
  criteria: string
  /** JSON of `AutomaticFailure[]`. */
  failures: string
  /** JSON of `Review[]`. */
  reviews: string
  /** JSON of `Change[]`. */
  history: string
  created: string
  updated: string
}

/** Full text of each database's own kind; a query names its columns itself. */
export interface TranscriptSearchTable {
  tenant: string
  call: string
  segment: string
}

export type CallSummaryRow = Selectable<CallSummaryTable>
export type QaEvaluationRow = Selectable<QaEvaluationTable>
