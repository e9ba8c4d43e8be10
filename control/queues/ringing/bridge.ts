import { type Failure, isFailure, type PaymentPause } from '../../../media/protocol.ts'
import { ownRoom } from '../../calls/conductor/leg-rooms.ts'
import { takeOn } from '../../calls/legs.ts'
import type { Db } from '../../kernel/store/store.ts'
import type { Tenant } from '../../kernel/tenancy.ts'
import type { CommandPort } from '../../media-link/events.ts'
import type { CallCentreDeps } from '../deps.ts'
import { ringback } from '../tones.ts'
import type { Around } from './dial.ts'
import { findRing, ringsOf } from './rings.ts'

/** Into the room of the call. A supervisor comes in muted, until it is set who hears him. */
export async function bridge(
  deps: CallCentreDeps,
  media: CommandPort<'leg.move' | 'leg.update' | 'leg.play'>,
  { leg, call, tenant }: Around,
): Promise<Failure | null> {
  const { db } = deps.store
  const ring = leg.ring_id === null ? undefined : await findRing(db, tenant, leg.ring_id)
  if (ring === undefined || call === undefined) return { failure: 'not_found', message: 'the call is over' }
  const isSupervisor = ring.purpose === 'supervise'
  const room = ownRoom({ ...call, target: call.target === 'echo' ? 'park' : call.target })
  const isFirst = ring.purpose === 'callback' || ring.purpose === 'placed'
  const payment = ring.payment === null ? {} : { payment: JSON.parse(ring.payment) as PaymentPause }
  const place = { legId: leg.id, room, mustExist: !isFirst, muted: isSupervisor }
  const moved = await media.request('leg.move', { ...place, ...payment })
  if (isFailure(moved)) return moved
  if (isSupervisor) {
    const update = await superviseAs(db, tenant, ring.mode, call.id)
    const reply = await media.request('leg.update', { legId: leg.id, muted: false, ...update })
    if (isFailure(reply)) return reply
  } else if (isFirst) await media.request('leg.play', ringback(leg.id))
  await takeOn(deps.store, leg, { step: 'bridged', prompted: 1, joined_at: deps.now().toISOString() })
  return null
}

/** Who hears a supervisor: monitor nobody, whisper the agent, barge all. */
export async function superviseAs(
  db: Db,
  tenant: Tenant,
  mode: string | null,
  callId: string,
): Promise<{ heardBy: string[] | null; hears: null }> {
  if (mode === 'barge') return { heardBy: null, hears: null }
  if (mode === 'monitor') return { heardBy: [], hears: null }
  const rings = await ringsOf(db, tenant, callId)
  const agents = rings.filter(ring => ring.purpose !== 'supervise').flatMap(ring => ring.leg_id ?? [])
  return { heardBy: agents, hears: null }
}
