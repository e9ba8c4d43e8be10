import type { Generated, Selectable } from 'kysely'
import type { TenantColumns } from '../kernel/store/tenant-columns.ts'

declare module '../kernel/store/tables.ts' {
  interface Database {
    agent_statuses: AgentStatusTable
    queues: QueueTable
    queue_calls: QueueCallTable
    queue_visits: QueueVisitTable
    rings: RingTable
  }
}

/** What an agent is doing. An agent without a row has been offline so far. */
export interface AgentStatusTable extends TenantColumns {
  /** The user's ID. */
  id: string
  status: AgentState
  since: string
  /** The same by the steady clock of the node that wrote it, and that node. */
  since_ms: Generated<number | null>
  since_on: Generated<string | null>
  /** The status that the agent set last, and returns to after a call; null: the same as `status`. */
  wanted: AgentWish | null
  /** When the last call, or the time before the first one, was over: the longest idle rings first. */
  idle_since: string | null
  /** Of status `wrap_up`. */
  wrap_up_until: string | null
  /** After a call that was not taken nothing rings until then. */
  rest_until: string | null
  /** The agent has something else in hand (a contact of a campaign), and no queue rings until then. */
  reserved_until: Generated<string | null>
  last_offered_at: string | null
  /** Since when no device of the agent's is there; null: one is, or it was not looked at. */
  deviceless_since: string | null
}

export interface QueueTable extends TenantColumns {
  id: string
  name: string
  /** JSON of everything else that the API shows. */
  settings: string
  created: string
  updated: string
}

/** A call that waits in a queue. */
export interface QueueCallTable extends TenantColumns {
  /** The call's ID. */
  id: string
  queue_id: string
  joined_at: string
  /** The same by the steady clock of this node. */
  joined_ms: number | null
  joined_on: string | null
  /** The agent whose phone rings for it. */
  offered_to: string | null
  /** The caller's leg. */
  leg_id: string | null
  /** JSON of the agents whose phone rang for it in vain. */
  tried: string | null
  /** When it has waited too long; null: it may wait for ever. */
  overflow_at: string | null
  /** When its position is announced next; null: never. */
  announce_at: string | null
}

/** A call that has left a queue. */
export interface QueueVisitTable extends TenantColumns {
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
 * Why somebody's phones ring for a call. `queue`: its turn has come. `direct`: the call is for this user. `transfer`: the call is
 * given to somebody. `consult`: somebody is consulted while the caller is on hold. `callback`: an agent is to return a call.
 * `supervise`: a supervisor listens in. `led`: a flow or an assistant puts its caller through, and learns the outcome. `referred`: a
 * phone's REFER rings somebody while the caller waits, and the phone's member still has the call. `placed`: a member calls somebody.
 * If `open_call` is null, that somebody is inside: its leg is the call's own.
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

/** Somebody is rung, on all devices at once, and then talks. The row goes when that is over. */
export interface RingTable extends TenantColumns {
  id: string
  call_id: string
  /**
   * The call's ID, which is unique, so that a call is offered to one agent at a time. Null for `consult` and `supervise`.
   */
  open_call: string | null
  /** The agent; null when a number is rung. */
  user_id: string | null
  /** The user's ID. It is unique, so nobody gets two calls, a listening supervisor included. */
  open_user: string | null
  queue_id: string | null
  callback_id: string | null
  purpose: RingPurpose
  state: 'ringing' | 'talking'
  started_at: string
  /** When ringing ends at the latest, should media not tell. */
  deadline: string
  /** The leg that answered. */
  leg_id: string | null
  /** How a supervisor listens: monitor, whisper, barge. */
  mode: string | null
  /** JSON of `PaymentPause`: a payment line, which is connected with its capture pause or not at all. Null: somebody else. */
  payment: string | null
  /** The node whose media process has its legs: the call's. */
  node_id: string
}

export type RingRow = Selectable<RingTable>
export type AgentStatusRow = Selectable<AgentStatusTable>
export type QueueRow = Selectable<QueueTable>
export type QueueCallRow = Selectable<QueueCallTable>
