import { FRAME_MS } from '../../codecs/audio.ts'
import { SLOTS } from '../../media/engine/clock.ts'
import type { RtpLeg } from '../../media/legs/rtp-leg.ts'
import { Annex } from '../../media/rooms/annex.ts'
import { GuestLeg } from '../../media/rooms/guest-leg.ts'
import { newLegLink } from '../../media/rooms/leg-link.ts'
import type { Room } from '../../media/rooms/room.ts'
import type { CallKind, DatagramSocket } from '../../media/rtp/datagrams/datagrams.ts'
import { NativeDatagrams } from '../../media/rtp/datagrams/native-datagrams.ts'
import { bind, FarEnds, portOf } from './far-ends.ts'
import { Floor } from './floor.ts'
import { HOST, openLeg, openRooms } from './open-leg.ts'
import type { Phones, Plan } from './phones.ts'
import { Meter } from './thread-cpu.ts'

/** Legs in rooms whose cost is measured. */
export interface Subject {
  readonly name: string
  readonly plan: Plan
  readonly meters: readonly { of: string; meter: Meter }[]
  /** Sends a packet to a leg, which receives it in the next `slot`. */
  give(leg: number, packet: Uint8Array): void
  /** Receives packets, and mixes the rooms of a slot. `now`: its deadline [ms]. */
  slot(slot: number, now: number): void
  /** Receives at the far ends what the legs have sent; not measured. */
  drain(): void
  close(): void
}

/** The first ports of the engine and of its far ends. */
interface Ports {
  engine: number
  far: number
}

/** How long before its slot a packet arrives [ms]. */
const AGE_MS = 3
/** Below the ports that the system gives to outgoing connections; by process, so that several benches can run at a time. */
const FIRST_PORT = 10_000 + (process.pid % 16) * 500
/** The ports of all subjects interleave (`portOf`), so that they fit for any number of legs. */
const PORTS = { floor: FIRST_PORT + 2, farOfFloor: FIRST_PORT + 6 }
const SOCKET_PORTS = {
  single: { engine: FIRST_PORT, far: FIRST_PORT + 4 },
  ring: { engine: FIRST_PORT + 1, far: FIRST_PORT + 5 },
}
const ENCRYPTED_PORTS = { engine: FIRST_PORT + 3, far: FIRST_PORT + 7 }

/** Port of far ends to which nothing is really sent. */
const DRY_PORT = 4000

/** Larger than a core's own caches: changing it displaces everything else from them. To read it would not do: V8 leaves that out [words of 4 bytes]. */
const others = new Int32Array(1 << 21)

function changeOthers(): void {
  for (let i = 0; i < others.length; i += 16) others[i]!++
}

/** Runs a frame of all legs: the members of a room have phases of their own. `isCold`: with cold caches before each slot. */
export function runFrame(subject: Subject, phones: Phones, frame: number, isCold = false): void {
  const { legs, roomSize } = subject.plan
  for (let slot = 0; slot < SLOTS; slot++) {
    for (let leg = 0; leg < legs; leg++) {
      const phase = Math.floor(leg / roomSize) + (leg % roomSize)
      if (phase % SLOTS === slot) subject.give(leg, phones.speak(leg, frame))
    }
    if (isCold) changeOthers()
    subject.slot(slot, frame * FRAME_MS + (slot * FRAME_MS) / SLOTS)
    subject.drain()
  }
  for (const { meter } of subject.meters) meter.next()
}

/** In which its room is mixed, and its packets are received. */
const slotOf = (leg: number, { roomSize }: Plan): number => Math.floor(leg / roomSize) % SLOTS

function mix(rooms: readonly Room[], slot: number, now: number): void {
  for (let room = slot; room < rooms.length; room += SLOTS) rooms[room]!.tick(now)
}

