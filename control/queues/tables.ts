import type { Selectable } from 'kysely'
import type { TenantColumns } from '../kernel/store/tenant-columns.ts'

declare module '../kernel/store/tables.ts' {
  interface Database extends RingTables {}
}

export interface RingTables {
  rings: RingTable
}

/**
 * Why somebody's phones ring for a call. `queue`: its turn has come; `direct`: the call is for this user; `transfer`: it is handed
 * to somebody; `consult`: somebody is asked while the caller is on hold; `callback`: an agent is to return a call;
 * `supervise`: a supervisor listens in; `led`: a flow or an assistant puts its caller through, and gets to know how that went;
 * `placed`: a member calls somebody. With `open_call` null somebody inside: its leg is the call's own, and the row says that it talks.
 */
export type RingPurpose = 'queue' | 'direct' | 'transfer' | 'consult' | 'callback' | 'supervise' | 'led' | 'placed'

/** Somebody is rung, on all devices at once, and then talks. The row goes when that is over. */
export interface RingTable extends TenantColumns {
  id: string
  call_id: string
  /** The call's ID: unique, so that a call is offered to one at a time. Null for `consult` and `supervise`, beside it. */
  open_call: string | null
  /** The agent; null when a number is rung. */
  user_id: string | null
  /** The user's ID: unique, so that nobody gets two calls: who listens to one as a supervisor neither. */
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
