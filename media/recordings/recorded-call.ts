import { FRAME_MS, type Frame } from '../../codecs/audio.ts'
import type { RecordingInfo, Target } from '../protocol.ts'
import type { Leg } from '../rooms/leg.ts'
import type { Room, RoomTap } from '../rooms/room.ts'
import type { Recorder } from './recorder.ts'

/** The recorded reason of pauses by command. */
const BY_COMMAND = 'paused'

/**
 * The target of a recording: a leg alone, or a room with a channel for everybody who was ever in it and one for the product. A
 * party of a call's room stays on its recording wherever it is moved, until its end. A party that leaves a conference does not.
 */
export class RecordedCall {
  readonly target: Target
  readonly #recorder: Recorder
  /** The legs that it is on, and the room of each. */
  readonly #attached = new Map<Leg, Tap>()
  /** Between two rooms. */
  readonly #moving = new Set<Leg>()
  /** The room whose ticks move the timeline; of several rooms, one does. */
  #clock: Room | null = null
  #isAsked = false
  #reason: string | null = null
  /** Of a message [frames]; null: it is none. */
  readonly #most: number | null
  /** A message waits for the prompt, or for its end. */
  #waitsFor: 'prompt' | 'end' | null

  /** @param messageMs see `recording.start` */
  constructor(target: Target, recorder: Recorder, messageMs?: number) {
    this.target = target
    this.#recorder = recorder
    this.#most = messageMs === undefined ? null : Math.ceil(messageMs / FRAME_MS)
    this.#waitsFor = messageMs === undefined ? null : 'prompt'
  }

  /** The disk has failed, which is reported at once; the call continues. */
  get hasFailed(): boolean {
    return this.#recorder.failure !== null
  }

  get recordingId(): string {
    return this.#recorder.recordingId
  }

  get frames(): number {
    return this.#recorder.frames
  }

  /** Somebody is recorded, or on the way to where it will be again. */
  get hasLegs(): boolean {
    return this.#attached.size + this.#moving.size > 0
  }

  enter(leg: Leg, room: Room): void {
    const wasMoving = this.#moving.delete(leg)
    if (!(wasMoving || this.#isOf(leg, room)) || this.#attached.has(leg)) return
    this.#attached.set(leg, this.#tapOf(room))
    leg.sinks.push(this.#recorder.track(leg.id))
    if ('roomId' in this.target) this.#recorder.trackProduct()
    this.#clock ??= room
    this.#sync()
  }

  #isOf(leg: Leg, room: Room): boolean {
    return 'legId' in this.target ? this.target.legId === leg.id : this.target.roomId === room.spec.roomId
  }

  /** One listener per room, however many parties are in it. */
  #tapOf(room: Room): Tap {
    for (const tap of this.#attached.values()) if (tap.room === room) return tap
    const tap: Tap = {
      room,
      played: 'legId' in this.target ? () => {} : (frame, leg) => this.#played(frame, leg),
      tick: () => {
        if (this.#clock === room && this.#isRunning) this.#recorder.tick()
      },
    }
    room.taps.push(tap)
    return tap
  }

  /** What comes before a message, or behind it, is not on its timeline. */
  get #isRunning(): boolean {
    if (this.#most === null) return true
    const isPlayedTo = [...this.#attached.keys()].some(({ player }) => player !== null)
    if (this.#waitsFor === 'prompt' && isPlayedTo) this.#waitsFor = 'end'
    else if (this.#waitsFor === 'end' && !isPlayedTo) this.#waitsFor = null
    return this.#waitsFor === null && this.#recorder.frames < this.#most
  }

  #played(frame: Frame, leg: Leg | null): void {
    if (leg === null || this.#attached.has(leg)) this.#recorder.played(frame)
  }

  leave(leg: Leg): void {
    const tap = this.#attached.get(leg)
    if (tap === undefined) return
    this.#attached.delete(leg)
    remove(leg.sinks, this.#recorder.track(leg.id))
    if (this.#staysWith(leg, tap.room)) this.#moving.add(leg)
    this.#letGo(tap)
  }

  #staysWith(leg: Leg, room: Room): boolean {
    return !('roomId' in this.target && room.spec.kind === 'conference' && this.#isOf(leg, room))
  }

  /** The timeline of a room continues without this leg; that of an empty room does not. */
  #letGo(tap: Tap): void {
    const others = [...this.#attached.values()]
    if (!others.includes(tap)) {
      remove(tap.room.taps, tap)
      if (this.#clock === tap.room) this.#clock = others[0]?.room ?? null
    }
    this.#sync()
  }

  /** Whether it is between two rooms. */
  follows(leg: Leg): boolean {
    return this.#moving.has(leg)
  }

  /** Returns whether it was the last: the recording is over. */
  closed(leg: Leg): boolean {
    if ('legId' in this.target) return this.target.legId === leg.id
    return this.#moving.delete(leg) && !this.hasLegs
  }

  pauseChanged(room: Room): void {
    if ([...this.#attached.values()].some(tap => tap.room === room)) this.#sync()
  }

  /** By command; false: so it is already. */
  ask(isAsked: boolean): boolean {
    if (this.#isAsked === isAsked) return false
    this.#isAsked = isAsked
    this.#recorder.mute(isAsked)
    this.#sync()
    return true
  }

  /** Notes from when to when it is silent, and why. */
  #sync(): void {
    // No party is there to be silent: the recording continues with what it has.
    if (this.#attached.size === 0 && this.#reason !== null) return
    const paused = [...this.#attached.values()].find(({ room }) => room.pause !== null)?.room.pause ?? null
    const reason = paused?.reason ?? (this.#isAsked ? BY_COMMAND : null)
    if (reason === this.#reason) return
    if (this.#reason !== null) this.#recorder.pauseEnded()
    if (reason !== null) this.#recorder.pauseBegan(reason)
    this.#reason = reason
  }

  finish(): Promise<RecordingInfo | { error: string }> {
    for (const [leg, tap] of this.#attached) {
      remove(leg.sinks, this.#recorder.track(leg.id))
      remove(tap.room.taps, tap)
    }
    this.#attached.clear()
    this.#moving.clear()
    return this.#recorder.finish()
  }
}

type Tap = RoomTap & { readonly room: Room }

function remove<T>(list: T[], item: T): void {
  const at = list.indexOf(item)
  if (at >= 0) list.splice(at, 1)
}
