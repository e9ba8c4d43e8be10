import type { Generated, Selectable } from 'kysely'
import type { TenantColumns } from '../kernel/store/tenant-columns.ts'

declare module '../kernel/store/tables.ts' {
  interface Database {
    agent_statuses: AgentStatusTable
    queues: QueueRow
    queue_calls: QueueCallRow
    queue_visits: QueueVisitTable
    rings: RingRow
  }
}

/** What an agent is doing. An agent without a row has been offline so far. */
interface AgentStatusTable extends TenantColumns {
  /** The user's ID. */
  id: string
  status: AgentState
  since: string
  /** `since` by the steady clock of the node that wrote it [ms], and that node. */
  since_ms: Generated<number | null>
  since_on: Generated<string | null>
  /** The status that the agent set last, and returns to after a call; null: the same as `status`. */
  wanted: AgentWish | null
  /** Since when the agent has been idle, for the strategy `longest_idle`. */
  idle_since: string | null
  /** When the wrap-up ends; null: there is none. */
  wrap_up_until: string | null
  /** End of the rest after a missed call. */
  rest_until: string | null
  /** No queue rings the agent until then, because of something else, such as a contact of a campaign. */
  reserved_until: Generated<string | null>
  last_offered_at: string | null
  /** Since when the agent has had no device; null: there is one, or it has not been checked. */
  deviceless_since: string | null
}

export interface QueueRow extends TenantColumns {
  id: string
  name: string
  /** JSON of everything else that the API shows. */
  settings: string
  created: string
  updated: string
}

/** A call that waits in a queue. */
export interface QueueCallRow extends TenantColumns {
  /** The call's ID. */
  id: string
  queue_id: string
  joined_at: string
  /** `joined_at` by the steady clock of node `joined_on` [ms]. */
  joined_ms: number | null
  joined_on: string | null
  /** When it was back in line, because the device of its agent was gone; null: it was not. It waits since then, at its place by `joined_at`. */
  back_at: string | null
  /** The agent whose phone rings for it. */
  offered_to: string | null
  /** The caller's leg. */
  leg_id: string | null
  /** JSON of the IDs of agents who did not answer an offer of it. */
  tried: string | null
  /** When its wait exceeds the limit; null: no limit. */
  overflow_at: string | null
  /** When its position is announced next; null: never. */
  announce_at: string | null
}

/** A call that has left a queue. */
interface QueueVisitTable extends TenantColumns {
  queue_id: string
  call_id: string
  /** `outcome` of its `queue.call.left` or `.overflowed`. */
  outcome: string
  wait_ms: number
  left_at: string
}

/** Statuses that an agent can set; the others follow from calls. */
export type AgentWish = 'available' | 'away' | 'offline'

export type AgentState = 'available' | 'busy' | 'wrap_up' | 'away' | 'offline'

/**
 * Why a party is rung for a call. `queue`: a queue offers the call to an agent. `direct`: the call is for this user. `transfer`: the call
 * is transferred to this party. `consult`: the party is consulted while the caller is on hold. `callback`: an agent is to return a call.
 * `supervise`: a supervisor joins. `led`: a flow or an assistant puts its caller through, and learns the outcome. `referred`: by a phone's
 * REFER, while that phone's member still has the call. `placed`: a member places the call. If `open_call` is then null, the called party is
 * inside, and the member's leg is the call's own.
 */
export type RingPurpose =
  | 'queue'
  | 'direct'
  | 'transfer'
  | 'consult'
  | 'callback'
  | 'supervise'
  | 'led'
  | 'placed'
  | 'referred'

/** A party that is rung, on all devices at once, and then talks. The row is deleted when that is over. */
export interface RingRow extends TenantColumns {
  id: string
  call_id: string
  /**
   * The call's ID, which is unique, so that a call is offered to one party at a time. Null for `consult`, `supervise`, `referred`, and
   * `placed` inside.
   */
  open_call: string | null
  /** The agent; null: a number is rung. */
  user_id: string | null
  /** The user's ID, which is unique, so that nobody is rung for two calls, supervisors included. Null for a member's second call. */
  open_user: string | null
  queue_id: string | null
  callback_id: string | null
  purpose: RingPurpose
  state: 'ringing' | 'talking'
  started_at: string
  /** When ringing ends at the latest, if no event of media ends it before. */
  deadline: string
  /** The leg that answered. */
  leg_id: string | null
  /** How a supervisor listens: monitor, whisper, barge. */
  mode: string | null
  /** JSON of `PaymentPause`: a payment line, which is connected with its capture pause or not at all. Null: somebody else. */
  payment: string | null
  /** The node whose media process has its legs, which is the call's. */
  node_id: string
}

export type AgentStatusRow = Selectable<AgentStatusTable>
