import type { Failure, LegFigures, MediaEvent, RoomSpec } from '../../protocol.ts'
import { isFailure, isUndecided } from '../../protocol.ts'
import { newLegLink } from '../../rooms/leg-link.ts'
import type {
  CrossMessage,
  EngineCommandName,
  EngineCommands,
  EngineLeg,
  LeftBehind,
  LinkSpec,
} from '../engine-protocol.ts'

/** A command to a thread; its reply is returned to the steps. */
interface Asked {
  thread: number
  name: EngineCommandName
  body: unknown
  /** Absent: as for any command. */
  deadlineMs?: number
}

/** A leg's end is not told later than this because another thread is slow [ms]. */
const FIGURES_MS = 500

/** A leg that has begun. */
interface Begun {
  home: number
  affinity: string
}

type Reply = object
/** Commands to threads, one after the other. */
export type Steps = Generator<Asked, Reply, Reply>
type Open = EngineCommands['leg.open']['request']
type Move = EngineCommands['leg.move']['request']
type Connect = EngineCommands['leg.connect']['request']
type Opened = EngineCommands['leg.open']['reply']
type Place = EngineCommands['leg.place']['reply']

/** A leg that other threads know as well. */
interface Traveller {
  /** The room on another thread that it is in; null: none. */
  seat: { thread: number; roomId: string } | null
  /** Its own thread may have sent it to a room where it has no place. */
  isAstray: boolean
  /** The threads where it was a guest and that still listen to it. */
  followers: Set<number>
  /** All threads where it was a guest. */
  visited: Set<number>
}

/**
 * Brings legs into rooms of other engine threads, on the main thread. A leg stays with its sockets and is a guest in the room; its audio
 * crosses by shared memory. The order of steps keeps the order of events: a leg is reported to have left one room before it has entered the
 * other, and a room closes after its last member has left.
 */
export class Crossings {
  readonly #homes = new Map<string, Begun>()
  readonly #legs = new Map<string, Traveller>()
  /** The threads of open rooms. */
  readonly #rooms = new Map<string, number>()
  /** The threads of rooms that legs have been told to enter, and how many. */
  readonly #entering = new Map<string, { thread: number; count: number }>()

