import { NARROWBAND_HZ } from '../../codecs/audio.ts'
import { JOIN_CHIME, LEAVE_CHIME, renderTone, type TonePlan } from '../../codecs/tones.ts'
import { RtpLeg } from '../legs/rtp-leg.ts'
import {
  type CaptureState,
  type EndedReason,
  type EventName,
  type Events,
  type Failure,
  isFailure,
  type LegSound,
  type PaymentPause,
  type Request,
  type RoomSpec,
  type Target,
} from '../protocol.ts'
import { Annex } from '../rooms/annex.ts'
import { Captures } from '../rooms/captures.ts'
import { GuestLeg } from '../rooms/guest-leg.ts'
import { LEG_SAMPLES, type Leg } from '../rooms/leg.ts'
import { Room, type RoomPause } from '../rooms/room.ts'
import type { Words } from '../speech/hearing/hearing.ts'
import type { SpeechOwner } from '../speech/speech-engines.ts'
import type { EngineClock } from './clock.ts'
import type { EngineHandlers, LinkSpec } from './engine-protocol.ts'
import type { Faults } from './faults.ts'
import type { Members, Seated } from './member.ts'
import { type Clip, Player } from './player.ts'
import type { Prompts } from './prompts.ts'
import { RoomSlots } from './room-slots.ts'
import { SaidWords } from './said-words.ts'
import type { Sinks } from './sinks.ts'
import type { Sounds } from './sounds.ts'
import { Spans, type ThreadPlace } from './threads/spans.ts'

interface RoomsOptions {
  prompts: Prompts
  place: ThreadPlace
  clock: EngineClock
  members: Members
  /** The sinks. */
  sinks: () => Sinks
  /** Monotonic [ms]. */
  now: () => number
  emit: <N extends EventName>(name: N, body: Events[N]) => void
  /** Reports who enters and leaves a party's own room. Control does not need that, since it is no conference. */
  emitOwn: RoomsOptions['emit']
  /** An exception in a room's tick, while these legs were being served. */
  broke: (legIds: readonly string[], error: unknown) => void
  faults: Faults
  sounds: Sounds
  /** The time of a payment line is over. */
  end: (legId: string, reason: EndedReason) => void
  /** What the product has said in a room, for transcripts on the threads of its guests. */
  told: (room: Room, words: Words) => void
  /** Switches immediate delivery of packets on or off. */
  attend?: (isOn: boolean) => void
  /** Audio processing of everybody in a room, for the threads of its guests. */
  crossSound: (room: Room, sound: LegSound) => void
}

type Ok = Record<string, never>

/**
 * The rooms of an engine thread, each mixed in a slot of the clock. The first member opens a room, the last one closes it.
 * Card-payment pauses are decided here.
 */
