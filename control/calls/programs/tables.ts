import type { Generated, Selectable } from 'kysely'
import type { TenantColumns } from '../../kernel/store/tenant-columns.ts'

/** Tables of what leads a call, a flow or an assistant, and of what is said in it. */
declare module '../../kernel/store/tables.ts' {
  interface Database extends LiveTables {}
}

export interface LiveTables {
  call_programs: CallProgramTable
  call_inputs: CallInputTable
  call_steps: CallStepTable
  transcripts: TranscriptTable
  transcript_segments: TranscriptSegmentTable
}

/**
 * `waiting`: its call has not been answered, or was given to it by another node than the call's. `running`: it leads the call. `ended`: it leads the call no more.
 */
export type ProgramStatus = 'waiting' | 'running' | 'ended'
export type ProgramKind = 'flow' | 'assistant' | 'voicemail'

/** One for each call at most. */
export interface CallProgramTable extends TenantColumns {
  /** The call's ID. */
  id: string
  /** The participant that it speaks with. */
  leg_id: string
  kind: ProgramKind
  flow_id: string | null
  flow_version: number | null
  assistant_id: string | null
  status: ProgramStatus
  /** JSON of how far it is, sealed: what callers enter may be sensitive. Null: it has not begun. */
  state: string | null
  end_reason: string | null
  /** How often the call was given on from program to program. */
  hops: number
  created: string
  ended_at: string | null
}

/** What happened to a program's call and what it has not yet dealt with; written with the event that tells of it. */
export interface CallInputTable extends TenantColumns {
  id: string
  call_id: string
  /** JSON of a `ProgramInput`, sealed. */
  body: string
}

export type StepKind = 'node' | 'turn' | 'action'

/** What a program has done, fit to be shown. */
export interface CallStepTable extends TenantColumns {
  id: string
  call_id: string
  kind: StepKind
  /** JSON of a `PathEntry`, `TurnEntry` or `ActionEntry`. */
  entry: string
  /** JSON of a `TurnTiming`, or null. */
  timing: string | null
  at: string
}

export interface TranscriptTable extends TenantColumns {
  /** The call's ID. */
  id: string
  status: 'wanted' | 'running' | 'ready' | 'failed'
  /** Why nothing could be written down; null: it did not fail. */
  failed_reason: string | null
  language: string | null
  duration_ms: number | null
  created: string
}

export interface TranscriptSegmentTable extends TenantColumns {
  /** As it was said, sealed, while it may go on with a number that is not kept; null: it does not. */
  held: string | null
  id: string
  call_id: string
  /** Who said it; of the product: to whom. */
  participant_id: string
  speaker: Generated<'participant' | 'product'>
  text: string
  start_ms: number
  end_ms: number
}

export type TranscriptRow = Selectable<TranscriptTable>
export type TranscriptSegmentRow = Selectable<TranscriptSegmentTable>
export type CallProgramRow = Selectable<CallProgramTable>
export type CallStepRow = Selectable<CallStepTable>
