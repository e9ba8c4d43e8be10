import type { EndedReason, PaymentPause, PhoneVia } from '../../../media/protocol.ts'
import { hangUpLeg, mainLeg } from '../../calls/legs.ts'
import { wake } from '../../calls/steps/follow.ts'
import type { ParticipantRow } from '../../calls/tables.ts'
import { newId } from '../../kernel/ids.ts'
import { insertNew } from '../../kernel/store/compiled.ts'
import { nodeOf } from '../../kernel/store/node.ts'
import type { Db, Trx } from '../../kernel/store/store.ts'
import { forTenant, ownedBy, type Tenant } from '../../kernel/tenancy.ts'
import type { RingPurpose, RingRow } from '../tables.ts'

/** A device that rings when an agent is called. `uri`: the contact; `route`: proxies on the way to it, as Route values; absent: none. */
export type Device =
  | { kind: 'sip'; uri: string; via: PhoneVia; route?: string[] }
  | { kind: 'browser'; browserId: string }

/** The destination of a dialled leg. `address`: a number or SIP URI, over the organisation's connections. `leg`: a phone that has called us. */
export type RingTarget =
  | { kind: 'leg'; legId: string }
  | Device
  | {
      kind: 'address'
      to: string
      from: string | null
      /** For a transfer: the caller's number is shown instead of ours. */
      showsCaller?: boolean
      /** The caller asks for privacy. */
      isAnonymous?: boolean
      /** The dialog at the far end that the call replaces (RFC 3891). */
      replaces?: string | undefined
      /** User-to-user information (RFC 7433), in the place of the caller's. */
      userToUser?: string | undefined
      /** When to dial, Unix time [ms]. Absent: at once. */
      startMs?: number
      /** The campaign whose limit of calls per second applies. */
      pace?: { id: string; callsPerSecond: number }
    }

/** The party that is dialled once the device of the member who places the call has answered. */
export interface Onward {
  to: string
  from: string
  connectionId: string | null
  isAnonymous?: boolean
  /** Metadata of the call; absent: none. */
  metadata?: Record<string, string>
}

export interface NewRing {
  /** ID of the ring; absent: a new one. */
  id?: string
  callId: string
  purpose: RingPurpose
  userId: string | null
  queueId: string | null
  callbackId: string | null
  mode: string | null
  /** All are rung at the same time; the first to answer gets the call. */
  targets: readonly RingTarget[]
  /** How the API shows them. */
  role: 'agent' | 'party' | 'supervisor'
  address: string
  timeoutS: number
  /** For purpose `placed`. */
  onward?: Onward
  /** The connection on which its legs count even before they are dialled. */
  connectionId?: string | null
  /** The member is also in another call, and uses a second line. */
  isSecond?: boolean | undefined
  /** For a payment line: its capture pause. */
  payment?: PaymentPause | undefined
}

/** Margin of `deadline` over the ringing time, which media observes itself [ms]. */
const GRACE_MS = 10_000

/** Purposes of rings that exist beside the party that talks with the caller, and cannot transfer the call by REFER. */
export const ASIDE: readonly RingPurpose[] = ['consult', 'supervise', 'referred']

/** Whether the ring's leg is the call's own: a member calls somebody inside. */
export const isCaller = ({ purpose, open_call }: RingRow): boolean => purpose === 'placed' && open_call === null

/** Whether a party is consulted or rung that may get the call next. */
export const isAsking = ({ purpose }: RingRow): boolean => purpose === 'consult' || purpose === 'referred'

/** Reserves a member whose leg is a call's own; false: the member is rung or in a call already. */
export async function holdLine(
  trx: Trx,
  tenant: Tenant,
  {
    userId,
    callId,
    legId,
    at,
    isSecond = false,
  }: { userId: string; callId: string; legId: string; at: string; isSecond?: boolean },
): Promise<boolean> {
  const row: RingRow = {
    ...ownedBy(tenant),
    id: newId('ring'),
    call_id: callId,
    open_call: null,
    user_id: userId,
    open_user: isSecond ? null : userId,
    queue_id: null,
    callback_id: null,
    purpose: 'placed',
    state: 'talking',
    started_at: at,
    deadline: at,
    leg_id: legId,
    mode: null,
    payment: null,
    node_id: nodeOf(trx),
  }
  return insertNew(trx, 'rings', row)
}

/**
 * Begins to ring. Null: the call already has a ring, or the agent is rung or in a call. Unique columns let only one of two concurrent rings through.
 */