  /** Sees the events of a thread on their way to control. */
  note(event: MediaEvent, thread: number): void {
    if (event.name === 'room.opened') this.#rooms.set(event.body.roomId, thread)
    else if (event.name === 'room.closed' && this.#rooms.get(event.body.roomId) === thread)
      this.#rooms.delete(event.body.roomId)
  }

  /** The leg's own thread; undefined: it has not begun, or has ended. */
  homeOf(legId: string): number | undefined {
    return this.#homes.get(legId)?.home
  }

  legsOn(thread: number): number {
    let legs = 0
    for (const { home } of this.#homes.values()) if (home === thread) legs++
    return legs
  }

  /** The thread on which a room is, or is being opened. */
  threadOfRoom(roomId: string): number | undefined {
    return this.#rooms.get(roomId) ?? this.#entering.get(roomId)?.thread
  }

  /** A thread has died, and with it its rooms. @returns its legs, and those of other threads that were in its rooms */
  lost(thread: number): string[] {
    for (const [roomId, at] of this.#rooms) if (at === thread) this.#rooms.delete(roomId)
    const legIds = new Set<string>()
    for (const [legId, { home }] of this.#homes) if (home === thread) legIds.add(legId)
    for (const [legId, traveller] of this.#legs) {
      traveller.followers.delete(thread)
      traveller.visited.delete(thread)
      if (traveller.seat?.thread !== thread) continue
      traveller.seat = null
      legIds.add(legId)
    }
    return [...legIds]
  }

  /** Whether a command concerns more threads than the leg's own, or may when it is carried out. */
  concerns(home: number, name: EngineCommandName, body: object): boolean {
    const legId = 'legId' in body ? (body.legId as string) : undefined
    if (legId === undefined) return false
    if (name === 'leg.fax_partner' || name === 'leg.fax' || name === 'leg.close') return true
    if (this.#legs.has(legId)) return name === 'leg.move' || name === 'leg.connect' || name === 'leg.update'
    const roomId = roomEntered(name, body)
    const thread = roomId === undefined ? undefined : this.threadOfRoom(roomId)
    return thread !== undefined && thread !== home
  }

  /** Notes the start of a command that the leg's own thread carries out alone. @returns to be called at its end */
  begins(home: number, name: EngineCommandName, body: object): (() => void) | null {
    if (name === 'leg.open' || name === 'leg.open_browser') this.#opens(home, body as Open)
    const roomId = roomEntered(name, body)
    return roomId === undefined ? null : this.#enters(roomId, home)
  }

  #opens(home: number, { legId, affinity }: Open): void {
    this.#homes.set(legId, { home, affinity })
  }

  #enters(roomId: string, thread: number): () => void {
    const entering = this.#entering.get(roomId) ?? { thread, count: 0 }
    this.#entering.set(roomId, entering)
    entering.count++
    return () => {
      if (--entering.count === 0) this.#entering.delete(roomId)
    }
  }

  /** The steps of a command that `concerns` more threads. */
  steps(home: number, name: EngineCommandName, body: object): Steps {
    if (name === 'leg.open') return this.#open(home, body as Open)
    if (name === 'leg.move') return this.#move(home, body as Move)
    if (name === 'leg.connect') return this.#connect(home, body as Connect)
    if (name === 'leg.close') return this.#close(home, body as { legId: string })
    if (name === 'leg.fax_partner') return this.#faxPartner(home, body as { legId: string })
    if (name === 'leg.fax') return this.#fax(home, body as EngineCommands['leg.fax']['request'])
    return this.#update(home, body as EngineCommands['leg.update']['request'])
  }

  // ------------------------------------------------------------------ into a room

  /** Opens a leg without a room, which then enters the room on another thread. */
  *#open(home: number, { begin, ...request }: Open): Steps {
    this.#opens(home, request)
    if (begin === undefined) return yield ask(home, 'leg.open', request)
    const opened = yield ask(home, 'leg.open', { ...request, begin: { ...begin, enter: null } })
    if (isFailure(opened) || isFailure((opened as Opened).begun ?? {})) return opened
    const begun = yield* this.#connect(home, { legId: request.legId, media: null, enter: begin.enter, answers: true })
    return { ...opened, begun }
  }

  *#move(home: number, request: Move): Steps {
    const { legId, room } = request
    const from = this.#legs.get(legId)?.seat ?? null
    const to = this.threadOfRoom(room.roomId) ?? home
    if (from?.roomId === room.roomId && from.thread === to) return yield ask(home, 'leg.move', request)
    const before = yield ask(home, 'leg.place', { legId })
    if (isFailure(before)) return before
    const moved = yield* this.#cross(home, request, from, to)
    if (isFailure(moved) && this.#legs.get(legId)?.isAstray === true)
      yield* this.#bringBack(home, legId, before as Place)
    return moved
  }

  /** Where nobody knows whether it has its place, it would neither hear nor be heard: it goes back to where it was. */
  *#bringBack(home: number, legId: string, { room, muted, heardBy, hears }: Place): Generator<Asked, void, Reply> {
    this.#legs.get(legId)!.isAstray = false
    if (room === null) return
    const { capture: _, ...bare } = room
    // Nobody hears it before it is known who may.
    const entersMuted = heardBy === null ? muted : true
    const request = { legId, room: bare, mustExist: false, muted: entersMuted }
    const moved = yield* this.#cross(home, request, null, this.threadOfRoom(room.roomId) ?? home)
    if (!isFailure(moved)) yield* this.#update(home, { legId, ...(entersMuted !== muted && { muted }), heardBy, hears })
  }

  *#cross(home: number, request: Move, from: Traveller['seat'], to: number): Steps {
    const { legId, room, mustExist } = request
    const left = this.#enters(room.roomId, to)
    try {
      const kept = yield* this.#reserve(to, { legId, room, mustExist })
      if (isFailure(kept)) return kept
      if (from !== null) {
        yield* this.#hush(home, legId)
        yield* this.#unseat(legId)
      }
      const link = to === home ? undefined : { memory: newLegLink(), ...kept }
      const moved = yield ask(home, 'leg.move', link === undefined ? request : { ...request, link })
      // From now on its own thread has its place, or it has none.
      if (link === undefined || isFailure(moved)) yield* this.#giveUp(to, legId)
      if (isFailure(moved)) {
        // It may still be carried out.
        if (isUndecided(moved)) this.#traveller(legId).isAstray = true
        return moved
      }
      if (link !== undefined) {
        const seated = yield* this.#seat(home, to, { legId, room, link, muted: (moved as EngineLeg).muted })
        if (isFailure(seated)) return seated
      }
      yield* this.#beFollowed(home, legId, room, to)
      return moved
    } finally {
      left()
    }
  }

