import { int16Array } from '../../codecs/arrays.ts'
import { addTo, type Frame } from '../../codecs/audio.ts'
import { copy } from '../../codecs/kernels/frames.ts'
import { SILENCE_DBOV } from '../../codecs/level.ts'
import { LEG_SAMPLES, Leg, NO_HOOKS, NO_QUALITY, type Voice } from './leg.ts'
import { LEVEL_SHIFT, LINK, RoomEnd } from './leg-link.ts'
import type { Room, RoomTap } from './room.ts'

/**
 * A leg of another engine thread, in a room of this one. Its packets, keys, prompts and own sinks stay with its
 * sockets. What it says and hears crosses by shared memory, one tick at a time. To the room it is a leg like any other.
 */
export class GuestLeg extends Leg implements RoomTap {
  readonly law = null
  readonly packetsRefused = 0
  readonly quality = NO_QUALITY
  /** Whose turn speech synthesis for it uses. */
  readonly affinity: string
  #room: Room | null = null
  #link: RoomEnd
  readonly #sendKey: (key: string, durationMs?: number) => void
  readonly #said: Frame = int16Array(LEG_SAMPLES)
  readonly #raw: Frame = int16Array(LEG_SAMPLES)
  #isComfort = false
  #isMissing = false
  /** Of a leg that has the band above 4 kHz. */
  #saidUpper: Frame | null = null
  /** What its own thread plays to it. */
  readonly #played: Frame = int16Array(LEG_SAMPLES)
  #isPlayed = false
  /** What the product plays to it here, in this tick. */
  readonly #product: Frame = int16Array(LEG_SAMPLES)
  #productFlags = 0
  readonly #voice = { isSpeaking: false, levelDbov: SILENCE_DBOV }
  #hasVoice = false

  constructor(
    id: string,
    affinity: string,
    memory: SharedArrayBuffer,
    sendKey: (key: string, durationMs?: number) => void,
  ) {
    super(id, NO_HOOKS)
    this.affinity = affinity
    this.#link = new RoomEnd(memory)
    this.#sendKey = sendKey
  }

  /** Ticks that did not arrive in time. */
  get missed(): number {
    return this.#link.missed
  }

  override get voice(): Voice | null {
    return this.#hasVoice ? this.#voice : null
  }

  override get isComfort(): boolean {
    return this.#isComfort
  }

  override get isMissing(): boolean {
    return this.#isMissing
  }

  /** Switches to another link. */
  relink(memory: SharedArrayBuffer): void {
    this.#link = new RoomEnd(memory)
  }

  comeIn(room: Room): void {
    this.#room = room
    room.taps.push(this)
  }

  goOut(): void {
    const taps = this.#room?.taps ?? []
    const at = taps.indexOf(this)
    if (at >= 0) taps.splice(at, 1)
    this.#room = null
  }

  /** Its own thread knows what it hears. */
  override leaves(): void {}

  protected receive(): null {
    return null
  }

  /**
   * Its own thread has removed keypad tones. Only the payment line hears what it said just before that thread knew of the pause.
   */
  override pull(_now: number, paused: boolean, maskTones: boolean): void {
    const flags = this.#link.next()
    this.said = this.plain = this.raw = this.saidUpper = null
    this.isOld = this.#link.isOld
    this.#isPlayed = this.#isComfort = this.#isMissing = false
    if (flags === -1) {
      this.isSilenced = this.muted || this.onHold
      this.said = this.plain = this.raw = this.#link.makeUp(!paused)
      return
    }
    this.#isComfort = (flags & LINK.comfort) !== 0
    this.#isMissing = (flags & LINK.missing) !== 0
    this.muted = (flags & LINK.muted) !== 0
    this.onHold = (flags & LINK.onHold) !== 0
    this.isSilenced = this.muted || this.onHold
    this.deaf = (flags & LINK.deaf) !== 0
    if ((flags & LINK.voice) !== 0) {
      copy(this.#said, this.#link.said)
      this.said = this.raw = this.#said
    }
    if ((flags & LINK.raw) !== 0) {
      this.#raw.set(this.#link.raw)
      this.raw = this.#raw
    }
    if (maskTones && (flags & LINK.masked) === 0) this.said = null
    this.plain = this.said
    this.isWide = (flags & LINK.wide) !== 0
    if (this.said !== null && (flags & LINK.upper) !== 0) {
      this.#saidUpper ??= int16Array(LEG_SAMPLES)
      copy(this.#saidUpper, this.#link.upper)
      this.saidUpper = this.#saidUpper
    }
    this.#voice.isSpeaking = (flags & LINK.speaking) !== 0
    this.#voice.levelDbov = flags >> LEVEL_SHIFT
    this.#hasVoice = (flags & LINK.hasVoice) !== 0
    if ((flags & LINK.product) === 0) return
    copy(this.#played, this.#link.played)
    this.#isPlayed = true
  }

  /** Before `send` of the same tick. */
  played(frame: Frame, leg: Leg | null): void {
    if (leg !== null && leg !== this) return
    if (this.#productFlags === 0) this.#product.set(frame)
    else addTo(this.#product, frame)
    this.#productFlags |= leg === null ? LINK.product | LINK.toAll : LINK.product
  }

  tick(): void {}

  send(frame: Frame | null): void {
    const pause = this.#room?.pause ?? null
    if (this.#isPlayed && pause === null) this.#tellPlayed()
    const product = this.#productFlags === 0 ? null : this.#product
    const masked = pause?.maskDtmf === true ? LINK.masked : 0
    const wide = this.isWide && this.isUpperWanted ? LINK.wide : 0
    const old = pause !== null || this.#room?.hasOld === true ? LINK.old : 0
    this.#link.hear(frame, product, this.hearsUpper, this.#productFlags | masked | wide | old)
    this.#productFlags = 0
  }

  /** For recordings of the room. */
  #tellPlayed(): void {
    if (this.#room === null) return
    for (const tap of this.#room.taps) if (tap !== this) tap.played(this.#played, this)
  }

  sendKey(key: string, durationMs?: number): boolean {
    this.#sendKey(key, durationMs)
    return true
  }
}

/** The IDs of the guests in a room. */
export const guestsIn = ({ legs }: Room): string[] => legs.filter(leg => leg instanceof GuestLeg).map(leg => leg.id)
