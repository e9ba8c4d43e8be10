import type { TenantColumns } from '../kernel/store/tenant-columns.ts'

declare module '../kernel/store/tables.ts' {
  interface Database {
    call_summaries: CallSummaryRow
    call_marks: CallMarkTable
    qa_evaluations: QaEvaluationRow
    transcript_search: TranscriptSearchTable
    insight_days: InsightDayTable
    insight_tallies: InsightTallyTable
  }
}

/** Results for a call with a transcript. */
export interface CallSummaryRow extends TenantColumns {
  /** The call's ID. */
  id: string
  /** When the call was made. */
  call_at: string
  /** JSON of `SummaryContent`. */
  summary: string
  /** JSON of a person's corrections; `{}`: none. */
  corrected: string
  /** JSON of `CallFigures`. */
  figures: string
  /** JSON of `CountedFigures`; null: made by a version before these existed. */
  counted: string | null
  corrected_at: string | null
  corrected_by: string | null
  created: string
  updated: string
}

export type MarkKind = 'topic' | 'reason' | 'objection' | 'missed_disclosure' | 'forbidden_phrase'

/** A search key of calls: what they were about. */
interface CallMarkTable extends TenantColumns {
  kind: MarkKind
  value: string
  call_id: string
}

export interface QaEvaluationRow extends TenantColumns {
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

/** A UTC day, whose insights may be stored. A trigger increments `version` when anything about its calls changes. */
interface InsightDayTable extends TenantColumns {
  /** `2026-11-21`. */
  day: string
  version: number
  /** When its tallies were stored, ISO 8601 UTC; null: they are not. */
  built: string | null
  /** Time zone of its local days. */
  timezone: string | null
}

/** Figures of a day's calls with one agent, queue and profile; `''`: none; `*`: all calls. */
interface InsightTallyTable extends TenantColumns {
  day: string
  /** Day in the organisation's time zone. */
  local_day: string
  user_id: string
  queue_id: string
  profile_id: string
  /** JSON of `PackedTally`. */
  tally: string
  /** JSON of `PackedThemes`. */
  themes: string
}

/** Full-text index, different in each kind of database; queries name its columns themselves. */
interface TranscriptSearchTable {
  tenant: string
  call: string
  segment: string
}
