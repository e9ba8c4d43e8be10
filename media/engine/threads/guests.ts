import { randomHex } from '../../protocol/chance.ts'
import type { Failure, Request } from '../../protocol.ts'
import { GuestLeg } from '../../rooms/guest-leg.ts'
import type { Scribe } from '../../speech/hearing/hearing.ts'
import type { CrossMessage, EngineCommands, EngineHandlers, Written } from '../engine-protocol.ts'
import type { Keys } from '../keys.ts'
import { leftBehind, type Seated } from '../member.ts'
import type { Rooms } from '../rooms.ts'
import type { Sinks } from '../sinks.ts'
import { byClockOf, type ThreadPlace } from './spans.ts'

interface Guest extends Seated {
  readonly leg: GuestLeg
}

/** What another thread writes for a transcriber here. */
interface RemoteWords {
  readonly scribe: Scribe
  readonly legId: string
  /** Utterances that have ended, and whose words have not come. */
  expected: number
  /** Utterances that have begun, and that nobody has taken back or told the words of. */
  readonly open: Set<number>
  isStopped: boolean
}

interface GuestsWorld {
  place: ThreadPlace
  rooms: Rooms
  sinks: () => Sinks
  keys: Keys
  cross: (message: CrossMessage) => void
  enterAll: () => void
}

type Of<K extends CrossMessage['kind']> = Extract<CrossMessage, { kind: K }>
type Ok = Record<string, never>

/** Legs of other engine threads that are in rooms of this one, or were and are still listened to from here. */
export class Guests {
  readonly commands = {
    'room.reserve': ({ legId, room, mustExist }) => this.#world.rooms.reserve(legId, room, mustExist),
    'room.seat': request => this.#seat(request),
    'room.unseat': request => this.#unseat(request),
    'room.hears': request => this.#hears(request),
    'room.follow': request => this.#follow(request),
  } satisfies Partial<EngineHandlers>
  readonly #world: GuestsWorld
  readonly #guests = new Map<string, Guest>()
  /** Transcribers here of guests' words, until their threads have reported everything. */
  readonly #scribes = new Map<string, RemoteWords>()
  /** Other threads may still serve scribes of a thread that has died, whose number is ours. */
  readonly #scribesOf = randomHex(8)
  #scribesSoFar = 0

  constructor(world: GuestsWorld) {
    this.#world = world
  }

  get size(): number {
    return this.#guests.size
  }

  all(): Iterable<Seated> {
    return this.#guests.values()
  }

  /** Ticks for which guests' audio did not arrive in time. */
  get missed(): number {
    let ticks = 0
    for (const { leg } of this.#guests.values()) ticks += leg.missed
    return ticks
  }

  #seat({ legId, room, link, affinity, muted }: EngineCommands['room.seat']['request']): Ok | Failure {
    // The thread that kept it has died, and this one is another: the leg would be on no board of ours.
    if (!this.#world.rooms.keepsPlaceOf(legId)) return { failure: 'not_found', message: 'its place is gone' }
    const guest = this.#guests.get(legId) ?? this.#welcome(legId, affinity, link)
    this.#world.rooms.leave(guest)
    guest.leg.relink(link)
    guest.leg.muted = muted
    guest.leg.heardBy = null
    guest.leg.hears = null
    this.#world.rooms.seat(guest, room)
    return {}
  }

  #welcome(legId: string, affinity: string, link: SharedArrayBuffer): Guest {
    const { cross } = this.#world
    const leg = new GuestLeg(legId, affinity, link, (key, durationMs) =>
      cross({ kind: 'send_key', legId, key, durationMs }),
    )
    const guest: Guest = { leg, room: null, dialogue: this.#dialogueOf(legId) }
    this.#guests.set(legId, guest)
    return guest
  }

  #unseat({ legId, hasEnded }: EngineCommands['room.unseat']['request']): EngineCommands['room.unseat']['reply'] {
    const { rooms, sinks } = this.#world
    const guest = this.#guests.get(legId)
    if (guest === undefined || guest.room === null || hasEnded) rooms.giveUp(legId)
    if (guest === undefined) return { follows: false }
    const left = hasEnded ? leftBehind(guest.room, legId) : {}
    rooms.leave(guest)
    if (!hasEnded && sinks().follows(guest.leg)) return { follows: true }
    this.#guests.delete(legId)
    if (hasEnded) sinks().closed(guest.leg)
    guest.leg.close()
    return { follows: false, ...left }
  }

