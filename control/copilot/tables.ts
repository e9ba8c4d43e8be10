import type { Generated, Selectable } from 'kysely'
import type { TenantColumns } from '../kernel/store/tenant-columns.ts'
import type { MessageType, Path } from './fast/state.ts'

declare module '../kernel/store/tables.ts' {
  interface Database {
    copilot_profiles: CopilotProfileTable
    copilot_sessions: CopilotSessionTable
    copilot_messages: CopilotMessageTable
    copilot_inputs: CopilotInputTable
  }
}

export interface CopilotProfileTable extends TenantColumns {
  id: string
  name: string
  version: number
  template_id: string | null
  /** `script.flow_id`, for "who uses this flow?". */
  flow_id: string | null
  /** JSON of everything else that the API shows. */
  settings: string
  created: string
  updated: string
}

/** The copilot beside one agent's part of a call. */
export interface CopilotSessionTable extends TenantColumns {
  id: string
  call_id: string
  /** The agent's leg. */
  participant_id: string
  /** Whose desktop it is on; null: nobody's of the organisation. */
  user_id: string | null
  queue_id: string | null
  /** The node that has the call. */
  node_id: string | null
  profile_id: string
  profile_version: number
  /** JSON of `ProfileSettings`, as they were when it began. */
  settings: string
  flow_id: string | null
  flow_version: number | null
  /** JSON of where the script is; null: there is none. */
  script: string | null
  status: 'running' | 'ended'
  /** Whether what is said is heard: `none`, for `hearing_reason`, when it is fed by the API alone. */
  hearing: 'running' | 'none'
  hearing_reason: string | null
  /** JSON of `CopilotState`. */
  state: string
  /** Until when a model may still put its summary in the place of the session's, ISO-8601 UTC; null: none will. */
  deep: string | null
  created: string
  /** The same by the steady clock of this node. */
  started_ms: Generated<number | null>
  started_on: Generated<string | null>
  ended_at: string | null
  /** JSON of `Pieces`, sealed; null: nothing is held back. */
  held: string | null
}

/** What was told, in its order: never changed, so that whoever has read the last one has them all. */
export interface CopilotMessageTable extends TenantColumns {
  id: string
  session_id: string
  seq: number
  type: MessageType
  path: Path
  at: string
  /** JSON of their IDs. */
  utterance_ids: string
  latency_ms: number | null
  replaces: string | null
  withdraws: string | null
  /** JSON of what is told. */
  body: string
}

/** What was heard and has not been dealt with; written with the event that tells of it. */
export interface CopilotInputTable extends TenantColumns {
  id: string
  session_id: string
  /** JSON of `HeardInput`, sealed: it may hold what is not kept. */
  body: string
}

export type CopilotSessionRow = Selectable<CopilotSessionTable>
export type CopilotMessageRow = Selectable<CopilotMessageTable>
export type CopilotInputRow = Selectable<CopilotInputTable>
export type CopilotProfileRow = Selectable<CopilotProfileTable>
