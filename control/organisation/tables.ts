import type { Selectable } from 'kysely'
import type { TenantColumns } from '../kernel/store/tenant-columns.ts'

/** Tables of people, queues, assistants, copilot profiles and callbacks. Columns named for a JSON document hold its text. */
declare module '../kernel/store/tables.ts' {
  interface Database extends ContactCentreTables {}
}

export interface ContactCentreTables {
  teams: TeamTable
  users: UserTable
  invitations: InvitationTable
  agent_statuses: AgentStatusTable
  queues: QueueTable
  queue_calls: QueueCallTable
  queue_visits: QueueVisitTable
  assistants: AssistantTable
  client_tokens: ClientTokenTable
  copilot_profiles: CopilotProfileTable
  callbacks: CallbackTable
  callback_requests: CallbackRequestTable
  do_not_call: DoNotCallTable
}

export interface TeamTable extends TenantColumns {
  id: string
  name: string
  created: string
}

export type UserRole = 'owner' | 'admin' | 'supervisor' | 'agent'
export type UserStatus = 'active' | 'deactivated' | 'invited'

export interface UserTable extends TenantColumns {
  id: string
  name: string
  /** In lower case; one member for each address. */
  email: string
  email_verified: number
  role: UserRole
  status: UserStatus
  team_id: string | null
  extension: string | null
  takes_seat: number
  last_login: string | null
  created: string
}

export interface InvitationTable extends TenantColumns {
  id: string
  user_id: string
  /** SHA-256 of the token in its link, hex. */
  token_hash: string | null
  accepted_at: string | null
  revoked_at: string | null
  expires_at: string
  created: string
}

/** What an agent does; nobody has a row before the first time: offline. */
export interface AgentStatusTable extends TenantColumns {
  /** The user's ID. */
  id: string
  status: AgentState
  since: string
  /** What the agent has set last, and goes back to after a call; null: what `status` says. */
  wanted: AgentWish | null
  /** When the last call, or the time before the first one, was over: the longest idle rings first. */
  idle_since: string | null
  /** Of status `wrap_up`. */
  wrap_up_until: string | null
  /** After a call that was not taken nothing rings until then. */
  rest_until: string | null
  last_offered_at: string | null
  /** Since when no device of the agent's is there; null: one is, or it was not looked at. */
  deviceless_since: string | null
}

/** What an agent can set; the rest comes of calls. */
export type AgentWish = 'available' | 'away' | 'offline'

export type AgentState = 'available' | 'busy' | 'wrap_up' | 'away' | 'offline'

export interface QueueTable extends TenantColumns {
  id: string
  name: string
  /** JSON of everything else that the API shows. */
  settings: string
  created: string
  updated: string
}

/** A call that waits in a queue. */
/** A call that has left a queue. */
export interface QueueVisitTable extends TenantColumns {
  queue_id: string
  call_id: string
  /** `outcome` of its `queue.call.left` or `.overflowed`. */
  outcome: string
  wait_ms: number
  left_at: string
}

export interface QueueCallTable extends TenantColumns {
  /** The call's ID. */
  id: string
  queue_id: string
  joined_at: string
  /** The agent whose phone rings for it. */
  offered_to: string | null
  /** The caller's leg. */
  leg_id: string | null
  /** JSON of the agents whose phone rang for it in vain. */
  tried: string | null
  /** When it has waited too long; null: it may wait for ever. */
  overflow_at: string | null
  /** When its place in line is told next; null: it is not. */
  announce_at: string | null
}

export interface AssistantTable extends TenantColumns {
  id: string
  name: string
  /** For "who uses this flow?". */
  flow_id: string | null
  /** JSON of everything else that the API shows. */
  settings: string
  created: string
  updated: string
}

export interface ClientTokenTable extends TenantColumns {
  /** Of the call that the token opens: one token, one call. */
  id: string
  assistant_id: string | null
  agent_user_id: string | null
  origin: string | null
  metadata: string
  /** The first connection of the softphone that it renews; null: it is a new one, or opens a call. */
  device: string | null
  expires_at: string
  /** Null until it has opened its call. */
  used_at: string | null
  created: string
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

export type CallbackStatus =
  | 'pending'
  | 'offered'
  | 'dialing'
  | 'connected'
  | 'completed'
  | 'failed'
  | 'cancelled'
  | 'expired'
export type CallbackRoute = 'agent_queue' | 'agent' | 'assistant'

export interface CallbackTable extends TenantColumns {
  id: string
  phone: string
  /** The phone while the callback is open, else null: unique, so that a number has one open callback. */
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
  merged_requests: number
  web_context: string | null
  /** JSON of the agents whose phone rang for it in vain, since it was due last. */
  tried: string | null
  /** The agent who is reserved for it. */
  offered_to: string | null
  metadata: string
  completed_at: string | null
  created: string
  updated: string
}

/** Which callback a call asked for, also when it was merged into an earlier one. */
export interface CallbackRequestTable extends TenantColumns {
  origin_call_id: string
  callback_id: string
}

/** A number that must not be called. */
export interface DoNotCallTable extends TenantColumns {
  id: string
  /** E.164; once in each organisation and mode. */
  phone: string
  reason: string
  created: string
}

export type DoNotCallRow = Selectable<DoNotCallTable>
export type TeamRow = Selectable<TeamTable>
export type UserRow = Selectable<UserTable>
export type InvitationRow = Selectable<InvitationTable>
export type AgentStatusRow = Selectable<AgentStatusTable>
export type QueueCallRow = Selectable<QueueCallTable>
export type QueueRow = Selectable<QueueTable>
export type AssistantRow = Selectable<AssistantTable>
export type ClientTokenRow = Selectable<ClientTokenTable>
export type CopilotProfileRow = Selectable<CopilotProfileTable>
export type CallbackRow = Selectable<CallbackTable>
