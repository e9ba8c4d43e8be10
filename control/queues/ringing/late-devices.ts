import type { EndedReason } from '../../../media/protocol.ts'
import type { ParticipantRow } from '../../calls/tables.ts'
import { rowsOf } from '../../kernel/store/compiled.ts'
import { nodeOf } from '../../kernel/store/node.ts'
import type { Db, Trx } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import { mayComeBack } from '../lost-devices.ts'
import type { RingPurpose, RingRow } from '../tables.ts'
import { type Device, insertLeg, legsOfRing, type RingTarget, secondsLeft } from './rings.ts'

/** Devices that register or reconnect while their agent is rung. */

/** Purposes for which only this agent will do: the ring waits for a device lost a moment ago. A queue has other agents. */
const FOR_ONE: readonly RingPurpose[] = ['direct', 'transfer', 'consult', 'supervise', 'led']

/** How a leg may end whose softphone page is gone. */
const GONE: readonly EndedReason[] = ['not_found', 'rtp_timeout', 'caller_hangup']

/** Rings a new device too, unless it is already rung, or one of `former` is, which media continues over the new connection. */
export async function joinRing(
  trx: Trx,
  tenant: Tenant,
  userId: string,
  device: Device,
  at: string,
  former: readonly Device[] = [],
): Promise<void> {
  const ring = await forTenant(trx, tenant)
    .select('rings')
    .selectAll()
    .where('open_user', '=', userId)
    .where('state', '=', 'ringing')
    // Only the device from which the member dialled is rung.
    .where('purpose', '!=', 'placed')
    .executeTakeFirst()
  const target = ring?.node_id === nodeOf(trx) ? device : await asFromElsewhere(trx, device)
  if (ring === undefined || target === null) return
  const timeoutS = secondsLeft(ring, at)
  const legs = await legsOfRing(trx, tenant, ring.id)
  if (timeoutS <= 0 || legs.some(leg => [device, ...former].some(one => isOf(leg, one)))) return
  const role = ring.purpose === 'supervise' ? 'supervisor' : 'agent'
  await insertLeg(trx, tenant, ring, { target, role, address: userId, timeoutS, at })
}

/** A device of this node, for calls of other nodes; null: these do not reach it. */
async function asFromElsewhere(trx: Trx, device: Device): Promise<Device | null> {
  const at = await trx.selectFrom('nodes').select(['sip', 'ws']).where('id', '=', nodeOf(trx)).executeTakeFirst()
  if (device.kind === 'browser') return at?.ws == null ? null : device
  if (device.route !== undefined) return device
  return at?.sip == null ? null : { ...device, via: { ...device.via, node: at.sip } }
}

export const targetOf = (leg: ParticipantRow): RingTarget => JSON.parse(leg.dial ?? '{}') as RingTarget

function isOf(leg: ParticipantRow, device: Device): boolean {
  const target = targetOf(leg)
  if (device.kind === 'sip') return target.kind === 'sip' && target.uri === device.uri
  return target.kind === 'browser' && target.browserId === device.browserId
}

/** Whether a ring continues although its last leg has ended, because the softphone was lost and may come back. */
export async function outlivesLeg(
  trx: Trx,
  tenant: Tenant,
  ring: RingRow,
  { leg, reason, at }: { leg: ParticipantRow; reason: EndedReason; at: string },
): Promise<boolean> {
  if (ring.user_id === null || !FOR_ONE.includes(ring.purpose)) return false
  if (targetOf(leg).kind !== 'browser' || !GONE.includes(reason)) return false
  return mayComeBack(trx, tenant, ring.user_id, new Date(at))
}

/** Rings of this node without a leg, which wait for a device. */
export const legless = (db: Db): Promise<RingRow[]> =>
  rowsOf(
    db,
    'rings without a leg',
    place =>
      db
        .selectFrom('rings')
        .selectAll('rings')
        .where('rings.state', '=', 'ringing')
        .where('rings.user_id', 'is not', null)
        .where('rings.node_id', '=', place('node'))
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom('participants')
                .select('participants.id')
                .whereRef('participants.ring_id', '=', 'rings.id')
                .where('participants.step', '!=', 'ended'),
            ),
          ),
        )
        .orderBy('rings.id'),
    { node: nodeOf(db) },
  )

/**
 * Whether media does not know the leg's softphone because it is being admitted, or because its end has not been reported yet. An event will follow.
 */
export async function isUnsettled(db: Db, leg: ParticipantRow): Promise<boolean> {
  const target = targetOf(leg)
  if (target.kind !== 'browser') return false
  const session = db.selectFrom('browser_sessions').select('id').where('id', '=', target.browserId)
  return (await session.where('node', '=', nodeOf(db)).executeTakeFirst()) !== undefined
}
