import * as assert from 'uvu/assert'
import { PCMU } from '../../../codecs/g711.ts'
import { RoomSlots } from '../../../media/engine/room-slots.ts'
import { Room } from '../../../media/rooms/room.ts'
import { suite } from '../../harness.ts'
import { LISTENER, levelOf, Party, toneFrame } from './party.ts'

const test = suite('media/engine/room-slots')

const SLOT_MS = 5

interface Course {
  driftPpm?: number
  /** When the last of the party's packets arrives [ms]. */
  lastAt?: number
  /** Until then every fifth packet is 9 ms late. */
  stormUntil?: number
}

/** Runs a tick of each room in a slot. */
function mix(slots: RoomSlots, slot: number, now: number, tick: () => void): void {
  for (const place of slots.bySlot[slot]!) {
    if (now < place.dueAt) continue
    tick()
    slots.look(slot, place, now)
  }
}

/** Runs a room whose parties' packets arrive at these times within each 20 ms. */
function converse(
  phases: readonly number[],
  seconds: number,
  { driftPpm = 0, lastAt = 0, stormUntil = 0 }: Course = {},
) {
  const room = new Room({ roomId: 'room', kind: 'call', maxMembers: 10, musicWhenAlone: false, chimes: false })
  room.taps.push(LISTENER)
  const slots = new RoomSlots()
  const parties = phases.map((_, i) => new Party(`leg${i}`, `192.0.2.${i + 1}`))
  const late = parties.at(-1)!
  for (const party of parties) if (party !== late) room.legs.push(party.leg)
  slots.add(room, 0)
  const comesAt = (i: number, packet: number): number => {
    const at = packet * 20 * (1 - driftPpm / 1e6) + phases[i]!
    return at < stormUntil && packet % 5 === 0 ? at + 9 : at
  }
  const sent = phases.map(() => 0)
  const ticks: number[] = []
  for (let n = 0; n * SLOT_MS < seconds * 1000; n++) {
    const now = n * SLOT_MS
    if (now >= lastAt && !room.legs.includes(late.leg)) room.legs.push(late.leg)
    for (const [i, party] of parties.entries()) {
      for (; comesAt(i, sent[i]!) <= now; sent[i]!++) {
        if (now >= lastAt || party !== late)
          party.speak(toneFrame(i === 0 ? 440 : 1000, sent[i]!), comesAt(i, sent[i]!))
      }
    }
    mix(slots, n % 4, now, () => {
      room.tick(now)
      ticks.push(now)
    })
  }
  return { parties, ticks, spares: parties.map(({ leg }) => leg.spareMs) }
}

const intervals = (ticks: readonly number[]): number[] => ticks.slice(1).map((at, i) => at - ticks[i]!)

test('a room is mixed soon after the packets of its members have come', () => {
  // A new room begins in the first slot: 13 ms after one's packets, 12 after the other's.
  const { ticks, spares } = converse([7, 8], 30)
  assert.is(ticks.at(-1)! % 20, 10)
  assert.ok(
    spares.every(spare => spare! >= 2 && spare! < 4),
    spares.join(),
  )
})

for (const [what, phases, interval] of [
  ['earlier for it where all packets are there by then', [7, 8], 10],
  ['later for it where they are not', [1, 15.5], 25],
] as const) {
  test(`one frame comes ${what}, and none is left out: a tone goes on`, () => {
    const { parties, ticks } = converse(phases, 30)
    const others = intervals(ticks).filter(interval => interval !== 20)
    assert.equal(others, [interval])
    const heard = parties[0]!.heard()
    assert.is(heard.length, ticks.length * 160)
    for (let from = 8000; from + 8000 <= heard.length; from += 8000) {
      const level = levelOf(1000, heard.subarray(from, from + 8000))
      assert.ok(
        Math.abs(level - levelOf(1000, heard.subarray(8000, 16_000))) < 0.5,
        `${level} dBov at ${from / 8000} s`,
      )
    }
  })
}

test('where nothing is to be won a room stays', () => {
  assert.ok(intervals(converse([13, 15], 30).ticks).every(interval => interval === 20))
  assert.ok(intervals(converse([3, 8, 13, 18], 30).ticks).every(interval => interval === 20))
})

