import type { Generated, Selectable } from 'kysely'
import type { TenantColumns } from '../../kernel/store/tenant-columns.ts'

/** Tables of programs (flows and assistants that lead calls) and transcripts. */
declare module '../../kernel/store/tables.ts' {
  interface Database {
    call_programs: CallProgramRow
    call_inputs: CallInputTable
    call_steps: CallStepRow
    transcripts: TranscriptRow
    transcript_segments: TranscriptSegmentTable
  }
}

/** `waiting`: its call is unanswered, or was given to it by another node. `running`: it leads the call. `ended`: it no longer does. */
type ProgramStatus = 'waiting' | 'running' | 'ended'
/** With `!= 'ended'`, the database would read all programs that ever were. */
export const UNENDED = ['waiting', 'running'] as const satisfies ProgramStatus[]
export type ProgramKind = 'flow' | 'assistant' | 'voicemail'

/** At most one per call. */
export interface CallProgramRow extends TenantColumns {
  /** The call's ID. */
  id: string
  /** The participant it talks with. */
  leg_id: string
  kind: ProgramKind
  flow_id: string | null
  flow_version: number | null
  assistant_id: string | null
  status: ProgramStatus
  /** JSON of its progress, sealed, because callers may enter sensitive data. Null: it has not begun. */
  state: string | null
  end_reason: string | null
  /** How often the call was passed from program to program. */
  hops: number
  created: string
  ended_at: string | null
}

/** Something that happened to a program's call and that it has not handled yet; written together with the event. */
interface CallInputTable extends TenantColumns {
  id: string
  call_id: string
  /** JSON of a `ProgramInput`, sealed. */
  body: string
}

type StepKind = 'node' | 'turn' | 'action'

/** What a program has done, in a form that may be shown. */
export interface CallStepRow extends TenantColumns {
  id: string
  call_id: string
  kind: StepKind
  /** JSON of a `PathEntry`, `TurnEntry` or `ActionEntry`. */
  entry: string
  /** JSON of a `TurnTiming`, or null. */
  timing: string | null
  at: string
}

export interface TranscriptRow extends TenantColumns {
  /** The call's ID. */
  id: string
  status: 'wanted' | 'running' | 'ready' | 'failed'
  /** Why transcription failed; null: it did not. */
  failed_reason: string | null
  language: string | null
  duration_ms: number | null
  created: string
}

interface TranscriptSegmentTable extends TenantColumns {
  /** The original words, sealed, while they may continue in a number that must not be kept; null: they cannot. */
  held: string | null
  id: string
  call_id: string
  /** The speaker; for the product's own words, the listener. */
  participant_id: string
  speaker: Generated<'participant' | 'product'>
  text: string
  start_ms: number
  end_ms: number
}

export type TranscriptSegmentRow = Selectable<TranscriptSegmentTable>
