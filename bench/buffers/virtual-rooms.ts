import { FRAME_MS } from '../../codecs/audio.ts'
import { SLOTS } from '../../media/engine/clock.ts'
import { RoomSlots } from '../../media/engine/room-slots.ts'
import type { RtpLeg } from '../../media/legs/rtp-leg.ts'
import { HOST, openLeg, openRooms } from '../engine/open-leg.ts'
import { seededNoise } from '../hearing/noises.ts'
import type { Percentiles } from '../load/histogram.ts'
import { Ledger } from '../load/ledger.ts'
import { Listeners } from '../load/listener.ts'
import { Network } from '../load/network.ts'
import { Speech } from '../load/speech.ts'
import { Talkers } from '../load/talker.ts'

const SLOT_MS = FRAME_MS / SLOTS
/** Interval at which calls begin [ms]. */
const CALL_EVERY_MS = 8
/** The measurement begins after this time, when all calls have begun and the rooms have found their slots [ms]. */
const SETTLED_MS = 10_000
/** How long packets are waited for that are on their way at the end [ms]. */
const TAIL_MS = 1000
/** Delay of a packet within the host's network stack [ms]. */
const HOST_MS = { least: 0.03, spread: 0.6 }
/** How late a slot begins: usually a fraction of a millisecond, and one of 500 slots some milliseconds. */
const SLOT_LATE = { leastMs: 0.05, spreadMs: 0.4, badEvery: 500, badLeastMs: 2, badSpreadMs: 3 }

interface RoomsPlan {
  legs: number
  roomSize: number
  /** Duration of the measured audio. */
  seconds: number
  /** Mean delay of packets [ms]. */
  jitterMs: number
  /** Decides the phones' phases and clocks, the start of our clock, and how late its slots are. */
  seed: number
}

export interface RoomsResult {
  framesExpected: number
  framesHeard: number
  /** Frames of which a part was left out or repeated when the playout delay changed. */
  framesJoint: number
  /** From the departure of a sample at the talker to its departure from us [ms]. */
  latencyMs: Percentiles | null
}

interface Packet {
  frame: number
  leavesAt: number
}

/**
 * Runs rooms of real legs with the packets of the bench's load on a virtual clock. It shows what jitter buffers lose and by how much they delay audio,
 * independent of other work of the machine, a minute of it in seconds. The result is the same in every run.
 */
export function runRooms({ legs: count, roomSize, seconds, jitterMs, seed }: RoomsPlan): RoomsResult {
  const random = seededNoise(seed)
  const upTo = (ms: number): number => ((random() + 1) / 2) * ms
  const network = new Network(count, jitterMs, 0, seed)
  const speech = new Speech(count, roomSize)
  const ledger = new Ledger(count)
  const talkers = new Talkers(count, ledger)
  const listeners = new Listeners(ledger, count, roomSize)
  const legs: RtpLeg[] = []
  let now = 0
  for (let number = 0; number < count; number++) {
    const sendRtp = (bytes: Uint8Array, length: number): void =>
      listeners.receive(number, bytes.subarray(0, length), now)
    legs.push(openLeg(`leg_${number}`, { sendRtp, sendRtcp: () => {} }, 4000, false, 0))
  }
  const rooms = openRooms(legs, roomSize)
  for (const room of rooms) room.legs.length = 0
  const slots = new RoomSlots()
  for (const room of rooms) slots.add(room, 0)

  const nextFrame = new Int32Array(count)
  const flying: Packet[][] = legs.map(() => [])
  const [from, to] = [SETTLED_MS, SETTLED_MS + seconds * 1000]
  let framesExpected = 0

  const deliver = (number: number, { frame, leavesAt }: Packet): void => {
    // As in the load over sockets: no engine has to play a packet that arrives after its successor.
    const saying = network.isOvertaken(number, frame) ? 'silence' : speech.at(number, network.dueAt(number, frame))
    const isMarked = talkers.write(number, frame, saying, leavesAt)
    if (isMarked && leavesAt >= from && leavesAt < to) framesExpected += speech.othersOf(number)
    legs[number]!.rtp(talkers.packet, HOST, 4000, leavesAt + HOST_MS.least)
  }
  /** Delivers the packets that have arrived by now, as the engine's sockets do before a slot. */
  const receive = (number: number): void => {
    const packets = flying[number]!
    for (; network.dueAt(number, nextFrame[number]!) <= now; nextFrame[number]!++) {
      const frame = nextFrame[number]!
      packets.push({ frame, leavesAt: network.leavesAt(number, frame) + upTo(HOST_MS.spread) })
    }
    packets.sort((a, b) => a.leavesAt - b.leavesAt)
    while (packets.length > 0 && packets[0]!.leavesAt + HOST_MS.least <= now) deliver(number, packets.shift()!)
  }
  const enter = (number: number): void => {
    while (network.dueAt(number, nextFrame[number]!) < now) nextFrame[number]!++
    rooms[Math.floor(number / roomSize)]!.legs.push(legs[number]!)
  }

  const first = upTo(SLOT_MS)
  let entered = 0
  listeners.measure(from, to)
  for (let slot = 0, deadline = first; deadline < to + TAIL_MS; slot++, deadline = first + slot * SLOT_MS) {
    const isBad = upTo(SLOT_LATE.badEvery) < 1
    const late = isBad
      ? SLOT_LATE.badLeastMs + upTo(SLOT_LATE.badSpreadMs)
      : SLOT_LATE.leastMs + upTo(SLOT_LATE.spreadMs)
    now = deadline + late
    for (; entered < count && entered * CALL_EVERY_MS <= now; entered++) enter(entered)
    for (let number = 0; number < entered; number++) receive(number)
    tick(slots, slot % SLOTS, deadline)
  }
  const { framesHeard, framesJoint } = listeners.counts
  return { framesExpected, framesHeard, framesJoint, latencyMs: listeners.latency.percentiles() }
}

function tick(slots: RoomSlots, slot: number, deadline: number): void {
  for (const place of slots.bySlot[slot]!) {
    if (deadline < place.dueAt || place.room.legs.length === 0) continue
    place.room.tick(deadline)
    slots.look(slot, place, deadline)
  }
}