const movesOf = (ticks: readonly number[]): number[] => ticks.slice(1).filter((at, i) => at - ticks[i]! !== 20)

test('who comes after a room was moved is followed too, some seconds later', () => {
  const { ticks } = converse([7, 12], 40, { lastAt: 6000 })
  const moves = movesOf(ticks)
  assert.is(moves.length, 2)
  assert.ok(moves[0]! < 6000 && moves[1]! >= 10_000 && moves[1]! < 20_000, moves.join())
  assert.is(ticks.at(-1)! % 20, 15)
})

test('what a storm at the beginning led to is made good when that is over', () => {
  const { ticks } = converse([2, 2.5], 40, { stormUntil: 4500 })
  const moves = movesOf(ticks)
  assert.is(moves.length, 2)
  assert.ok(moves.at(-1)! < 20_000, moves.join())
  assert.is(ticks.at(-1)! % 20, 5)
})

test('clocks that drift are followed once a minute at most, when the room has settled', () => {
  const { ticks, parties } = converse([7, 8], 200, { driftPpm: 100 })
  const moves = movesOf(ticks)
  assert.ok(moves.length >= 2 && moves.length <= 5, `${moves.length} moves`)
  assert.ok(
    moves.slice(2).every((at, i) => at - moves[i + 1]! >= 60_000),
    moves.join(),
  )
  assert.is(parties[0]!.leg.quality.packetsLost, 0)
})

test('frames that our clock has left out are missing in the timestamps too: nobody is late after a stall of ours', () => {
  const room = new Room({ roomId: 'room', kind: 'call', maxMembers: 10, musicWhenAlone: false, chimes: false })
  const [speaker, listener] = [new Party('a', '192.0.2.1'), new Party('b', '192.0.2.2')]
  room.legs.push(speaker.leg, listener.leg)
  const at: number[] = []
  // As the clock does after a stall of 300 ms: ten frames are skipped, and five caught up on.
  for (let frame = 0; frame < 100; frame++) {
    speaker.speak(toneFrame(440, frame), frame * 20 + 5)
    if (frame > 50 && frame <= 60) continue
    room.tick(frame * 20 + 15)
    at.push(frame)
  }
  const { timestamps, markers } = listener
  assert.is(timestamps.length, at.length)
  for (const [i, timestamp] of timestamps.entries()) assert.is((timestamp - timestamps[0]!) >>> 0, at[i]! * 160)
  assert.equal(
    markers.flatMap((marker, i) => (marker ? [at[i]] : [])),
    [0, 61],
  )
  // The talker's frames are where they belong: each byte of the last is what was said then.
  const said = new Uint8Array(160)
  PCMU.encode(toneFrame(440, 99), said)
  assert.equal(listener.payloads.at(-1), said)
})

test('rooms do not crowd into one slot, and packets are fetched in the slot of their room', () => {
  const slots = new RoomSlots()
  const followed: number[] = []
  const rooms = Array.from({ length: 40 }, (_, i) => {
    const room = new Room({ roomId: `${i}`, kind: 'call', maxMembers: 10, musicWhenAlone: false, chimes: false })
    slots.add(room, 0)
    Object.defineProperty(room, 'legs', {
      value: [{ spareMs: 2.5 + SLOT_MS * (3 - (i % 4)), enoughMs: 2, follow: (slot: number) => (followed[i] = slot) }],
    })
    return room
  })
  const bySlot = (now: number): number[] =>
    Array.from({ length: 4 }, (_, slot) => {
      let count = 0
      mix(slots, slot, now + slot * SLOT_MS, () => count++)
      return count
    })
  for (let now = 0; now < 10_000; now += 20) bySlot(now)
  const counts = bySlot(10_000)
  assert.is(counts[0]! + counts[1]! + counts[2]! + counts[3]!, 40)
  assert.ok(Math.max(...counts) <= 25, counts.join())
  for (const [i, room] of rooms.entries()) {
    // The first slots of all are known to nobody: they came before there was a member.
    if (followed[i] !== undefined) assert.ok(slots.bySlot[followed[i]!]!.some(place => place.room === room))
  }
  assert.ok(followed.filter(slot => slot !== undefined).length > 10)
  for (const room of rooms) slots.remove(room)
  assert.equal(bySlot(20_000), [0, 0, 0, 0])
})

test.run()
