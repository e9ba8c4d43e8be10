import { FRAME_MS } from '../../codecs/audio.ts'
import type { Room } from '../rooms/room.ts'
import { SLOTS } from './clock.ts'

const SLOT_MS = FRAME_MS / SLOTS
/** When a room's phase is checked after somebody has entered or left (arrival statistics reach back this far), and otherwise [ms]. */
const KNOWN_MS = 4000
const LOOK_MS = 5000
/** Minimum time between moves: after the first one (many rooms may change at the same time), and after each further one [ms]. */
const FIRST_SETTLE_MS = 10_000
const SETTLE_MS = 60_000
/** What a move has to save per member, on average [ms]. */
const WORTH_MS = 1
/** Rooms that a slot may have beyond its share. */
const CROWD = 4

interface Place {
  readonly room: Room
  /** The room is not mixed before this time, since it has moved to a later slot [ms]. */
  dueAt: number
  /** Next time at which its phase is checked [ms]. */
  lookAt: number
  /** Number of members at the last `look`. */
  members: number
  /** How long the next move lasts at least [ms]. */
  settleMs: number
}

/**
 * The clock slot in which each room is mixed. A new room goes to the slot with the fewest. Later its slot follows the packets of its members:
 * it is mixed soon after most of them have arrived. It moves rarely (soon after somebody entered or left, otherwise at most once a minute): to an earlier
 * time if everybody's packets are still there by then, and otherwise to a later one. One frame comes some milliseconds early or late, and no sample is
 * skipped or repeated. A room on several threads moves where nobody speaks.
 *
 * Packets of a member are fetched in the slot of its room: what they are about is in the CPU's caches when it is mixed, and is out of them a slot later.
 */
export class RoomSlots {
  /** For each slot a list that is replaced, not changed: while it is iterated, rooms may open and close. */
  readonly bySlot: (readonly Place[])[] = Array.from({ length: SLOTS }, () => [])
  #rooms = 0

  get isEmpty(): boolean {
    return this.#rooms === 0
  }

  add(room: Room, now: number): void {
    const least = this.bySlot.reduce((least, slot) => (slot.length < least.length ? slot : least))
    this.#put(this.bySlot.indexOf(least), {
      room,
      dueAt: Number.NEGATIVE_INFINITY,
      lookAt: now + KNOWN_MS,
      members: 0,
      settleMs: FIRST_SETTLE_MS,
    })
    this.#rooms++
  }

  /** Idempotent. */
  remove(room: Room): void {
    const slot = this.bySlot.findIndex(places => places.some(place => place.room === room))
    if (slot < 0) return
    this.bySlot[slot] = this.bySlot[slot]!.filter(place => place.room !== room)
    this.#rooms--
  }

  /** Its members have changed, or whether their packets are relayed. */
  follow(room: Room): void {
    const slot = this.bySlot.findIndex(places => places.some(place => place.room === room))
    const own = slot < 0 || room.isPassing ? null : slot
    for (const leg of room.legs) leg.follow(own)
  }

  /** After a tick of a room whose `lookAt` has come, or whose members are others: it may move to another slot. */
  look(slot: number, place: Place, now: number): void {
    if (place.room.legs.length !== place.members) {
      place.members = place.room.legs.length
      place.lookAt = Math.min(place.lookAt, now + KNOWN_MS)
      place.settleMs = FIRST_SETTLE_MS
    }
    if (now < place.lookAt) return
    // Otherwise its other threads would miss a frame, or have one too many.
    if (place.room.isSpread && !place.room.isQuiet) return
    const later = this.#bestMove(slot, place.room)
    place.lookAt = now + LOOK_MS
    if (later === 0 || !this.bySlot[slot]!.includes(place)) return
    this.bySlot[slot] = this.bySlot[slot]!.filter(other => other !== place)
    this.#put((slot + later) % SLOTS, {
      ...place,
      dueAt: isEnough(place.room, FRAME_MS - later * SLOT_MS) ? now : now + FRAME_MS,
      lookAt: now + place.settleMs,
      settleMs: SETTLE_MS,
    })
  }

  #put(slot: number, place: Place): void {
    this.bySlot[slot] = [...this.bySlot[slot]!, place]
    this.follow(place.room)
  }

  /** By how many slots the room should move; 0: it stays. */
  #bestMove(slot: number, room: Room): number {
    const now = waitOf(room, 0)
    let best = 0
    let bestWait = now - WORTH_MS
    for (let later = 1; later < SLOTS; later++) {
      if (this.bySlot[(slot + later) % SLOTS]!.length >= (2 * this.#rooms) / SLOTS + CROWD) continue
      const wait = waitOf(room, later * SLOT_MS)
      if (wait > bestWait) continue
      best = later
      bestWait = wait
    }
    return best
  }
}

/** Whether all packets of the members would still arrive in time if the room were mixed this much earlier. */
function isEnough({ legs }: Room, earlierMs: number): boolean {
  return legs.every(({ spareMs, enoughMs }) => spareMs !== null && spareMs - earlierMs >= enoughMs)
}

/** How long the members' latest packets would wait on average if the room were mixed this much later; 0: unknown [ms]. */
function waitOf({ legs }: Room, laterMs: number): number {
  let sum = 0
  let known = 0
  for (const { spareMs, enoughMs } of legs) {
    if (spareMs === null) continue
    const spare = spareMs + laterMs
    sum += spare - FRAME_MS * Math.max(0, Math.floor((spare - enoughMs) / FRAME_MS))
    known++
  }
  return known === 0 ? 0 : sum / known
}