export class Rooms {
  readonly commands = {
    'room.play': async request => await this.#play(request),
    'capture.pause': request => this.#pause(request),
    'capture.direct': request => this.#captures.direct(request),
    'capture.resume': request => this.#captures.resume(request),
  } satisfies Partial<EngineHandlers>
  readonly #options: RoomsOptions
  readonly #rooms = new Map<string, Room>()
  /** The local parts of rooms on other threads. */
  readonly #annexes = new Map<string, Annex>()
  readonly #spans: Spans
  /** Rooms for legs that are followed into rooms of other threads: nobody hears them there, except the sinks. */
  readonly #shadows = new Set<Room>()
  /** What is said to everybody in each room. */
  readonly #words = new Map<Room, SaidWords>()
  /** When each was opened, by the engine's clock [ms]. */
  readonly #openedMs = new Map<string, number>()
  readonly #slots = new RoomSlots()
  /** Number of rooms in pass-through mode. */
  #passing = 0
  readonly #captures = new Captures(
    change => this.#captureChanged(change),
    legId => this.#paymentExpired(legId),
  )

  constructor(options: RoomsOptions) {
    this.#options = options
    this.#spans = new Spans(options.place, options.now)
  }

  get size(): number {
    return this.#rooms.size
  }

  get(roomId: string): Room | undefined {
    return this.#rooms.get(roomId)
  }

  all(): IterableIterator<Room> {
    return this.#rooms.values()
  }

  /** A 20 ms frame for each room of this slot. `now` is the slot's deadline [ms]. */
  tick(slot: number, now: number): void {
    for (const place of this.#slots.bySlot[slot]!) {
      const { room } = place
      if (now < place.dueAt) continue
      this.#mix(room, now)
      if (now >= place.lookAt || room.legs.length !== place.members) this.#slots.look(slot, place, now)
    }
    if (now >= this.#captures.dueAt) this.#options.faults.allOf(() => this.#captures.advance(now))
  }

  #mix(room: Room, now: number): void {
    try {
      if (room.isSpread) this.refresh(room)
      room.tick(now)
    } catch (error) {
      // The leg that was being served; an exception outside of any leg ends all of them.
      const guilty = room.turn === null ? room.legs : [room.turn]
      room.turn = null
      this.#options.broke(
        guilty.map(({ id }) => id),
        error,
      )
    }
  }

  enter(member: Seated, spec: RoomSpec): void {
    const room = this.#rooms.get(spec.roomId) ?? this.#open(spec)
    room.becomes(spec.kind)
    this.#sitDown(member, room, spec)
    this.#toldOf(spec)('leg.joined', { legId: member.leg.id, roomId: spec.roomId, muted: member.leg.muted })
    if (room.spec.chimes) room.announce(playerOf([CHIMES.join], false))
  }

  #sitDown(member: Seated, room: Room, spec: RoomSpec): void {
    const { leg } = member
    for (const { id } of room.legs) this.#options.members.get(id)?.dialogue.accompany()
    room.legs.push(leg)
    this.#slots.follow(room)
    leg.hearsRoom = false
    member.room = room
    if (leg instanceof GuestLeg) leg.comeIn(room)
    if (!this.#shadows.has(room)) this.#brings(member, room, spec.sound)
    this.#options.sinks().enter(member, room)
    this.#syncPause(room)
  }

  /** A member's setting for the audio of everybody, if there is none before, also applies on the threads of guests. */
  #brings(member: Seated, room: Room, sound: LegSound | undefined): void {
    const before = room.sound
    this.#options.sounds.moved(member, sound)
    if (room.sound !== before && room.sound !== null) this.#options.crossSound(room, room.sound)
  }

  #open(spec: RoomSpec): Room {
    const room = new Room(spec)
    const told = (words: Words): void => this.#options.told(room, words)
    this.#words.set(room, new SaidWords(this.#options.now, told))
    this.#rooms.set(spec.roomId, room)
    this.#openedMs.set(spec.roomId, this.#options.now())
    room.passing = isOn => this.#passes(room, isOn)
    this.#schedule(room)
    if (spec.musicWhenAlone) void this.#loadMusic(room)
    // Its capture begins with the first sample. What fails here is reported when it is requested again.
    if (spec.capture !== undefined) this.#options.sinks().begin(spec.roomId, spec.capture, 'room')
    this.#toldOf(spec)('room.opened', { roomId: spec.roomId })
    return room
  }

  #toldOf({ kind }: RoomSpec): RoomsOptions['emit'] {
    return kind === 'conference' ? this.#options.emit : this.#options.emitOwn
  }

  #passes(room: Room, isOn: boolean): void {
    this.#slots.follow(room)
    this.#passing += isOn ? 1 : -1
    if (this.#passing === (isOn ? 1 : 0)) this.#options.attend?.(isOn)
  }

  #schedule(room: Room): void {
    this.#slots.add(room, this.#options.now())
    this.#options.clock.start()
  }

  #unschedule(room: Room): void {
    this.#slots.remove(room)
    if (this.#slots.isEmpty) this.#options.clock.stop()
  }

  async #loadMusic(room: Room): Promise<void> {
    const music = await this.#options.prompts.loadAll([{ kind: 'music' }])
    if (!('error' in music)) room.music = playerOf(music, true)
  }

  /** Idempotent. */
  leave(member: Seated): void {
    const { leg, room } = member
    if (room === null) return
    this.#options.sinks().leave(member)
    room.legs.splice(room.legs.indexOf(leg), 1)
    if (room.pause !== null) leg.paused(this.#options.now())
    leg.follow(null)
    member.room = null
    if (leg instanceof GuestLeg) leg.goOut()
    this.#options.sounds.moved(member)
    if (room instanceof Annex) {
      this.#leaveAnnex(room, leg)
      return
    }
    if (this.#shadows.delete(room)) {
      room.close()
      this.#unschedule(room)
      return
    }
    this.#toldOf(room.spec)('leg.left', { legId: leg.id, roomId: room.spec.roomId })
    room.left(leg)
    if (room.legs.length === 0) {
      this.#closeIfEmpty(room, leg)
      return
    }
    this.#syncPause(room)
    if (room.spec.chimes) room.announce(playerOf([CHIMES.leave], false))
  }

  /** A room that somebody is about to enter stays open. */
  #closeIfEmpty(room: Room, last?: Leg): void {
    if (room.legs.length === 0 && this.#spans.placesIn(room.spec.roomId) === 0) this.#close(room, last)
  }

  #close(room: Room, last?: Leg): void {
    const { roomId } = room.spec
    this.#rooms.delete(roomId)
    this.#spans.close(room)
    this.#captures.drop({ roomId })
    this.#options.sinks().roomClosed(roomId)
    room.close()
    this.#words.delete(room)
    this.#unschedule(room)
    const durationMs = Math.round(this.#options.now() - (this.#openedMs.get(roomId) ?? 0))
    this.#openedMs.delete(roomId)
    const figures =
      last === undefined || last instanceof GuestLeg ? {} : { last: { legId: last.id, quality: last.quality } }
    this.#toldOf(room.spec)('room.closed', { roomId, durationMs, ...figures })
  }

  // ------------------------------------------------------------------ rooms whose members are on several threads

  /** Reserves a place for a leg of another thread, and keeps the room open. */
  reserve(legId: string, spec: RoomSpec, mustExist: boolean): Omit<LinkSpec, 'memory'> | Failure {
    const { roomId } = spec
    const room = this.#rooms.get(roomId)
    if (mustExist && room === undefined) return { failure: 'not_found', message: `no room ${roomId}` }
    if (this.isFull(legId, spec)) return { failure: 'capacity', message: `room ${roomId} is full` }
    const sound = room?.sound ?? spec.sound ?? null
    return { board: this.#spans.reserve(legId, roomId, room), isOpen: room !== undefined, sound }
  }

  /** For a leg without a reserved place. What it comes with names the limit, which may have changed since the room was opened. */
  isFull(legId: string, { roomId, maxMembers }: RoomSpec): boolean {
    const room = this.#rooms.get(roomId)
    if (room === undefined || this.#spans.isKept(legId)) return false
    return room.legs.length + this.#spans.placesIn(roomId) >= maxMembers
  }

  /** The reservation is void: nobody comes, or the leg is of this thread after all. */
  giveUp(legId: string): void {
    const room = this.#rooms.get(this.#spans.giveUp(legId) ?? '')
    if (room !== undefined) this.#closeIfEmpty(room)
  }

  /** Whether a leg of another thread has a reserved place. */
  keepsPlaceOf(legId: string): boolean {
    return this.#spans.isKept(legId)
  }

  /** A leg of another thread takes its reserved place. */
  seat(guest: Seated, spec: RoomSpec): void {
    const room = this.#rooms.get(spec.roomId) ?? this.#open(spec)
    this.#spans.take(guest.leg.id, room)
    this.enter(guest, spec)
  }

  /** A leg of this thread enters a room of another one. */
  lend(member: Seated, spec: RoomSpec, link: LinkSpec): void {
    const annex = this.#annexes.get(spec.roomId) ?? this.#openAnnex(spec, link.board)
    annex.link(member.leg, link.memory)
    this.#sitDown(member, annex, link.sound === null ? spec : { ...spec, sound: link.sound })
  }

  #openAnnex(spec: RoomSpec, board: SharedArrayBuffer): Annex {
    const annex = new Annex(spec)
    this.#annexes.set(spec.roomId, annex)
    this.#spans.join(annex, board)
    this.#schedule(annex)
    return annex
  }

  /** Follows a leg of another thread that is in a room of another one. */
  follow(guest: Seated, spec: RoomSpec): void {
    const shadow = new Room(spec)
    this.#shadows.add(shadow)
    this.#schedule(shadow)
    this.#sitDown(guest, shadow, spec)
  }

  /** Applies the pause of the leg's current room. */
  followPause({ room }: Seated, pause: RoomPause | null): void {
    if (room === null || !this.#shadows.has(room)) return
    room.pause = pause
    this.#options.sinks().pauseChanged(room)
  }

  #leaveAnnex(annex: Annex, leg: Leg): void {
    annex.unlink(leg)
    this.#syncPause(annex)
    if (annex.legs.length > 0) return
    this.#annexes.delete(annex.spec.roomId)
    this.#spans.close(annex)
    annex.close()
    this.#unschedule(annex)
  }

  /** Pauses that another thread had set are over: so are the calls of its legs. */
  threadDied(thread: number): Ok {
    this.#spans.threadDied(thread, this.#rooms.values())
    return {}
  }

  /** Reads what other threads have set about pauses, before anything is heard, captured or pressed. */
  refresh(room: Room): void {
    if (this.#spans.isDue(room)) this.#syncPause(room)
  }

  /** Whose turn speech synthesis for a room uses. */
  #ownerIn(room: Room | undefined): SpeechOwner | undefined {
    const first = room?.legs[0]
    if (room === undefined || first === undefined) return undefined
    if (!(first instanceof GuestLeg)) return this.#options.members.get(first.id)?.owner()
    return { legId: first.id, callId: room.spec.roomId, affinity: first.affinity }
  }

  /** Plays to everybody in a room. */
  async #play({ roomId, sources, loop }: Request<'room.play'>): Promise<Ok | Failure> {
    const loaded = await this.#options.prompts.loadAll(sources, this.#ownerIn(this.#rooms.get(roomId)))
    if ('error' in loaded) return { failure: 'invalid', message: loaded.error }
    const room = this.#rooms.get(roomId)
    if (room === undefined) return { failure: 'not_found', message: `no room ${roomId}` }
    room.announce(new Player(loaded, { loop, frameSamples: LEG_SAMPLES, watcher: this.#words.get(room)! }))
    return {}
  }

  // ------------------------------------------------------------------ card-payment pauses

  #pause(request: Request<'capture.pause'>): CaptureState | Failure {
    const { target } = request
    const isHere = 'legId' in target ? this.#options.members.has(target.legId) : this.#rooms.has(target.roomId)
    if (!isHere) return { failure: 'not_found', message: 'the call is not here' }
    return this.#captures.pause(request, this.#options.now(), Date.now())
  }

  /** Pauses for a payment line that is about to be heard; the pause moves with it. Null: it is on, by this or an earlier command. */
  pauseFor(legId: string, payment: PaymentPause): Failure | null {
    const request = { ...payment, target: { legId }, destinationLegId: legId }
    const paused = this.#captures.pause(request, this.#options.now(), Date.now(), true)
    return isFailure(paused) && paused.failure !== 'conflict' ? paused : null
  }

  /** The leg has gone, and its pause with it. */
  unpause(legId: string): void {
    this.#captures.drop({ legId })
  }

  captures(): { target: Target; state: CaptureState }[] {
    return this.#captures.list()
  }

  /** The pause of a payment connection has expired: first the two are separated, then the pause ends, then the line is told. */
  #paymentExpired(legId: string): void {
    const member = this.#options.members.get(legId)
    if (member === undefined) return
    this.leave(member)
    this.#options.end(legId, 'max_duration')
  }

  #captureChanged(change: Events['capture.changed']): void {
    for (const room of this.#rooms.values()) this.#syncPause(room)
    for (const annex of this.#annexes.values()) this.#syncPause(annex)
    this.#options.emit('capture.changed', change)
  }

  #syncPause(room: Room): void {
    const own = this.#captures.over(
      room.spec.roomId,
      room.legs.map(leg => leg.id),
    )
    const wasPaused = room.pause !== null
    room.pause = this.#spans.pauseOf(room, own)
    this.#options.sinks().pauseChanged(room)
    const isPaused = room.pause !== null
    this.#words.get(room)?.pause(isPaused)
    for (const leg of room.legs) {
      if (isPaused || wasPaused) leg.paused(this.#options.now())
      // Nothing passes that we cannot read.
      if (isPaused && leg instanceof RtpLeg) leg.leaveFax()
      this.#options.members.get(leg.id)?.dialogue.paused(isPaused)
    }
  }
}

/** A player of whole clips, one frame of a leg at a time. */
export const playerOf = (clips: readonly Clip[], loop: boolean): Player =>
  new Player(clips, { loop, frameSamples: LEG_SAMPLES })

const clipOf = (plan: TonePlan): Clip => {
  const samples = renderTone(plan, NARROWBAND_HZ)
  return { samples, length: samples.length }
}
const CHIMES = { join: clipOf(JOIN_CHIME), leave: clipOf(LEAVE_CHIME) }
