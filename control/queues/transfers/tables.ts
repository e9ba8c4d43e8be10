import type { TenantColumns } from '../../kernel/store/tenant-columns.ts'

declare module '../../kernel/store/tables.ts' {
  interface Database {
    call_transfers: CallTransferRow
  }
}

/** A transfer by SIP REFER in progress; the row is deleted when it is over. */
export interface CallTransferRow extends TenantColumns {
  /** Media's ID of the REFER. */
  id: string
  /** Unique: a call has at most one transfer. */
  call_id: string
  /** The participant that asked us (`in`), or that we ask (`out`). */
  leg_id: string
  direction: 'in' | 'out'
  /** The target as requested. */
  to_address: string
  /** JSON of `Plan`. */
  plan: string
  /** `asked`: media has not been told yet that it is accepted. */
  status: 'asked' | 'trying' | 'ringing'
  /** The ring for it; null: none. */
  ring_id: string | null
  node_id: string | null
  created: string
}

/** The decision about a REFER. */
export type Plan =
  /** The target is rung while the other party is on hold; once it answers, the requester is free. */
  | { kind: 'ring'; target: { type: 'user'; id: string } | { type: 'number'; to: string }; replaces: string | null }
  /** The other party is led to the target at once. */
  | { kind: 'lead'; target: { type: 'queue' | 'assistant' | 'flow' | 'room'; id: string } }
  /** Two calls of a member are joined. */
  | { kind: 'join'; otherLegId: string }
  /** Media calls the target over the same connection, in place of the requester; with a member's `account`, the node of the dialog. */
  | { kind: 'bridge'; to: string; replaces: string | null; account?: string }
  /** The far end of this leg is asked to call the target itself. `to`: a URI. */
  | { kind: 'pass'; legId: string; to: string; inPlaceOf: string | null }
