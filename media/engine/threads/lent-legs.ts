import { int16Array } from '../../../codecs/arrays.ts'
import { addTo, type Frame } from '../../../codecs/audio.ts'
import { Annex } from '../../rooms/annex.ts'
import type { Leg } from '../../rooms/leg.ts'
import { LEG_SAMPLES } from '../../rooms/leg.ts'
import { LegEnd, LINK } from '../../rooms/leg-link.ts'
import type { Room, RoomTap } from '../../rooms/room.ts'
import type { Sink, Track } from '../../rooms/sink.ts'
import type { Party, SinkKind } from '../../sinks/sink-kind.ts'
import type { HeardWords, Scribe, Words } from '../../speech/hearing/hearing.ts'
import type { CrossMessage, EngineCommands, EngineHandlers, Written } from '../engine-protocol.ts'
import type { Member, Members } from '../member.ts'
import type { Sounds } from '../sounds.ts'
import { byClockOf, type ThreadPlace } from './spans.ts'

interface LentLegsWorld {
  place: ThreadPlace
  members: Members
  sounds: Sounds
  now: () => number
  cross: (message: CrossMessage) => void
}

type Of<K extends CrossMessage['kind']> = Extract<CrossMessage, { kind: K }>

/** Serves other engine threads with legs of this one: their words for transcripts there, and their audio for sinks that follow them. */
export class LentLegs implements SinkKind {
  readonly commands = {}
  readonly handlers = { 'leg.follow': request => this.#follow(request) } satisfies Partial<EngineHandlers>
  readonly #world: LentLegsWorld
  readonly #followed = new Map<Leg, Map<number, FollowedLeg>>()
  readonly #scribes = new Map<string, RemoteScribe>()

  constructor(world: LentLegsWorld) {
    this.#world = world
  }

  // ------------------------------------------------------------------ what their rooms tell

  pressed({ legIds, key }: Of<'pressed'>): void {
    for (const { room } of this.#these(legIds)) {
      if (!(room instanceof Annex)) continue
      room.pressed = key
      room.pressedAt = this.#world.now()
    }
  }

  sound({ legIds, sound }: Of<'sound'>): void {
    for (const member of this.#these(legIds)) if (member.room instanceof Annex) this.#world.sounds.moved(member, sound)
  }

  #these(legIds: readonly string[]): Member[] {
    return legIds.flatMap(legId => this.#world.members.get(legId) ?? [])
  }

  // ------------------------------------------------------------------ words

  write({ legId, scribeId, thread, language, isLive }: Of<'write'>): void {
    const { members, cross, place } = this.#world
    const scribe = new RemoteScribe({ language, isLive, clockMs: place.clockMs ?? 0 }, what =>
      cross({ kind: 'written', thread, scribeId, what }),
    )
    this.#scribes.set(scribeId, scribe)
    members.get(legId)?.dialogue.addScribe(scribe)
  }

  /** What is being said is still transcribed; in any case the requester is told that no more comes. */
  stopWriting({ legId, scribeId, thread }: Of<'stop_writing'>): void {
    const { members, cross } = this.#world
    const scribe = this.#scribes.get(scribeId)
    this.#scribes.delete(scribeId)
    if (scribe !== undefined) members.get(legId)?.dialogue.removeScribe(scribe)
    // Who asked knows it of a thread that was in the place of this one.
    cross({ kind: 'written', thread, scribeId, what: { call: 'stopped', isLost: scribe === undefined } })
  }

  // ------------------------------------------------------------------ audio

  #follow({ legId, link, thread }: EngineCommands['leg.follow']['request']): Record<string, never> {
    const member = this.#world.members.get(legId)
    if (member === undefined) return {}
    const { leg, room } = member
    const followers = this.#followed.get(leg) ?? new Map<number, FollowedLeg>()
    this.#followed.set(leg, followers)
    followers.get(thread)?.detach()
    followers.delete(thread)
    if (link === null) return {}
    const followed = new FollowedLeg(leg, link, pause => this.#world.cross({ kind: 'paused', thread, legId, pause }))
    followers.set(thread, followed)
    if (room !== null) followed.attach(room)
    return {}
  }

  enter({ leg }: Party, room: Room): void {
    for (const followed of this.#of(leg)) followed.attach(room)
  }

  leave({ leg }: Party): void {
    for (const followed of this.#of(leg)) followed.detach()
  }

  closed(leg: Leg): void {
    for (const followed of this.#of(leg)) followed.detach()
    this.#followed.delete(leg)
  }

  pauseChanged(room: Room): void {
    for (const followers of this.#followed.values()) for (const followed of followers.values()) followed.paused(room)
  }

  #of(leg: Leg): Iterable<FollowedLeg> {
    return this.#followed.get(leg)?.values() ?? []
  }
}

/** Forwards a transcript to another thread. */
class RemoteScribe implements Scribe {
  readonly language: string | null
  readonly isLive: boolean
  readonly #clockMs: number
  readonly #tell: (what: Written) => void

  constructor(
    { language, isLive, clockMs }: Pick<Scribe, 'language' | 'isLive'> & { clockMs: number },
    tell: (what: Written) => void,
  ) {
    this.language = language
    this.isLive = isLive
    this.#clockMs = clockMs
    this.#tell = tell
  }

  expect(): void {
    this.#tell({ call: 'expect' })
  }

  /** A dialogue reports everything that was expected. */
  unexpect(): void {}

  heard(legId: string, words: HeardWords | null, utterance: number): void {
    this.#tell({ call: 'heard', legId, words: words && byClockOf(words, this.#clockMs), utterance })
  }

  saying(legId: string, words: Words, utterance: number): void {
    this.#tell({ call: 'saying', legId, words: byClockOf(words, this.#clockMs), utterance })
  }

  unsaid(legId: string, utterance: number): void {
    this.#tell({ call: 'unsaid', legId, utterance })
  }

  told(legId: string, words: Words): void {
    this.#tell({ call: 'told', legId, words: byClockOf(words, this.#clockMs) })
  }
}

/** Sends another thread a leg's audio and what is played to it, in whatever room of this thread it is. */
class FollowedLeg implements Sink, RoomTap {
  readonly onPause = 'silence'
  readonly #leg: Leg
  readonly #link: LegEnd
  readonly #tellPause: (pause: Room['pause']) => void
  readonly #said: Frame = int16Array(LEG_SAMPLES)
  readonly #played: Frame = int16Array(LEG_SAMPLES)
  /** What it was told with the last frame of its sink. */
  #flags = 0
  #isPlayed = false
  #room: Room | null = null

  constructor(leg: Leg, memory: SharedArrayBuffer, tellPause: (pause: Room['pause']) => void) {
    this.#leg = leg
    this.#link = new LegEnd(memory)
    this.#tellPause = tellPause
  }

  /** Idempotent. */
  attach(room: Room): void {
    if (this.#room !== null) return
    this.#room = room
    this.#leg.sinks.push(this)
    room.taps.push(this)
    if (room.pause !== null) this.#tellPause(room.pause)
  }

  /** Idempotent. */
  detach(): void {
    const room = this.#room
    if (room === null) return
    this.#room = null
    const at = this.#leg.sinks.indexOf(this)
    if (at >= 0) this.#leg.sinks.splice(at, 1)
    room.taps.splice(room.taps.indexOf(this), 1)
  }

  paused(room: Room): void {
    if (room === this.#room) this.#tellPause(room.pause)
  }

  write(track: Track, frame: Frame, isComfort = false, isMissing = false): void {
    if (track !== 'inbound') return
    this.#said.set(frame)
    this.#flags = (isComfort ? LINK.comfort : 0) | (isMissing ? LINK.missing : 0)
  }

  played(frame: Frame, leg: Leg | null): void {
    if (leg !== null && leg !== this.#leg) return
    if (!this.#isPlayed) this.#played.set(frame)
    else addTo(this.#played, frame)
    this.#isPlayed = true
  }

  tick(): void {
    this.#link.say(this.#said, this.#said, this.#isPlayed ? this.#played : null, null, this.#flags)
    this.#isPlayed = false
  }

  close(): void {
    this.detach()
  }
}
