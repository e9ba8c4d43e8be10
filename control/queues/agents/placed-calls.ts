import type { CallCentrePort } from '../../calls/conductor/call-centre-port.ts'
import { begin } from '../../calls/conductor/incoming-call.ts'
import { elsewhere } from '../../calls/conductor/rooms/sessions.ts'
import { setLeg } from '../../calls/legs.ts'
import { insertProgram, programOf } from '../../calls/programs/records.ts'
import { insertParty, type NewParty, targetOf } from '../../calls/records.ts'
import { captureOf } from '../../capture-settings/settings.ts'
import type { Problem } from '../../http/errors.ts'
import { newId } from '../../kernel/ids.ts'
import type { Store, Trx } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import type { Vault } from '../../kernel/vault.ts'
import type { UserRow } from '../../organisation/tables.ts'
import type { InboundRouteRow } from '../../trunks/tables.ts'
import { callProblem } from '../../usage/allowance.ts'
import { becomeBusy } from '../agent-status.ts'
import { type Destination, destinationOf, partyAt, type Undialable } from '../destinations.ts'
import { callOnward } from '../ringing/purposes.ts'
import { holdLine, mayCallBeside, type RingTarget, startRing } from '../ringing/rings.ts'

export interface PlacingDeps {
  store: Store
  now: () => Date
  /** The host of our own SIP address. */
  sipHost: string
  vault: Vault
  centre: Pick<CallCentrePort, 'beginUnanswered'>
}

/** The device that places the call: a phone that has called us, or a softphone. */
type CallingDevice = Extract<RingTarget, { kind: 'leg' | 'browser' }>

interface Placing {
  tenant: Tenant
  user: UserRow
  device: CallingDevice
  /** The dialled extension, name or number. */
  dialled: string
  /** The caller's number is hidden from a party outside. */
  isAnonymous?: boolean
  /** Nodes that had the conference room, and are gone. */
  gone?: string[]
  /** Metadata of the call; absent: none. */
  metadata?: Record<string, string>
}

export type NotPlaced =
  | Undialable
  | { failure: 'busy'; message: string }
  /** Another node has the conference room: its ID, and where it takes calls. */
  | { failure: 'elsewhere'; message: string; id: string; sip: string | null }
  /** The organisation is suspended, or at its limit of calls. */
  | { failure: 'not_allowed'; message: string; problem: Problem }

type Inside = Exclude<Destination, { kind: 'outside' }>

/** Short, since a softphone page answers at once the call that it has requested. */
const DEVICE_TIMEOUT_S = 15

/**
 * Places a call for a member. Outside: a softphone is rung before the person, as for a callback; a phone hears ringback until the person
 * answers. Inside: the device is the call's own leg, and is led like a caller from outside.
 */
export async function placeMembersCall(deps: PlacingDeps, placing: Placing): Promise<NotPlaced | null> {
  const { store, now, sipHost, vault } = deps
  const { tenant, user, dialled, gone } = placing
  const from = partyAt(user.extension ?? user.id, sipHost)
  const to = partyAt(dialled, sipHost)
  const at = now()
  const found = await destinationOf({ db: store.db, sipHost, vault }, tenant, user, { to, from, at })
  if ('failure' in found) return found
  return store.transaction(async trx => {
    const node = found.kind === 'route' ? await elsewhere(trx, found.route, at.toISOString(), gone) : undefined
    if (node !== undefined) return { failure: 'elsewhere', message: 'Another node has this conference room.', ...node }
    const problem = await callProblem(trx, tenant, at.toISOString())
    if (problem !== null) return { failure: 'not_allowed', message: problem.message, problem }
    const isPlaced =
      found.kind === 'outside'
        ? await callOutside(trx, placing, found, at.toISOString())
        : await callInside(deps, trx, placing, found, { from: from.uri, at: at.toISOString() })
    return isPlaced ? null : { failure: 'busy', message: 'You are on another call.' }
  })
}

async function callOutside(
  trx: Trx,
  { tenant, user, device, isAnonymous = false, metadata = {} }: Placing,
  { onward }: Extract<Destination, { kind: 'outside' }>,
  at: string,
): Promise<boolean> {
  const ring = {
    callId: newId('call'),
    purpose: 'placed' as const,
    userId: user.id,
    queueId: null,
    callbackId: null,
    mode: null,
    isSecond: await isBeside(trx, tenant, user.id, device),
    targets: [device],
    role: 'agent' as const,
    address: user.id,
    timeoutS: DEVICE_TIMEOUT_S,
    onward: { ...onward, isAnonymous, metadata },
  }
  const started = await startRing(trx, tenant, ring, at)
  if (started === null || device.kind !== 'leg') return started !== null
  await forTenant(trx, tenant).change('rings', started.id, { state: 'talking', leg_id: device.legId })
  await setLeg(trx, tenant, device.legId, { step: 'calling', unanswered: 'when_answered' })
  await callOnward(trx, tenant, { callId: ring.callId, userId: user.id, onward: ring.onward, at })
  return true
}

async function callInside(
  deps: PlacingDeps,
  trx: Trx,
  { tenant, user, device, dialled, metadata = {} }: Placing,
  found: Inside,
  { from, at }: { from: string; at: string },
): Promise<boolean> {
  const callId = newId('call')
  const way = rungFor(found)
  const legId = device.kind === 'leg' ? device.legId : newId('participant')
  const isSecond = await isBeside(trx, tenant, user.id, device)
  if (!(await holdLine(trx, tenant, { userId: user.id, callId, legId, at, isSecond }))) return false
  const party: NewParty = {
    callId,
    legId,
    direction: 'inbound',
    to: dialled,
    from,
    ...targetOf(way.target, way.target_id),
    ...(device.kind === 'leg' ? {} : { dial: JSON.stringify({ ...device, timeoutS: DEVICE_TIMEOUT_S }) }),
    connectionId: null,
    metadata,
    role: 'member',
    muted: false,
  }
  const program = programOf(way.target, way.target_id)
  const capture = found.kind === 'route' ? { route: captureOf(found.route.capture) } : {}
  const rows = await insertParty(trx, tenant, { ...party, capture, program: program ?? {} }, at)
  if (program !== null) await insertProgram(trx, tenant, party, program, at)
  await becomeBusy(trx, tenant, user.id, at)
  if (device.kind === 'leg') await begin(deps, trx, tenant, rows, way)
  return true
}

/**
 * The route that the device follows. A member who calls a queue stays unanswered and hears its hold audio as early media, unless the route
 * says otherwise.
 */
function rungFor(found: Inside): Pick<InboundRouteRow, 'answer' | 'target' | 'target_id'> {
  if (found.kind === 'user') return { target: 'user', target_id: found.userId, answer: null }
  const { answer, target, target_id } = found.route
  return { target, target_id, answer: answer ?? (target === 'queue' ? 'early_media' : null) }
}

/** Whether a second call is allowed: a phone has several lines, and puts the other call on hold itself. */
const isBeside = async (trx: Trx, tenant: Tenant, userId: string, device: CallingDevice): Promise<boolean> =>
  device.kind === 'leg' && (await mayCallBeside(trx, tenant, userId))
