import { ending, type Frame, faded } from '../../codecs/audio.ts'
import { LEG_SAMPLES, type Leg } from './leg.ts'
import { LEVEL_SHIFT, LegEnd, LINK } from './leg-link.ts'
import { Mixer } from './mixer.ts'
import { Room } from './room.ts'
import { atGain } from './upper-band.ts'

/**
 * Holds this thread's legs that are in a room of another thread. There they are guests (`guest-leg.ts`) and are mixed. Here
 * they are pulled, hear the returned mix and what is played to each alone, and feed the sinks that listen to one leg only.
 */
export class Annex extends Room {
  readonly #links = new Map<Leg, LegEnd>()
  readonly #mixer = new Mixer(LEG_SAMPLES)
  /** The last key pressed on another thread, and when. */
  pressed: string | null = null
  pressedAt = 0

  /** Adds a leg whose other end is in the room. */
  link(leg: Leg, memory: SharedArrayBuffer): void {
    this.#links.set(leg, new LegEnd(memory))
  }

  unlink(leg: Leg): void {
    const next = leg.hearsRoom ? this.#links.get(leg)?.makeUp(this.pause === null) : null
    const upper = next ? this.#links.get(leg)!.lastUpper : null
    if (next) leg.leaves(faded(next, 'out'), upper === null ? null : ending(upper))
    this.#links.delete(leg)
  }

  override tick(now: number): void {
    const isPaused = this.pause !== null
    const maskTones = this.pause?.maskDtmf === true
    for (const leg of this.legs) {
      this.turn = leg
      leg.pull(now, isPaused, maskTones)
      leg.tapSaid(isPaused)
    }
    this.#mixer.clear()
    let isFirst = true
    for (const leg of this.legs) {
      this.turn = leg
      this.#serve(leg, now, isFirst)
      isFirst = false
    }
    this.turn = null
    for (const tap of this.taps) tap.tick()
    for (const leg of this.legs) {
      if (leg.waiter === null) continue
      this.turn = leg
      leg.waiter.tick(now, isPaused)
    }
    this.turn = null
  }

  /** @param isFirst first leg of this tick: what is played to all is reported once */
  #serve(leg: Leg, now: number, isFirst: boolean): void {
    const link = this.#links.get(leg)
    const isPaused = this.pause !== null
    leg.hearsUpper = null
    const played = leg.pullPlayed(null)
    const own = leg.pullChorus(played)
    if (own !== null) this.#tapPlayed(own, leg)
    const flags = link?.next() ?? -1
    let heard: Frame | null = null
    let upper: Frame | null = null
    if (flags === -1) heard = link?.makeUp(!isPaused) ?? null
    if (link !== undefined) {
      link.say(leg.said, leg.raw, isPaused ? null : own, leg.saidUpper, this.#flagsOf(leg))
      if (flags !== -1) {
        leg.isUpperWanted = (flags & LINK.wide) !== 0
        const isToAll = (flags & LINK.toAll) !== 0
        if ((flags & LINK.product) !== 0 && (!isToAll || isFirst)) this.#tapPlayed(link.product, isToAll ? null : leg)
        heard = this.#mayHear(flags) ? link.heard : null
        if (heard !== null && (flags & LINK.upper) !== 0) upper = link.upper
      }
    }
    const hears = !leg.deaf && !leg.onHold
    const isAudible = hears || leg.hearsRoom
    const frame = isAudible ? this.#both(leg, fadedAt(leg, hears, heard), own) : own
    if (isAudible && upper !== null) {
      leg.hearUpper(fadedAt(leg, hears, atGain(upper, leg.limiter.gain, leg.heardUpper)))
    }
    leg.hearsRoom = hears
    leg.send(frame, null, now)
    leg.tapHeard(frame, isPaused, link?.isOld === true)
  }

  /** Audio that was mixed before keypad tones were removed may contain one. */
  #mayHear(flags: number): boolean {
    return (flags & LINK.voice) !== 0 && (this.pause?.maskDtmf !== true || (flags & LINK.masked) !== 0)
  }

  #flagsOf(leg: Leg): number {
    return (
      (leg.muted && leg.isSilenced ? LINK.muted : 0) |
      (leg.onHold && leg.isSilenced ? LINK.onHold : 0) |
      (leg.deaf ? LINK.deaf : 0) |
      (this.pause?.maskDtmf === true ? LINK.masked : 0) |
      (this.pause !== null || leg.isOld ? LINK.old : 0) |
      (leg.isWide ? LINK.wide : 0) |
      (leg.isComfort ? LINK.comfort : 0) |
      (leg.isMissing ? LINK.missing : 0) |
      flagsOfVoice(leg)
    )
  }

  /** Adds the room's audio and what is played to this leg alone, below full scale. */
  #both(leg: Leg, heard: Frame | null, own: Frame | null): Frame | null {
    if (own === null && leg.limiter.gain === 1) return heard
    if (own === null && heard === null) return null
    const mixer = this.#mixer
    mixer.clear(mixer.tick)
    if (heard !== null) mixer.add(heard)
    if (own !== null) mixer.add(own)
    mixer.all(leg.heard, leg.limiter)
    return leg.heard
  }

  override get isQuiet(): boolean {
    for (const link of this.#links.values()) if (!link.isQuiet) return false
    return super.isQuiet
  }

  #tapPlayed(frame: Frame, leg: Leg | null): void {
    if (this.pause !== null) return
    for (const tap of this.taps) tap.played(frame, leg)
  }

  override close(): void {
    super.close()
    this.#links.clear()
  }
}

/** What a leg hears of the room, which it begins to hear, or no longer hears: a cut would be a click. */
const fadedAt = (leg: Leg, hears: boolean, frame: Frame | null): Frame | null =>
  frame === null || hears === leg.hearsRoom ? frame : faded(frame, hears ? 'in' : 'out')

const flagsOfVoice = ({ voice }: Leg): number =>
  voice === null
    ? 0
    : LINK.hasVoice | (voice.isSpeaking ? LINK.speaking : 0) | (Math.round(voice.levelDbov) << LEVEL_SHIFT)