/** The engine's legs and rooms without sockets: packets arrive by a function call, and those sent are only counted. */
export class Dry implements Subject {
  readonly name: string
  readonly plan: Plan
  readonly #receive = new Meter()
  readonly #tick = new Meter()
  readonly meters = [
    { of: 'receive', meter: this.#receive },
    { of: 'tick', meter: this.#tick },
  ]
  readonly #legs: RtpLeg[]
  readonly #rooms: Room[]
  readonly #packets: Uint8Array[]
  /** By slot. */
  readonly #given: number[][] = Array.from({ length: SLOTS }, () => [])
  sent = 0
  /** Packets to the legs are lost. */
  isDeaf = false
  /** Packets arrive, but no room is mixed. */
  isStalled = false

  constructor(name: string, plan: Plan, now: number) {
    const { legs, roomSize, isEncrypted } = plan
    this.name = name
    this.plan = plan
    const out = { sendRtp: () => this.sent++, sendRtcp: () => {} }
    this.#legs = Array.from({ length: legs }, (_, leg) => openLeg(`leg_${leg}`, out, DRY_PORT, isEncrypted, now))
    this.#packets = this.#legs.map(() => new Uint8Array(0))
    this.#rooms = openRooms(this.#legs, roomSize)
  }

  give(leg: number, packet: Uint8Array): void {
    if (this.isDeaf) return
    if (this.#packets[leg]!.length !== packet.length) this.#packets[leg] = packet.slice()
    else this.#packets[leg]!.set(packet)
    this.#given[slotOf(leg, this.plan)]!.push(leg)
  }

  slot(slot: number, now: number): void {
    const given = this.#given[slot]!
    this.#receive.begin()
    for (const leg of given) this.#legs[leg]!.rtp(this.#packets[leg]!, HOST, DRY_PORT, now - AGE_MS)
    this.#receive.end()
    given.length = 0
    if (this.isStalled) return
    this.#tick.begin()
    mix(this.#rooms, slot, now)
    this.#tick.end()
  }

  drain(): void {}
  close(): void {}
}

/**
 * The same with every second leg of a room on another engine thread. Both threads' work is done alternately in this one, and measured separately: that
 * tells how many legs two threads can carry.
 */
export class Spread implements Subject {
  readonly name = 'spread'
  readonly plan: Plan
  readonly #here = new Meter()
  readonly #there = new Meter()
  readonly meters = [
    { of: 'thread of the room', meter: this.#here },
    { of: 'thread of its guests', meter: this.#there },
  ]
  readonly #legs: RtpLeg[]
  readonly #rooms: Room[]
  readonly #annexes: Annex[]
  readonly #packets: Uint8Array[]
  readonly #given: number[] = []

  constructor(plan: Plan, now: number) {
    const { legs, roomSize } = plan
    this.plan = plan
    const out = { sendRtp: () => {}, sendRtcp: () => {} }
    this.#legs = Array.from({ length: legs }, (_, leg) => openLeg(`leg_${leg}`, out, DRY_PORT, false, now))
    this.#packets = this.#legs.map(() => new Uint8Array(0))
    this.#rooms = openRooms(this.#legs, roomSize)
    this.#annexes = this.#rooms.map(room => {
      const annex = new Annex(room.spec)
      for (const [place, leg] of room.legs.entries()) {
        if (place % 2 === 0) continue
        const memory = newLegLink()
        const guest = new GuestLeg(leg.id, '', memory, () => {})
        room.legs[place] = guest
        guest.comeIn(room)
        annex.legs.push(leg)
        annex.link(leg, memory)
      }
      return annex
    })
  }

  give(leg: number, packet: Uint8Array): void {
    if (this.#packets[leg]!.length !== packet.length) this.#packets[leg] = packet.slice()
    else this.#packets[leg]!.set(packet)
    this.#given.push(leg)
  }

  slot(slot: number, now: number): void {
    this.#half(this.#there, 1, this.#annexes, slot, now)
    this.#half(this.#here, 0, this.#rooms, slot, now)
    this.#given.length = 0
  }

  #half(meter: Meter, place: 0 | 1, rooms: readonly Room[], slot: number, now: number): void {
    meter.begin()
    for (const leg of this.#given) {
      if ((leg % this.plan.roomSize) % 2 === place) {
        this.#legs[leg]!.rtp(this.#packets[leg]!, HOST, DRY_PORT, now - AGE_MS)
      }
    }
    mix(rooms, slot, now)
    meter.end()
  }

  drain(): void {}
  close(): void {}
}

/** The same over native sockets. */
export class Native implements Subject {
  readonly name: string
  readonly plan: Plan
  readonly #poll = new Meter()
  readonly #tick = new Meter()
  readonly #send = new Meter()
  readonly meters = [
    { of: 'poll', meter: this.#poll },
    { of: 'tick', meter: this.#tick },
    { of: 'send', meter: this.#send },
  ]
  readonly #datagrams: NativeDatagrams
  readonly #sockets: readonly DatagramSocket[]
  readonly #rooms: Room[]
  readonly #farEnds: FarEnds
  #now = 0

  static async open(name: string, plan: Plan, now: number, calls: CallKind): Promise<Native> {
    const datagrams = new NativeDatagrams(calls)
    const ports = plan.isEncrypted ? ENCRYPTED_PORTS : SOCKET_PORTS[calls]
    const sockets = await bindAll(datagrams, plan.legs, ports.engine)
    return new Native(name, plan, now, ports, datagrams, sockets, await FarEnds.open(plan.legs, ports.far))
  }

  readonly #ports: Ports

  private constructor(
    name: string,
    plan: Plan,
    now: number,
    ports: Ports,
    datagrams: NativeDatagrams,
    sockets: readonly DatagramSocket[],
    farEnds: FarEnds,
  ) {
    const { roomSize, isEncrypted } = plan
    this.name = name
    this.plan = plan
    this.#ports = ports
    this.#datagrams = datagrams
    this.#sockets = sockets
    this.#farEnds = farEnds
    const legs = sockets.map((socket, leg) => {
      const out = { sendRtp: socket.send.bind(socket), sendRtcp: () => {} }
      const opened = openLeg(`leg_${leg}`, out, portOf(ports.far, leg), isEncrypted, now)
      // Arrival times are by the clock of the measurement, which runs faster than the wall clock.
      socket.listen({ rtp: (bytes, host, port) => opened.rtp(bytes, host, port, this.#now - AGE_MS) }, error => {
        throw error
      })
      return opened
    })
    this.#rooms = openRooms(legs, roomSize)
    for (const [leg, socket] of sockets.entries()) socket.follow(slotOf(leg, plan))
  }

  give(leg: number, packet: Uint8Array): void {
    this.#farEnds.send(leg, packet, portOf(this.#ports.engine, leg))
  }

  slot(slot: number, now: number): void {
    this.#now = now
    this.#poll.begin()
    this.#datagrams.poll(slot)
    this.#poll.end()
    this.#tick.begin()
    this.#datagrams.outgoing.isHeld = true
    mix(this.#rooms, slot, now)
    this.#tick.end()
    this.#send.begin()
    this.#datagrams.outgoing.isHeld = false
    this.#datagrams.outgoing.flush()
    this.#send.end()
  }

  drain(): void {
    this.#farEnds.drain()
  }

  close(): void {
    for (const socket of this.#sockets) socket.close()
    this.#farEnds.close()
  }
}

async function bindAll(datagrams: NativeDatagrams, legs: number, first: number): Promise<DatagramSocket[]> {
  const sockets: DatagramSocket[] = []
  for (let leg = 0; leg < legs; leg++) sockets.push(await bind(datagrams, portOf(first, leg)))
  return sockets
}

/** The yardstick, with far ends as `Native` has them. */
export class InC implements Subject {
  readonly name = 'yardstick in C'
  readonly plan: Plan
  readonly #all = new Meter()
  readonly meters = [{ of: 'all', meter: this.#all }]
  readonly #floor: Floor
  readonly #farEnds: FarEnds

  static async open(plan: Plan): Promise<InC> {
    const { legs, roomSize } = plan
    return new InC(plan, new Floor(legs, roomSize, PORTS.floor), await FarEnds.open(legs, PORTS.farOfFloor))
  }

  private constructor(plan: Plan, floor: Floor, farEnds: FarEnds) {
    this.plan = plan
    this.#floor = floor
    this.#farEnds = farEnds
  }

  give(leg: number, packet: Uint8Array): void {
    this.#farEnds.send(leg, packet, portOf(PORTS.floor, leg))
  }

  slot(slot: number): void {
    this.#all.begin()
    this.#floor.slot(slot)
    this.#all.end()
  }

  drain(): void {
    this.#farEnds.drain()
  }

  close(): void {
    this.#floor.close()
    this.#farEnds.close()
  }
}
