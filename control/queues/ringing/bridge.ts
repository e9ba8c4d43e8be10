import { type Failure, isFailure, type PaymentPause } from '../../../media/protocol.ts'
import { ownRoom } from '../../calls/conductor/leg-rooms.ts'
import { mainLeg, takeOn } from '../../calls/legs.ts'
import { roomSound } from '../../calls/sound/audio-schema.ts'
import type { Db } from '../../kernel/store/store.ts'
import { forTenant, type Tenant, tenantOf } from '../../kernel/tenancy.ts'
import type { CommandPort } from '../../media-link/events.ts'
import type { CallCentreParts } from '../deps.ts'
import { settingsOf } from '../settings/store.ts'
import type { RingRow } from '../tables.ts'
import type { Around } from './dial.ts'
import { findRing, ringsOf } from './rings.ts'

/** Moves an answered leg into the call's room. A supervisor is muted until it is set who hears them. */
export async function bridge(
  deps: CallCentreParts,
  media: CommandPort<'leg.move' | 'leg.update'>,
  { leg, call, tenant }: Around,
): Promise<Failure | null> {
  const { db } = deps.store
  const ring = leg.ring_id === null ? undefined : await findRing(db, tenant, leg.ring_id)
  if (ring === undefined || call === undefined) return { failure: 'not_found', message: 'the call is over' }
  const isSupervisor = ring.purpose === 'supervise'
  const queue = ring.queue_id === null ? undefined : await forTenant(db, tenant).find('queues', ring.queue_id)
  const room = {
    ...ownRoom({ ...call, target: call.target === 'echo' && !isSupervisor ? 'park' : call.target }),
    ...(queue === undefined ? {} : roomSound(settingsOf(queue))),
  }
  const isFirst = ring.purpose === 'callback' || ring.purpose === 'placed'
  const payment = ring.payment === null ? {} : { payment: JSON.parse(ring.payment) as PaymentPause }
  const place = { legId: leg.id, room, mustExist: !isFirst, muted: isSupervisor }
  const moved = await media.request('leg.move', { ...place, ...payment })
  // The caller is still being answered, and the room does not exist yet.
  if (isFailure(moved) && moved.failure === 'not_found' && (await isUnanswered(db, tenant, call.id))) return NOT_YET
  if (isFailure(moved)) return moved
  if (isSupervisor) {
    const failure = await tellHearers(db, media, ring, { muted: false })
    if (failure !== null) return failure
  } else await whisperAnew(db, media, tenant, call.id)
  // The first party in the call still has to hear ringback, and one that is or was on hold its hold audio or silence.
  const prompted = isFirst || leg.on_hold !== null ? 0 : 1
  await takeOn(deps.store, leg, { step: 'bridged', prompted, joined_at: deps.now().toISOString() })
  return null
}

const NOT_YET: Failure = { failure: 'unavailable', message: 'the caller is being answered' }

const isUnanswered = async (db: Db, tenant: Tenant, callId: string): Promise<boolean> =>
  (await mainLeg(db, tenant, callId))?.unanswered != null

/** Makes whispering supervisors heard by a party that has just joined the call. */
async function whisperAnew(db: Db, media: CommandPort<'leg.update'>, tenant: Tenant, callId: string): Promise<void> {
  for (const ring of await ringsOf(db, tenant, callId)) {
    if (ring.purpose === 'supervise' && ring.mode === 'whisper') await tellHearers(db, media, ring)
  }
}

/** Tells media who hears a supervisor; again if that has changed by the reply, since who has changed it may have told media before. */
export async function tellHearers(
  db: Db,
  media: CommandPort<'leg.update'>,
  { id, ...of }: RingRow,
  { muted }: { muted?: false } = {},
): Promise<Failure | null> {
  for (let told = ''; ; ) {
    const ring = await findRing(db, tenantOf(of), id)
    if (ring === undefined || ring.leg_id === null) return null
    const heard = await superviseAs(db, tenantOf(ring), ring.mode, ring.call_id)
    if (told === JSON.stringify(heard)) return null
    told = JSON.stringify(heard)
    const reply = await media.request('leg.update', { legId: ring.leg_id, muted, ...heard })
    if (isFailure(reply)) return reply
  }
}

/** Who hears a supervisor. monitor: nobody; whisper: members, but no consulted party outside; barge: everybody. */
async function superviseAs(
  db: Db,
  tenant: Tenant,
  mode: string | null,
  callId: string,
): Promise<{ heardBy: string[] | null; hears: null }> {
  if (mode === 'barge') return { heardBy: null, hears: null }
  if (mode === 'monitor') return { heardBy: [], hears: null }
  const rings = await ringsOf(db, tenant, callId)
  const members = rings.filter(ring => ring.purpose !== 'supervise' && ring.user_id !== null)
  return { heardBy: members.flatMap(ring => ring.leg_id ?? []), hears: null }
}
