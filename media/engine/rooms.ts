import { NARROWBAND_HZ } from '../../codecs/audio.ts'
import { JOIN_CHIME, LEAVE_CHIME, renderTone, type TonePlan } from '../../codecs/tones.ts'
import type { EventName, Events, Failure, PlaySource, RoomSpec } from '../protocol.ts'
import type { Words } from '../speech/hearing/hearing.ts'
import type { SpeechOwner } from '../speech/speech-engines.ts'
import { type EngineClock, SLOTS } from './clock.ts'
import { LEG_SAMPLES, type Leg } from './leg.ts'
import { type Clip, Player } from './player.ts'
import type { Prompts } from './prompts.ts'
import { Room } from './room.ts'
import { SaidWords } from './said-words.ts'

/** Who can be in a room. */
export interface Occupant {
  readonly leg: Leg
  room: Room | null
}

export interface RoomsOptions<Member extends Occupant> {
  prompts: Prompts
  clock: EngineClock
  /** Monotonic [ms]. */
  now: () => number
  emit: <N extends EventName>(name: N, body: Events[N]) => void
  /** The first is about to enter. */
  opened: (room: Room) => void
  /** The member is in its room; nobody has been told yet. */
  entered: (member: Member, room: Room) => void
  /** The member is about to leave its room. */
  leaving: (member: Member) => void
  /** Who is in the room has changed, and somebody still is. */
  changed: (room: Room) => void
  /** The last has left. */
  closed: (roomId: string) => void
  /** What was said to all who are in it. */
  told: (room: Room, words: Words) => void
}

/** The rooms of an engine thread, and the slot of the clock that each is mixed in: opened by the first who enters, gone with the last. */
export class Rooms<Member extends Occupant> {
  readonly #options: RoomsOptions<Member>
  readonly #rooms = new Map<string, Room>()
  /** When each was opened, on the engine's clock [ms]. */
  readonly #openedMs = new Map<string, number>()
  readonly #slots: Room[][] = Array.from({ length: SLOTS }, () => [])

  constructor(options: RoomsOptions<Member>) {
    this.#options = options
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

  /** The rooms of one slot, which may open and close while the caller goes through them. */
  inSlot(slot: number): Room[] {
    return this.#slots[slot]!.slice()
  }

  enter(member: Member, spec: RoomSpec): void {
    const room = this.#rooms.get(spec.roomId) ?? this.#open(spec)
    const { leg } = member
    room.legs.push(leg)
    member.room = room
    this.#options.entered(member, room)
    this.#options.changed(room)
    this.#options.emit('leg.joined', { legId: leg.id, roomId: spec.roomId, muted: leg.muted })
    if (spec.chimes) room.announce(playerOf([CHIMES.join], false))
  }

  #open(spec: RoomSpec): Room {
    const room = new Room(spec)
    room.words = new SaidWords(this.#options.now, words => this.#options.told(room, words))
    this.#rooms.set(spec.roomId, room)
    this.#openedMs.set(spec.roomId, this.#options.now())
    this.#slots.reduce((least, slot) => (slot.length < least.length ? slot : least)).push(room)
    if (spec.musicWhenAlone) void this.#loadMusic(room)
    this.#options.opened(room)
    this.#options.clock.start()
    this.#options.emit('room.opened', { roomId: spec.roomId })
    return room
  }

  async #loadMusic(room: Room): Promise<void> {
    const music = await this.#options.prompts.loadAll([{ kind: 'music' }])
    if (!('error' in music)) room.music = playerOf(music, true)
  }

  /** Idempotent. */
  leave(member: Member): void {
    const { leg, room } = member
    if (room === null) return
    this.#options.leaving(member)
    room.legs.splice(room.legs.indexOf(leg), 1)
    member.room = null
    this.#options.emit('leg.left', { legId: leg.id, roomId: room.spec.roomId })
    if (room.legs.length === 0) {
      this.#close(room)
      return
    }
    this.#options.changed(room)
    if (room.spec.chimes) room.announce(playerOf([CHIMES.leave], false))
  }

  #close(room: Room): void {
    const { roomId } = room.spec
    this.#rooms.delete(roomId)
    for (const slot of this.#slots) if (slot.includes(room)) slot.splice(slot.indexOf(room), 1)
    this.#options.closed(roomId)
    room.close()
    if (this.#rooms.size === 0) this.#options.clock.stop()
    const durationMs = Math.round(this.#options.now() - (this.#openedMs.get(roomId) ?? 0))
    this.#openedMs.delete(roomId)
    this.#options.emit('room.closed', { roomId, durationMs })
  }

  /** Plays to all who are in a room. `owner`: in whose turn speech is made. */
  async play(
    roomId: string,
    sources: PlaySource[],
    loop: boolean,
    owner?: SpeechOwner,
  ): Promise<Record<string, never> | Failure> {
    const loaded = await this.#options.prompts.loadAll(sources, owner)
    if ('error' in loaded) return { failure: 'invalid', message: loaded.error }
    const room = this.#rooms.get(roomId)
    if (room === undefined) return { failure: 'not_found', message: `no room ${roomId}` }
    const player = { loop, frameSamples: LEG_SAMPLES, ...(room.words !== null && { watcher: room.words }) }
    room.announce(new Player(loaded, player))
    return {}
  }
}

/** A player of whole clips, frame by frame of a leg. */
export const playerOf = (clips: readonly Clip[], loop: boolean): Player =>
  new Player(clips, { loop, frameSamples: LEG_SAMPLES })

const clipOf = (plan: TonePlan): Clip => {
  const samples = renderTone(plan, NARROWBAND_HZ)
  return { samples, length: samples.length }
}
const CHIMES = { join: clipOf(JOIN_CHIME), leave: clipOf(LEAVE_CHIME) }
