import type { Generated, Selectable } from 'kysely'
import type { TenantColumns } from '../kernel/store/tenant-columns.ts'
import type { MessageType, Path } from './fast/state.ts'

declare module '../kernel/store/tables.ts' {
  interface Database {
    copilot_profiles: CopilotProfileRow
    copilot_sessions: CopilotSessionTable
    copilot_messages: CopilotMessageRow
    copilot_inputs: CopilotInputRow
  }
}

export interface CopilotProfileRow extends TenantColumns {
  id: string
  name: string
  version: number
  template_id: string | null
  /** `script.flow_id`, so that the users of a flow can be found. */
  flow_id: string | null
  /** JSON of everything else that the API shows. */
  settings: string
  created: string
  updated: string
}

/** The copilot beside one agent's part of a call. */
interface CopilotSessionTable extends TenantColumns {
  id: string
  call_id: string
  /** The agent's leg. */
  participant_id: string
  /** The member on whose desktop it is; null: none. */
  user_id: string | null
  queue_id: string | null
  /** The node of the call. */
  node_id: string | null
  profile_id: string
  profile_version: number
  /** JSON of `ProfileSettings` as of its beginning. */
  settings: string
  flow_id: string | null
  flow_version: number | null
  /** JSON of `ScriptState`; null: there is no script. */
  script: string | null
  status: 'running' | 'ended'
  /** Whether the call is listened to. `none`: only the API feeds it, for `hearing_reason`. */
  hearing: 'running' | 'none'
  hearing_reason: string | null
  /** JSON of `CopilotState`. */
  state: string
  /** Until when a model may replace the session's summary, ISO 8601 UTC; null: no model will. */
  deep: string | null
  created: string
  /** `created` by the steady clock of node `started_on` [ms]. */
  started_ms: Generated<number | null>
  started_on: Generated<string | null>
  ended_at: string | null
  /** Its words were deleted. */
  forgotten: Generated<number>
  /** JSON of `Pieces`, sealed; null: nothing is held back. */
  held: string | null
}

/** Messages in order. Rows are only added, so that a client that has the last one has them all; only what must be hidden is removed from them. */
export interface CopilotMessageRow extends TenantColumns {
  id: string
  session_id: string
  seq: number
  type: MessageType
  path: Path
  at: string
  /** JSON of the IDs of the utterances. */
  utterance_ids: string
  latency_ms: number | null
  replaces: string | null
  withdraws: string | null
  /** JSON of the message's body. */
  body: string
}

/** What was heard and is still to be processed; written in the transaction of the event. */
export interface CopilotInputRow extends TenantColumns {
  id: string
  session_id: string
  /** JSON of `HeardInput`, sealed, since it may contain what must not be kept. */
  body: string
}

export type CopilotSessionRow = Selectable<CopilotSessionTable>
