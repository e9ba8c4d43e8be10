import { mayName } from '../../calls/dial.ts'
import { findLeg, mainLeg } from '../../calls/legs.ts'
import { isPaused } from '../../calls/pci.ts'
import type { Of } from '../../calls/steps/event-handler.ts'
import { follow } from '../../calls/steps/follow.ts'
import { isLeadable } from '../../calls/steps/table.ts'
import type { ParticipantRow } from '../../calls/tables.ts'
import type { Trx } from '../../kernel/store/store.ts'
import { forTenant, type Tenant, tenantOf } from '../../kernel/tenancy.ts'
import { uriAt } from '../../trunks/outbound.ts'
import { legProblem } from '../../usage/allowance.ts'
import type { CallCentreParts } from '../deps.ts'
import { destinationOf, partyAt } from '../destinations.ts'
import { ASIDE, isCaller, mainRing, ringsOf } from '../ringing/rings.ts'
import type { RingRow } from '../tables.ts'
import { carryOut } from './carry-out.ts'
import { leavable } from './leaving.ts'
import { followedBy } from './out.ts'
import { insertTransfer } from './records.ts'
import type { CallTransferRow, Plan } from './tables.ts'

type Asked = Of<'leg.refer_asked'>['body']

/** A refused REFER, with the SIP status of the answer. */
type Refused = { status: number }

/** A far end asks for a transfer by REFER. Whether it may depends on whose leg it is (docs/sip.md, "Transfers"). */
export async function onReferAsked(
  deps: CallCentreParts,
  trx: Trx,
  { body, at }: Of<'leg.refer_asked'>,
): Promise<void> {
  const leg = await trx.selectFrom('participants').selectAll().where('id', '=', body.legId).executeTakeFirst()
  const plan = leg === undefined ? { status: 481 } : await planFor(deps, trx, leg, body, at)
  const refused = 'status' in plan ? plan.status : null
  const { legId, referId } = body
  if (leg !== undefined && refused === null) {
    const row: CallTransferRow = {
      organisation_id: leg.organisation_id,
      livemode: leg.livemode,
      id: referId,
      call_id: leg.call_id,
      leg_id: legId,
      direction: 'in',
      to_address: body.to.user === '' ? body.to.uri : body.to.user,
      plan: JSON.stringify(plan),
      status: 'asked',
      ring_id: null,
      node_id: leg.node_id,
      created: at,
    }
    if (await insertTransfer(trx, row)) return follow(trx, leg.call_id, ({ media }) => carryOut(deps, media, referId))
  }
  const sipCode = refused ?? 491
  follow(trx, leg?.call_id ?? legId, async ({ media }) => {
    await media.request('leg.refer_answer', { legId, referId, sipCode })
  })
}

async function planFor(
  deps: CallCentreParts,
  trx: Trx,
  leg: ParticipantRow,
  asked: Asked,
  at: string,
): Promise<Plan | Refused> {
  const tenant = tenantOf(leg)
  const rings = await ringsOf(trx, tenant, leg.call_id)
  const ring = rings.find(one => (leg.ring_id === null ? isCaller(one) : one.id === leg.ring_id))
  if (ring?.user_id != null) return planOfMember(deps, trx, tenant, { ring, leg, asked, at })
  return planOfTrunk(trx, tenant, { leg, asked, at })
}

// ---------------------------------------------------------------------------------------------------- a member's phone