  *#connect(home: number, request: Connect): Steps {
    const { legId, enter: room, early } = request
    const to = room === null ? home : (this.threadOfRoom(room.roomId) ?? home)
    if (room === null || to === home || this.#legs.get(legId)?.seat != null)
      return yield ask(home, 'leg.connect', request)
    const left = this.#enters(room.roomId, to)
    try {
      const kept = yield* this.#reserve(to, { legId, room, mustExist: false })
      if (isFailure(kept)) return kept
      const link = { memory: newLegLink(), ...kept }
      const connected = yield ask(home, 'leg.connect', { ...request, link })
      // It may be in a room of its own thread.
      const isThere = !isFailure(connected) && (connected as { roomId: string | null }).roomId === room.roomId
      if (!isThere) {
        yield* this.#giveUp(to, legId)
        return connected
      }
      const { capture: _, ...bare } = room
      const seated = yield* this.#seat(home, to, {
        ...{ legId, link, muted: false },
        room: early === undefined ? room : bare,
      })
      return isFailure(seated) ? seated : connected
    } finally {
      left()
    }
  }

  /** What it has heard of a text when it leaves is written down by a thread that still knows it. */
  *#hush(home: number, legId: string): Generator<Asked, void, Reply> {
    yield ask(home, 'leg.stop_play', { legId })
  }

  *#reserve(
    thread: number,
    body: EngineCommands['room.reserve']['request'],
  ): Generator<Asked, Omit<LinkSpec, 'memory'> | Failure, Reply> {
    const kept = yield ask(thread, 'room.reserve', body)
    if (isUndecided(kept)) yield* this.#giveUp(thread, body.legId)
    return kept as Omit<LinkSpec, 'memory'> | Failure
  }

  *#giveUp(thread: number, legId: string): Generator<Asked, void, Reply> {
    yield ask(thread, 'room.unseat', { legId, hasEnded: false })
  }

  *#seat(
    home: number,
    thread: number,
    { legId, room, link, muted }: { legId: string; room: RoomSpec; link: LinkSpec; muted: boolean },
  ): Steps {
    const traveller = this.#traveller(legId)
    traveller.seat = { thread, roomId: room.roomId }
    traveller.visited.add(thread)
    if (traveller.followers.delete(thread)) yield ask(home, 'leg.follow', { legId, link: null, thread })
    const { affinity = '' } = this.#homes.get(legId) ?? {}
    const seated = yield ask(thread, 'room.seat', { legId, room, link: link.memory, affinity, muted })
    if (isFailure(seated)) {
      // What comes late is undone by it, as a thread keeps the order of its commands.
      yield* this.#unseat(legId)
      traveller.isAstray = true
    }
    return seated
  }

  #traveller(legId: string): Traveller {
    const traveller = this.#legs.get(legId) ?? {
      ...{ seat: null, isAstray: false },
      ...{ followers: new Set<number>(), visited: new Set<number>() },
    }
    this.#legs.set(legId, traveller)
    return traveller
  }

  *#unseat(legId: string): Generator<Asked, void, Reply> {
    const traveller = this.#legs.get(legId)
    if (traveller?.seat == null) return
    const { thread } = traveller.seat
    traveller.seat = null
    const reply = yield ask(thread, 'room.unseat', { legId, hasEnded: false })
    if (!isFailure(reply) && (reply as { follows: boolean }).follows) traveller.followers.add(thread)
  }

  /** Sinks that began on other threads continue to listen. @param at the thread of its room, which hears it anyway */
  *#beFollowed(
    home: number,
    legId: string,
    { capture: _, ...room }: RoomSpec,
    at: number,
  ): Generator<Asked, void, Reply> {
    for (const thread of this.#legs.get(legId)?.followers ?? []) {
      if (thread === at) continue
      const link = newLegLink()
      yield ask(home, 'leg.follow', { legId, link, thread })
      yield ask(thread, 'room.follow', { legId, room, link })
    }
  }

  // ------------------------------------------------------------------ in the middle and at the end

  /** The thread of its room first: a leg that must not be heard is silent from the reply on. */
  *#update(home: number, request: EngineCommands['leg.update']['request']): Steps {
    const { legId, heardBy, hears } = request
    const thread = this.#legs.get(legId)?.seat?.thread
    if (thread !== undefined && (heardBy !== undefined || hears !== undefined)) {
      const told = yield ask(thread, 'room.hears', { legId, heardBy, hears })
      if (isFailure(told)) return told
    }
    return yield ask(home, 'leg.update', request)
  }

  /** Its room knows who is in it, and each of the two whether it may. */
  *#faxPartner(home: number, { legId }: { legId: string }): Generator<Asked, { legId: string } | Failure, Reply> {
    const seat = this.#legs.get(legId)?.seat
    const found = yield seat == null
      ? ask(home, 'leg.fax_partner', { legId })
      : ask(seat.thread, 'room.fax_partner', { roomId: seat.roomId, legId })
    if (isFailure(found)) return found
    const partner = found as { legId: string }
    for (const id of [legId, partner.legId]) {
      const may = yield ask(this.homeOf(id) ?? home, 'leg.may_fax', { legId: id })
      if (isFailure(may)) return may
    }
    return partner
  }

  *#fax(home: number, request: EngineCommands['leg.fax']['request']): Steps {
    const { legId, remote, partnerId, partnerRemote, sockets } = request
    const found = yield* this.#faxPartner(home, { legId })
    if (isFailure(found)) return found
    const partnerHome = this.homeOf(partnerId)
    if (found.legId !== partnerId || partnerHome === undefined) return OTHERS
    if (partnerHome === home) return yield ask(home, 'leg.fax', request)
    if (sockets === null) return OTHER_FAMILY
    const half = yield ask(home, 'leg.fax_half', { legId, remote, relay: sockets.partner })
    if (isFailure(half)) return half
    return yield ask(partnerHome, 'leg.fax_half', { legId: partnerId, remote: partnerRemote, relay: sockets.own })
  }

  *#close(home: number, request: { legId: string }): Steps {
    const { legId } = request
    const { seat = null, visited = new Set<number>() } = this.#legs.get(legId) ?? {}
    let left: LeftBehind = {}
    if (visited.size > 0) yield* this.#hush(home, legId)
    for (const thread of visited) {
      const reply = yield ask(thread, 'room.unseat', { legId, hasEnded: true })
      if (thread === seat?.thread && !isFailure(reply)) left = reply
    }
    this.#legs.delete(legId)
    this.#homes.delete(legId)
    const closed = yield ask(home, 'leg.close', request)
    if (isFailure(closed)) return closed
    const others = yield* this.#figuresOf(seat === null ? closed : left)
    return { ...closed, ...(others.length > 0 && { others }) }
  }

  /** Each thread has the figures of its own legs. */
  *#figuresOf({ others = [], guests = [] }: LeftBehind): Generator<Asked, LegFigures[], Reply> {
    const figures = [...others]
    for (const legId of guests) {
      const thread = this.homeOf(legId)
      const read =
        thread === undefined ? undefined : yield { ...ask(thread, 'leg.read', { legId }), deadlineMs: FIGURES_MS }
      if (read !== undefined && !isFailure(read)) figures.push({ legId, quality: (read as EngineLeg).quality })
    }
    return figures
  }

  // ------------------------------------------------------------------ what threads tell each other

  /** The target threads of a message, with the part for each. */
  *ways(message: CrossMessage): Generator<[number, CrossMessage]> {
    if ('legIds' in message) {
      const homes = new Map<number, string[]>()
      for (const legId of message.legIds) {
        const home = this.homeOf(legId)
        if (home !== undefined) homes.set(home, [...(homes.get(home) ?? []), legId])
      }
      for (const [thread, legIds] of homes) yield [thread, { ...message, legIds }]
      return
    }
    const thread = this.#wayOf(message)
    if (thread !== undefined) yield [thread, message]
  }

  #wayOf(message: Exclude<CrossMessage, { legIds: string[] }>): number | undefined {
    switch (message.kind) {
      case 'key':
      case 'begin':
        return this.#legs.get(message.legId)?.seat?.thread
      case 'written':
      case 'paused':
        return message.thread
      default:
        return this.homeOf(message.legId)
    }
  }
}

const OTHERS: Failure = { failure: 'conflict', message: 'the other party is another one by now' }
const OTHER_FAMILY: Failure = {
  failure: 'conflict',
  message: 'the other party has another address family, on another thread',
}

const ask = <N extends EngineCommandName>(thread: number, name: N, body: EngineCommands[N]['request']): Asked => ({
  thread,
  name,
  body,
})

/** The room that a leg enters by a command, on the thread that carries it out. */
function roomEntered(name: EngineCommandName, body: object): string | undefined {
  if (name === 'leg.open') return (body as Open).begin?.enter?.roomId
  if (name === 'leg.connect') return (body as Connect).enter?.roomId
  return name === 'leg.move' ? (body as Move).room.roomId : undefined
}
