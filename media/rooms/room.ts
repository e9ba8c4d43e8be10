import { addTo, ending, type Frame, faded } from '../../codecs/audio.ts'
import { LAWS, type LawName } from '../../codecs/g711.ts'
import { isQuiet } from '../../codecs/level.ts'
import { Limiter } from '../../codecs/limiter.ts'
import type { LegSound, RoomSpec } from '../protocol.ts'
import type { Chorus } from './chorus.ts'
import { LEG_SAMPLES, type Leg, SILENCE } from './leg.ts'
import { Mixer } from './mixer.ts'
import { PassThrough } from './pass-through.ts'
import { SharedMix } from './shared-mix.ts'
import { COVERED, type Sink } from './sink.ts'
import type { Source } from './source.ts'
import { UpperBand } from './upper-band.ts'

/** Maximum number of waiting announcements; the oldest waiting one is dropped. */
const MAX_WAITING = 8

/** The card-payment pause of a room: its own and those of its members' calls, combined. */
export interface RoomPause {
  maskDtmf: boolean
  /** The payment line: the only leg that still hears the keys, but for those of `lines`. */
  destinationLegId: string | null
  /** The lines of several payers with pauses of their own, by the payer's leg. Each line hears its payer; absent: there is at most one line. */
  lines?: Readonly<Record<string, string>>
  /** Two parties pay at the same time: each line hears only its payer. With a single pause it is not known who in the room pays. */
  isEachOwn?: boolean
  reason: string
}

/** Who hears the keys of this leg in a pause; null: nobody. */
export const lineOf = (pause: RoomPause, legId: string): string | null =>
  pause.lines?.[legId] ?? (pause.isEachOwn && isOfPayer(pause) ? null : pause.destinationLegId)

/** Whether the line for everybody is a payer's. */
export const isOfPayer = ({ lines, destinationLegId }: RoomPause): boolean =>
  Object.values(lines ?? {}).some(line => line === destinationLegId)

/** Whether a leg hears anybody's keys. */
function isLine({ lines, destinationLegId }: RoomPause, legId: string): boolean {
  if (destinationLegId === legId) return true
  for (const payer in lines) if (lines[payer] === legId) return true
  return false
}

/** Hears what the product itself plays in a room, and counts the ticks, as the timeline of a recording. */
export interface RoomTap {
  /** To one leg only, or to all (null). Nothing of a card-payment pause. The frame is borrowed. */
  played(frame: Frame, leg: Leg | null): void
  /** At the end of each tick. */
  tick(): void
}

/**
 * Legs that hear each other. Each tick every member is pulled and summed once, and hears the sum without its own audio.
 * Sinks of the room get the mix of all members as `inbound`, and what the room itself plays as `outbound`.
 */
export class Room {
  #spec: RoomSpec
  readonly legs: Leg[] = []
  readonly sinks: Sink[] = []
  readonly taps: RoomTap[] = []
  /** Music for a member who is alone; loaded by the owner. */
  music: Source | null = null
  /** Heard by everybody, in parallel to announcements; null: none. */
  chorus: Chorus | null = null
  #pause: RoomPause | null = null
  /** Audio processing of members without their own settings; null: none. */
  sound: LegSound | null = null
  /** Its members are on several threads. */
  isSpread = false
  /** What somebody says in this tick was sent while a card-payment pause was on: see `Leg.isOld`. */
  hasOld = false
  /** The leg being served, to attribute an exception. */
  turn: Leg | null = null

  /** Notified when packets begin to be relayed between the members, and when that ends. */
  passing: (isOn: boolean) => void = () => {}

  readonly #passThrough = new PassThrough(this, isOn => this.passing(isOn))
  readonly #mixer = new Mixer(LEG_SAMPLES)
  /** For a listener who hears a different selection from the others; created when needed. */
  #private: Mixer | null = null
  readonly #shared = new SharedMix()
  readonly #tapLimiter = new Limiter()
  readonly #waiting: Source[] = []
  /** Of those who have left in the middle of a word, for the next tick. */
  readonly #endings: Frame[] = []
  readonly #upperEndings: Frame[] = []
  /** What was played to all in the last tick. */
  #announced: Frame | null = null
  /** The mix above 4 kHz, also for single listeners; null: not worth it. */
  #upper: UpperBand | null = null
  #privateUpper: UpperBand | null = null

  constructor(spec: RoomSpec) {
    this.#spec = spec
  }

  get spec(): RoomSpec {
    return this.#spec
  }