/** A member can transfer only to what it could call itself. */
async function planOfMember(
  deps: CallCentreParts,
  trx: Trx,
  tenant: Tenant,
  { ring, leg, asked, at }: { ring: RingRow; leg: ParticipantRow; asked: Asked; at: string },
): Promise<Plan | Refused> {
  const user = await forTenant(trx, tenant).find('users', ring.user_id ?? '')
  if (ring.state !== 'talking' || ring.leg_id !== leg.id || ASIDE.includes(ring.purpose)) return { status: 603 }
  const party = await mainLeg(trx, tenant, leg.call_id)
  if (party === undefined || (party.id !== leg.id && !isLeadable(party.step))) return { status: 603 }
  if (user?.status !== 'active') return { status: 403 }
  const { replaces } = asked
  if (replaces !== null && replaces.legId !== null) {
    return planOfJoin(trx, tenant, { userId: user.id, leg, otherLegId: replaces.legId })
  }
  if (replaces?.atNode === true) {
    const left = await leavable(trx, tenant, user.id, leg.id)
    const account = await forTenant(trx, tenant).find('sip_credentials', user.id)
    if (typeof left === 'number' || account === undefined) return { status: 603 }
    return { kind: 'bridge', to: asked.to.user, replaces: replaces.dialog, account: account.username }
  }
  const dialled = { to: asked.to, from: partyAt(user.extension ?? user.id, deps.sipHost), at: new Date(at) }
  const found = await destinationOf({ db: trx, sipHost: deps.sipHost, vault: deps.vault }, tenant, user, dialled)
  if ('failure' in found) return { status: found.failure === 'capacity' ? 503 : 404 }
  const dialog = replaces?.dialog ?? null
  if (found.kind === 'outside') {
    return { kind: 'ring', target: { type: 'number', to: found.onward.to }, replaces: dialog }
  }
  // A dialog that is not ours cannot be replaced at a destination inside.
  if (dialog !== null) return { status: 481 }
  if (found.kind === 'user') return { kind: 'ring', target: { type: 'user', id: found.userId }, replaces: null }
  const { target: type, target_id: id } = found.route
  if (id === null || type === 'park' || type === 'echo' || type === 'announcement') return { status: 603 }
  if (type === 'user') return { kind: 'ring', target: { type, id }, replaces: null }
  return { kind: 'lead', target: { type, id } }
}

/** Joining two calls: both must be the same member's, since nobody may give away the call of another. */
async function planOfJoin(
  trx: Trx,
  tenant: Tenant,
  { userId, leg, otherLegId }: { userId: string; leg: ParticipantRow; otherLegId: string },
): Promise<Plan | Refused> {
  const other = await findLeg(trx, tenant, otherLegId)
  if (other === undefined || other.call_id === leg.call_id || other.node_id !== leg.node_id) return { status: 603 }
  const rings = await ringsOf(trx, tenant, other.call_id)
  const ring = rings.find(one => one.leg_id === other.id)
  const isPartOfIt = ring?.user_id === userId && ring.state === 'talking' && !ASIDE.includes(ring.purpose)
  return isPartOfIt ? { kind: 'join', otherLegId } : { status: 403 }
}

// ---------------------------------------------------------------------------------------------------- a trunk

/** Decides by the connection's `transfers`. The target is called over the same connection, so that no other account pays. */
async function planOfTrunk(
  trx: Trx,
  tenant: Tenant,
  { leg, asked, at }: { leg: ParticipantRow; asked: Asked; at: string },
): Promise<Plan | Refused> {
  const { to, replaces } = asked
  const connection =
    leg.connection_id === null ? undefined : await forTenant(trx, tenant).find('connections', leg.connection_id)
  if (connection === undefined || connection.transfers === 'refuse') return { status: 603 }
  if (connection.enabled === 0 || connection.host === null || to.user === '') return { status: 403 }
  // Joining two calls of a far end would connect two of our parties, who have not asked for that.
  if (replaces !== null && (replaces.legId !== null || replaces.atNode === true)) return { status: 603 }
  if (await isPaused(trx, tenant, leg.call_id)) return { status: 603 }
  if ((await legProblem(trx, tenant, at)) !== null) return { status: 503 }
  const other = connection.transfers === 'follow' && replaces === null ? await otherEnd(trx, tenant, leg) : undefined
  const way = other === undefined ? null : await followedBy(trx, tenant, other)
  if (!(await mayName(trx, tenant, way ?? connection, to.user))) return { status: 403 }
  if (other !== undefined && way !== null) {
    return { kind: 'pass', legId: other.id, to: uriAt(way, to.user), inPlaceOf: null }
  }
  return { kind: 'bridge', to: to.user, replaces: replaces?.dialog ?? null }
}

/** The party that talks with this leg. */
async function otherEnd(trx: Trx, tenant: Tenant, leg: ParticipantRow): Promise<ParticipantRow | undefined> {
  if (leg.ring_id !== null) return mainLeg(trx, tenant, leg.call_id)
  const ring = await mainRing(trx, tenant, leg.call_id)
  return ring?.state === 'talking' && ring.leg_id !== null ? findLeg(trx, tenant, ring.leg_id) : undefined
}