  #hears({ legId, heardBy, hears }: Pick<Request<'leg.update'>, 'legId' | 'heardBy' | 'hears'>): Ok {
    const leg = this.#guests.get(legId)?.leg
    if (leg !== undefined && heardBy !== undefined) leg.heardBy = heardBy === null ? null : new Set(heardBy)
    if (leg !== undefined && hears !== undefined) leg.hears = hears === null ? null : new Set(hears)
    return {}
  }

  #follow({ legId, room, link }: EngineCommands['room.follow']['request']): Ok {
    const guest = this.#guests.get(legId)
    if (guest === undefined) return {}
    this.#world.rooms.leave(guest)
    guest.leg.relink(link)
    this.#world.rooms.follow(guest, room)
    return {}
  }

  /** A guest has thrown while it was served: it alone leaves its room at once. */
  broke(legId: string): void {
    const guest = this.#guests.get(legId)
    if (guest !== undefined) this.#world.rooms.leave(guest)
  }

  // ------------------------------------------------------------------ what their own threads tell

  key(message: Of<'key'>): void {
    const guest = this.#guests.get(message.legId)
    if (guest?.room != null) this.#world.keys.ofGuest(guest.leg, guest.room, message)
  }

  begin({ legId, capture }: Of<'begin'>): void {
    const room = this.#guests.get(legId)?.room ?? null
    if (room === null) return
    this.#world.sinks().begin(room.spec.roomId, capture, 'room')
    this.#world.enterAll()
  }

  paused({ legId, pause }: Of<'paused'>): void {
    const guest = this.#guests.get(legId)
    if (guest !== undefined) this.#world.rooms.followPause(guest, pause)
  }

  // ------------------------------------------------------------------ what they say, as words

  /** Their speech is recognised on their own thread. */
  #dialogueOf(legId: string): Seated['dialogue'] {
    const { cross, place } = this.#world
    const thread = place.index
    const ids = new Map<Scribe, string>()
    return {
      addScribe: scribe => {
        const scribeId = `${this.#scribesOf}.${++this.#scribesSoFar}`
        ids.set(scribe, scribeId)
        this.#scribes.set(scribeId, { scribe, legId, expected: 0, open: new Set(), isStopped: false })
        const { language, isLive } = scribe
        cross({ kind: 'write', legId, scribeId, thread, language, isLive })
      },
      removeScribe: scribe => {
        const scribeId = ids.get(scribe)
        if (scribeId === undefined) return
        ids.delete(scribe)
        // Its last words may be on their way: the scribe waits for the end marker.
        scribe.expect()
        cross({ kind: 'stop_writing', legId, scribeId, thread })
      },
    }
  }

  written({ scribeId, what }: Of<'written'>): void {
    const written = this.#scribes.get(scribeId)
    if (written === undefined) return
    const { scribe, legId } = written
    if (what.call === 'expect') written.expected++
    else if (what.call === 'heard') written.expected--
    else if (what.call === 'stopped') written.isStopped = true
    if (what.call === 'saying') written.open.add(what.utterance)
    else if (what.call === 'heard' || what.call === 'unsaid') written.open.delete(what.utterance)
    else if (what.call === 'stopped' && what.isLost) {
      for (const utterance of written.open) scribe.unsaid(legId, utterance)
      for (; written.expected > 0; written.expected--) scribe.unexpect()
    }
    tell(scribe, what, -(this.#world.place.clockMs ?? 0))
    if (written.isStopped && written.expected === 0) this.#scribes.delete(scribeId)
  }
}

/** @param aheadMs how far the common clock is ahead of ours */
function tell(scribe: Scribe, what: Written, aheadMs: number): void {
  if (what.call === 'expect') scribe.expect()
  else if (what.call === 'stopped') scribe.unexpect()
  else if (what.call === 'heard') scribe.heard(what.legId, what.words && byClockOf(what.words, aheadMs), what.utterance)
  else if (what.call === 'saying') scribe.saying(what.legId, byClockOf(what.words, aheadMs), what.utterance)
  else if (what.call === 'unsaid') scribe.unsaid(what.legId, what.utterance)
  else scribe.told(what.legId, byClockOf(what.words, aheadMs))
}