  /** A party that was alone with an echo is joined by another, and the room becomes a call's. */
  becomes(kind: RoomSpec['kind']): void {
    if (this.#spec.kind === 'echo' && kind !== 'echo') this.#spec = { ...this.#spec, kind }
  }

  get pause(): RoomPause | null {
    return this.#pause
  }

  /** Set by the owner when a pause begins or ends. */
  set pause(pause: RoomPause | null) {
    const isEachOwn = this.#pause?.isEachOwn === true || Object.keys(pause?.lines ?? {}).length > 1
    this.#pause = pause !== null && isEachOwn ? { ...pause, isEachOwn } : pause
  }

  /** Packets are relayed between its two members as they come. */
  get isPassing(): boolean {
    return this.#passThrough.isOn
  }

  /** It contains nothing but its members' own voices, and nobody else listens. */
  get isPlain(): boolean {
    if (this.pause !== null || this.isSpread || this.spec.kind === 'echo' || !(this.chorus?.isEmpty ?? true))
      return false
    return this.#waiting.length === 0 && this.sinks.length === 0 && this.taps.length === 0
  }

  /** Nobody has said anything in the last tick, and nothing is played. */
  get isQuiet(): boolean {
    if (this.#waiting.length > 0 || !(this.chorus?.isEmpty ?? true)) return false
    return this.legs.every(({ said, player }) => player === null && (said === null || isQuiet(said)))
  }

  /** Whoever has left in the middle of a word fades out for those who stay, and what they said to it does where it is now. */
  left(leg: Leg): void {
    this.#passThrough.restart()
    if (this.pause !== null) return
    const { isOn } = this.#passThrough
    const said = isOn ? leg.endPassing() : isHeardByAll(leg) ? leg.said : null
    if (said !== null && this.legs.length > 0) {
      this.#endings.push(ending(said))
      if (leg.saidUpper !== null) this.#upperEndings.push(ending(leg.saidUpper))
    }
    const heard = isOn ? this.legs[0]?.endPassing() : leg.hearsRoom ? this.#routeFor(leg, null, this.#announced) : null
    if (!heard) return
    const upper = leg.isWide ? this.#upperFor(leg, heard, true) : null
    leg.leaves(ending(heard), upper === null ? null : ending(upper))
  }

  /** Plays to everybody, after announcements that are waiting. */
  announce(source: Source): void {
    if (this.#waiting.length >= MAX_WAITING) this.#waiting.splice(1, 1)
    this.#waiting.push(source)
  }

  /** One 20 ms frame for everybody. `now` [ms], monotonic. */
  tick(now: number): void {
    const { legs } = this
    if ((legs.length === 2 || this.#passThrough.isOn) && this.#passThrough.tick(now)) {
      // Nothing is mixed: later it would be heard out of place, maybe by others.
      this.#endings.length = this.#upperEndings.length = 0
      return
    }
    const mixer = this.#mixer
    const pause = this.pause
    mixer.clear()
    const upper = this.#upper
    upper?.clear()
    let hasRoutes = false
    let hasOld = false
    let wideLegs = 0
    for (const leg of legs) {
      this.turn = leg
      if (leg.isWide) {
        wideLegs++
        leg.isUpperWanted = upper !== null
      }
      leg.pull(now, pause !== null, pause?.maskDtmf === true)
      if (leg.said !== null && isHeardByAll(leg)) {
        mixer.add(leg.said)
        if (leg.saidUpper !== null) upper?.add(leg.saidUpper)
      }
      if (leg.heardBy !== null || leg.hears !== null) hasRoutes = true
      if (leg.isOld) hasOld = true
      leg.tapSaid(pause !== null)
    }
    this.turn = null
    this.hasOld = hasOld
    while (this.#endings.length > 0) mixer.add(this.#endings.pop()!)
    this.#widen(wideLegs + this.#upperEndings.length)
    while (this.#upperEndings.length > 0) upper?.add(this.#upperEndings.pop()!)
    const announcement = this.#pullAnnouncement()
    const announced = this.chorus === null ? announcement : this.chorus.pull(announcement)
    this.#tap(announced)
    this.#announced = announced
    if (announced !== null) {
      mixer.add(announced)
      this.#tapPlayed(announced, null)
    }
    for (const leg of legs) {
      this.turn = leg
      this.#serve(leg, now, hasRoutes ? announced : null, hasRoutes)
    }
    this.turn = null
    mixer.done()
    this.#private?.done()
    for (const tap of this.taps) tap.tick()
    for (const leg of legs) {
      if (leg.waiter === null) continue
      this.turn = leg
      leg.waiter.tick(now, pause !== null)
    }
    this.turn = null
  }

  #pullAnnouncement(): Frame | null {
    for (let source = this.#waiting[0]; source !== undefined; source = this.#waiting[0]) {
      const frame = source.pull()
      if (frame !== null) return frame
      this.#waiting.shift()
    }
    return null
  }

  #tap(announced: Frame | null): void {
    if (this.sinks.length === 0) return
    const paused = this.pause !== null
    const isCovered = paused || this.hasOld
    const hasVoices = this.#mixer.voices > 0 && !isCovered
    if (hasVoices) this.#mixer.all(TAPPED, this.#tapLimiter)
    for (const sink of this.sinks) {
      if (paused && sink.onPause === 'nothing') continue
      sink.write('inbound', isCovered ? COVERED : hasVoices ? TAPPED : SILENCE)
      sink.write('outbound', paused ? COVERED : (announced ?? SILENCE))
    }
  }

  /** Mixes for one member, sends, and taps. */
  #serve(leg: Leg, now: number, announced: Frame | null, hasRoutes: boolean): void {
    if (leg.awaited?.isWaiting === true) {
      this.#keepWaiting(leg, now)
      return
    }
    leg.hearsUpper = null
    const music = this.#musicFor(leg)
    const played = leg.isPlayedTo(music) ? leg.pullPlayed(music) : null
    const own = leg.pullChorus(played)
    if (own !== null) this.#tapPlayed(own, leg)
    const hears = !leg.deaf && !leg.onHold && !this.#isShutOut(leg)
    let frame = own
    if (hears !== leg.hearsRoom) frame = this.#fadeFor(leg, own, announced, hasRoutes)
    else if (hears) {
      frame = hasRoutes ? this.#routeFor(leg, own, announced) : this.#mixFor(leg, own)
      if (leg.isWide && frame !== null) leg.hearUpper(this.#upperFor(leg, frame, hasRoutes))
    }
    leg.send(frame, frame === null || leg.law === null ? null : this.#encoded(leg.law, frame, leg.heard), now)
    leg.tapHeard(frame, this.pause !== null, this.hasOld)
  }

  /** What is to fade in waits for what is to fade out. */
  #keepWaiting(leg: Leg, now: number): void {
    leg.send(null, null, now)
    leg.tapHeard(null, this.pause !== null, false)
  }

  /** A member begins to hear the room, or no longer does: a cut would be a click. */
  #fadeFor(leg: Leg, own: Frame | null, announced: Frame | null, hasRoutes: boolean): Frame | null {
    const how = leg.hearsRoom ? 'out' : 'in'
    leg.hearsRoom = !leg.hearsRoom
    if (this.#isShutOut(leg)) return own
    const room = hasRoutes ? this.#routeFor(leg, null, announced) : this.#mixFor(leg, null)
    if (room === null) return own
    const upper = leg.isWide ? this.#upperFor(leg, room, hasRoutes) : null
    if (upper !== null) leg.hearUpper(faded(upper, how))
    const frame = faded(room, how)
    if (own !== null) addTo(frame, own)
    return frame
  }

  /** Whether a leg hears nothing of a pause: one that is not heard by everybody only listens in, like a recording. */
  #isShutOut(leg: Leg): boolean {
    if (leg.heardBy === null) return false
    return this.pause === null ? this.hasOld : !isLine(this.pause, leg.id)
  }

  /** The audio in a law, if it was just mixed. */
  #encoded(codec: LawName, frame: Frame, mixed: Frame): Uint8Array | null {
    if (frame === this.#shared.frame) return this.#shared.encoded(codec)
    return frame === mixed ? this.#mixer.encoded(LAWS[codec]) : null
  }

  /** The room gets two bands from the next tick on if two members benefit (in an echo, one); otherwise it would only cost. */
  #widen(wideLegs: number): void {
    const pays = wideLegs > (this.spec.kind === 'echo' ? 0 : 1)
    if (pays === (this.#upper !== null)) return
    this.#upper = pays ? new UpperBand(LEG_SAMPLES) : null
    this.#privateUpper = null
  }

  /** What a member hears above 4 kHz, of the members it hears at all; null: nothing. */
  #upperFor(listener: Leg, frame: Frame, hasRoutes: boolean): Frame | null {
    if (this.#upper === null) return null
    const gain = frame === this.#shared.frame ? this.#shared.gain : listener.limiter.gain
    if (!hasRoutes) {
      const own = this.spec.kind !== 'echo' && isHeardByAll(listener) ? listener.saidUpper : null
      return this.#upper.without(own, gain, listener.heardUpper)
    }
    this.#privateUpper ??= new UpperBand(LEG_SAMPLES)
    this.#privateUpper.clear()
    for (const leg of this.legs) {
      if (leg.saidUpper !== null && this.#reaches(leg, listener)) this.#privateUpper.add(leg.saidUpper)
    }
    return this.#privateUpper.without(null, gain, listener.heardUpper)
  }

  #tapPlayed(frame: Frame, leg: Leg | null): void {
    if (this.pause !== null) return
    for (const tap of this.taps) tap.played(frame, leg)
  }

  #musicFor(leg: Leg): Source | null {
    const isAlone = this.legs.length === 1 && this.legs[0] === leg && (leg.chorus?.isEmpty ?? true)
    return this.spec.musicWhenAlone && isAlone ? this.music : null
  }

  /** What a member hears: all others, the room, and `extra`, which is for it alone; null: nothing. */
  #mixFor(leg: Leg, extra: Frame | null): Frame | null {
    const mixer = this.#mixer
    const said = isHeardByAll(leg) ? leg.said : null
    const own = this.spec.kind === 'echo' ? null : said
    const isPaymentLine = this.pause !== null && isLine(this.pause, leg.id)
    if (extra === null && !isPaymentLine) {
      if (mixer.voices - (own === null ? 0 : 1) === 0) return null
      if (own === null) return this.#shared.of(mixer)
      mixer.without(own, leg.heard, leg.limiter)
      return leg.heard
    }
    if (extra !== null) mixer.add(extra)
    if (isPaymentLine) this.#swapRaw(leg, 'in')
    if (own === null) mixer.all(leg.heard, leg.limiter)
    else mixer.without(own, leg.heard, leg.limiter)
    if (isPaymentLine) this.#swapRaw(leg, 'out')
    if (extra !== null) mixer.remove(extra)
    return leg.heard
  }

  /** What a member hears in a room where not everybody hears everybody: summed for this member only. */
  #routeFor(listener: Leg, extra: Frame | null, announced: Frame | null): Frame | null {
    this.#private ??= new Mixer(LEG_SAMPLES)
    const mixer = this.#private
    mixer.clear(this.#mixer.tick)
    for (const leg of this.legs) {
      const said = this.#isPayerOf(listener, leg) ? leg.raw : leg.said
      if (said !== null && this.#reaches(leg, listener)) mixer.add(said)
    }
    if (announced !== null) mixer.add(announced)
    if (extra !== null) mixer.add(extra)
    if (mixer.voices === 0) return null
    mixer.all(listener.heard, listener.limiter)
    return listener.heard
  }

  #reaches(speaker: Leg, listener: Leg): boolean {
    if (speaker === listener) return this.spec.kind === 'echo'
    if (speaker.isSilenced) return false
    return speaker.heardBy?.has(listener.id) !== false && listener.hears?.has(speaker.id) !== false
  }

  /** In the sum, replaces the audio without keypad tones by the audio with them, and back. */
  #swapRaw(listener: Leg, direction: 'in' | 'out'): void {
    for (const leg of this.legs) {
      if (leg === listener || !isHeardByAll(leg) || leg.said === leg.raw || !this.#isPayerOf(listener, leg)) continue
      const before = direction === 'in' ? leg.said : leg.raw
      const after = direction === 'in' ? leg.raw : leg.said
      if (before !== null) this.#mixer.remove(before)
      if (after !== null) this.#mixer.add(after)
    }
  }

  #isPayerOf(listener: Leg, leg: Leg): boolean {
    return this.pause !== null && lineOf(this.pause, leg.id) === listener.id
  }

  /** Idempotent. */
  close(): void {
    for (const sink of this.sinks.splice(0)) sink.close()
    this.#passThrough.close()
    this.#waiting.length = 0
    this.chorus = null
  }
}

/** Frame for sinks. All rooms share it, so that it stays in the processor's cache. */
const TAPPED: Frame = new Int16Array(LEG_SAMPLES)

/** Its voice is in the mix of the room. */
const isHeardByAll = (leg: Leg): boolean => !leg.isSilenced && leg.heardBy === null