export async function startRing(trx: Trx, tenant: Tenant, ring: NewRing, at: string): Promise<RingRow | null> {
  const isAside = ASIDE.includes(ring.purpose)
  const row: RingRow = {
    ...ownedBy(tenant),
    id: ring.id ?? newId('ring'),
    call_id: ring.callId,
    open_call: isAside ? null : ring.callId,
    user_id: ring.userId,
    open_user: ring.isSecond === true ? null : ring.userId,
    queue_id: ring.queueId,
    callback_id: ring.callbackId,
    purpose: ring.purpose,
    state: 'ringing',
    started_at: at,
    deadline: new Date(Date.parse(at) + ring.timeoutS * 1000 + GRACE_MS).toISOString(),
    leg_id: null,
    mode: ring.mode,
    payment: ring.payment === undefined ? null : JSON.stringify(ring.payment),
    node_id: (await mainLeg(trx, tenant, ring.callId))?.node_id ?? nodeOf(trx),
  }
  if (!(await insertNew(trx, 'rings', row))) return null
  const { role, address, timeoutS, onward, connectionId } = ring
  const common = { role, address, timeoutS, onward, connectionId, at }
  for (const target of ring.targets) await insertLeg(trx, tenant, row, { target, ...common })
  return row
}

/** Whether a member may place a second call: one who is in a single call, to consult somebody before a transfer. */
export async function mayCallBeside(db: Db, tenant: Tenant, userId: string): Promise<boolean> {
  const own = forTenant(db, tenant)
    .select('rings')
    .select(['state', 'open_user', 'purpose'])
    .where('user_id', '=', userId)
  const rings = await own.execute()
  const [only] = rings
  return rings.length === 1 && only?.open_user === userId && only.state === 'talking' && only.purpose !== 'supervise'
}

/** One call of a member has ended. If the member talks on a second one, that becomes the main one; returns whether there is one. */
export async function otherCallOf(trx: Trx, tenant: Tenant, userId: string): Promise<boolean> {
  const scoped = forTenant(trx, tenant)
  const other = await scoped
    .select('rings')
    .select('id')
    .where('user_id', '=', userId)
    .where('open_user', 'is', null)
    .where('state', '=', 'talking')
    .executeTakeFirst()
  if (other === undefined) return false
  await scoped.change('rings', other.id, { open_user: userId })
  return true
}

/** Remaining ringing time [s]. */
export const secondsLeft = ({ deadline }: RingRow, at: string): number =>
  Math.round((Date.parse(deadline) - GRACE_MS - Date.parse(at)) / 1000)

export async function insertLeg(
  trx: Trx,
  tenant: Tenant,
  row: RingRow,
  {
    target,
    role,
    address,
    at,
    connectionId = null,
    ...dialling
  }: Pick<NewRing, 'role' | 'address' | 'timeoutS' | 'onward' | 'connectionId'> & { target: RingTarget; at: string },
): Promise<void> {
  const id = target.kind === 'leg' ? target.legId : newId('participant')
  await forTenant(trx, tenant).insert('participants', {
    id,
    call_id: row.call_id,
    connection_id: connectionId,
    step: 'to_dial',
    prompted: 0,
    pin_tries: 0,
    role,
    ring_id: row.id,
    address,
    dial: JSON.stringify({ ...target, ...dialling }),
    muted: 0,
    node_id: row.node_id,
    deaf: 0,
    created: at,
  })
  wake(trx, { id, call_id: row.call_id, node_id: row.node_id })
}

export const findRing = (db: Db, tenant: Tenant, id: string): Promise<RingRow | undefined> =>
  forTenant(db, tenant).find('rings', id)

export const ringsOf = (db: Db, tenant: Tenant, callId: string): Promise<RingRow[]> =>
  forTenant(db, tenant).select('rings').selectAll().where('call_id', '=', callId).orderBy('id').execute()

/** The ring whose party talks on the call, or rings for it. */
export const mainRing = (db: Db, tenant: Tenant, callId: string): Promise<RingRow | undefined> =>
  forTenant(db, tenant).findBy('rings', { open_call: callId })

/** The legs of a ring that have not ended. */
export const legsOfRing = (db: Db, tenant: Tenant, ringId: string): Promise<ParticipantRow[]> =>
  forTenant(db, tenant)
    .select('participants')
    .selectAll()
    .where('ring_id', '=', ringId)
    .where('step', '!=', 'ended')
    .orderBy('id')
    .execute()

/** Hangs up all legs of a ring but `keep`. Without `keep` the ring is over, and its row is deleted. */
export async function finishRing(
  trx: Trx,
  tenant: Tenant,
  ring: RingRow,
  { reason, keep = null }: { reason: EndedReason; keep?: string | null },
): Promise<void> {
  for (const leg of await legsOfRing(trx, tenant, ring.id)) {
    if (leg.id === keep) continue
    // Also those still to be dialled: the command may already have been sent.
    await hangUpLeg(trx, tenant, leg.id, reason)
  }
  if (keep === null) await forTenant(trx, tenant).delete('rings').where('id', '=', ring.id).execute()
}
