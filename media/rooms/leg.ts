import type { Frame } from '../../codecs/audio.ts'
import { type FaxTone, FaxTones } from '../../codecs/detectors/fax-tones.ts'
import type { LawName } from '../../codecs/g711.ts'
import { Limiter } from '../../codecs/limiter.ts'
import type { DtmfKey } from '../../codecs/tones.ts'
import type { Quality } from '../protocol.ts'
import { CardMask } from './card-mask.ts'
import type { Chorus } from './chorus.ts'
import type { Sink } from './sink.ts'
import type { Sound } from './sound.ts'
import type { Source } from './source.ts'
import { ToneKeys } from './tone-keys.ts'

/** Samples, and G.711 octets, in one frame of a leg. */
export const LEG_SAMPLES = 160

export type KeySource = 'rfc4733' | 'inband' | 'info'

/** What a leg tells its owner. */
export interface LegHooks {
  /** A key was pressed, at `pressedAt` of our clock as far as its sender tells [ms]. */
  key(leg: Leg, key: DtmfKey, source: KeySource, pressedAt: number): void
  /** None of its audio comes, or no more, although it should; told once until some comes again. */
  oneWay(leg: Leg): void
  /** Audio comes from who is called, before the answer; told once. */
  earlyAudio(leg: Leg): void
  /** What is heard of it has become poor, or is well again. */
  quality?(leg: Leg, isPoor: boolean): void
  /** A fax machine, or a modem, calls or answers there; told once. */
  faxTone?(leg: Leg, tone: FaxTone): void
  /** No packet for a minute. */
  timedOut(leg: Leg): void
  /** A report of its audio came, or is sent, to or from there; not encrypted, and borrowed until the call returns. */
  report?(leg: Leg, isSent: boolean, bytes: Uint8Array, host: string, port: number): void
}

/** What is known of a voice. */
export interface Voice {
  readonly isSpeaking: boolean
  /** Over the last 200 ms. */
  readonly levelDbov: number
}

/** Wants to know at each tick how late it is. */
export interface Waiter {
  /** `isPaused`: a card-payment pause is on. */
  tick(now: number, isPaused: boolean): void
}

/**
 * One party, whatever connects it (`rtp-leg.ts`, `browser-leg.ts`): gives a frame per tick, takes a frame per tick. The room sees
 * linear frames only.
 */
export abstract class Leg {
  readonly id: string
  muted = false
  deaf = false
  /** Only these legs of the room hear it; null: all. */
  heardBy: ReadonlySet<string> | null = null
  /** It hears only these legs of the room; null: all. */
  hears: ReadonlySet<string> | null = null
  /** Its call is not answered yet. */
  isEarly = false
  /** We have put it on hold: it neither hears the room nor is heard, and hears `holdAudio`. */
  onHold = false
  holdAudio: Source | null = null
  /** What the party said in this tick for everybody else, null: silent. Borrowed until the next `pull`. */
  said: Frame | null = null
  /** The same as it came, before `sound`: for who understands words. */
  plain: Frame | null = null
  /** The same before keypad tones were taken out, too: for the payment line only. */
  raw: Frame | null = null
  /** It speaks and hears above 4 kHz too. */
  isWide = false
  /** Its room wants to have that, as others hear it. */
  isUpperWanted = false
  /** What of `said` is above 4 kHz (`codecs/bands.ts`); null: nothing, or nobody wants it. */
  saidUpper: Frame | null = null
  /** The same of what it hears in this tick. */
  hearsUpper: Frame | null = null
  /** Where the room writes that. */
  readonly heardUpper: Frame = new Int16Array(LEG_SAMPLES)
  /** What is done with its audio, and known of it; null: nothing is wanted. */
  sound: Sound | null = null
  /** Where the room writes what this leg hears, until it is sent: all legs have one, which so stays in the cache. */
  readonly heard: Frame = HEARD
  /** Keeps that below full scale. */
  readonly limiter = new Limiter()
  /** Heard by this leg alone; null: nothing is. */
  player: Source | null = null
  /** Heard by this leg alone too, beside all else and until it ends, but not on hold: it waits then; null: nobody speaks so. */
  chorus: Chorus | null = null
  /** Waits for something that may not come, a key for one; null: nobody does. */
  waiter: Waiter | null = null
  readonly sinks: Sink[] = []
  /** A fax machine or a modem talks here, or with whom is here: its audio is left alone. */
  isLeftAlone = false
  /** What it called or answered with; null: nothing was heard of one. */
  faxDetected: FaxTone | null = null
  /** Its keys that come as tones. */
  readonly tones = new ToneKeys()
  /** The key that it has pressed last, and when. */
  pressed: string | null = null
  pressedAt = 0

  readonly #hooks: LegHooks
  readonly #faxTones = new FaxTones()
  readonly #mask = new CardMask(LEG_SAMPLES)
  /** Keypad tones are being taken out, or the tail of a pause runs. */
  #isMasked = false

  constructor(id: string, hooks: LegHooks) {
    this.id = id
    this.#hooks = hooks
  }

  /** The G.711 law of the wire; null: none was agreed on yet, or it is another codec. */
  abstract get law(): LawName | null
  abstract get quality(): Quality
  /** From the arrival of nearly every packet to the tick that needs it [ms]; null: nothing is known of that. */
  get spareMs(): number | null {
    return null
  }
  /** What came and was not what was agreed on. */
  abstract get packetsRefused(): number
  /** The party's next frame; null: it is silent. Borrowed until the next call. */
  protected abstract receive(now: number): Frame | null
  /** What is above 4 kHz of the frame that was received last, if wanted. */
  protected upper: Frame | null = null
  /**
   * Ends the tick: sends what the party hears. `frame` null is silence; `encoded` is the frame in this leg's law when
   * somebody has encoded it already.
   */
  abstract send(frame: Frame | null, encoded: Uint8Array | null, now: number): void
  /** Whether what comes of it may go to `other` as it comes, as far as its own wire is concerned. */
  mayPassTo(_other: Leg, _now: number): boolean {
    return false
  }
  /** From now on it does, packet by packet, while `isOpen`, and until it is pulled again. @returns false: it does not just now */
  passTo(_other: Leg, _isOpen: () => boolean, _now: number): boolean {
    return false
  }
  /** A tick in which it is not pulled, for what it hears and says passes it by. @returns false: it does not any more */
  passed(_now: number): boolean {
    return false
  }
  /** Nothing but the voice of the party itself is in what others hear of it, and nobody but they hear it. */
  get isPlain(): boolean {
    if (this.muted || this.deaf || this.onHold || this.heardBy !== null || this.hears !== null) return false
    if (this.player !== null || this.waiter !== null || this.sound !== null || this.#isMasked) return false
    return this.sinks.length === 0 && (this.chorus?.isEmpty ?? true)
  }
  /** Tells the far end that it goes, as far as its audio is concerned. Before `close`. */
  goodbye(_now: number): void {}
  /** Queues a key to be sent; false when it is none or too many wait. */
  abstract sendKey(key: string, durationMs?: number): boolean

  /**
   * Begins the tick: sets `said` and `raw`. `paused`: a card-payment pause is on; `maskTones`: others must not hear the
   * keys of it (during the pause's tail nobody may, in any case).
   */
  pull(now: number, paused: boolean, maskTones: boolean): void {
    const raw = this.receive(now)
    this.raw = raw
    this.said = raw
    if (raw !== null && this.law !== null) this.hearFax(raw)
    if (paused || this.#isMasked) this.#takeTonesOut(paused, maskTones, now)
    this.plain = this.said
    if (this.sound !== null && !this.isLeftAlone) this.said = this.sound.process(this.said, paused || this.isUnheard)
    // Of what was changed only the lower band is right.
    this.saidUpper = this.said === raw && raw !== null ? this.upper : null
  }

  /** Tones in its audio are keys. */
  protected get isListening(): boolean {
    return this.tones.isListening && !this.isLeftAlone
  }

  /** Looks for keys in the next frame that came. @param soundsMs until the room has heard it */
  protected hearTones(frame: Frame, now: number, soundsMs: number): void {
    const key = this.tones.hear(frame, now)
    if (key !== null) this.#hooks.key(this, key, 'inband', now)
    if (this.tones.isDown) this.keyDown(now + soundsMs)
  }

  /** Looks for the tones of a fax machine in the next frame of it. */
  protected hearFax(frame: Frame): void {
    if (this.faxDetected !== null) return
    const tone = this.#faxTones.write(frame)
    if (tone === null) return
    this.faxDetected = tone
    this.#hooks.faxTone?.(this, tone)
  }

  /**
   * A fax machine or a modem talks with somebody: what comes is passed on as it came, for as long as the leg lasts. Losses are silence, nothing is
   * made louder, softer, faster or slower, and no tone is a key. A card-payment pause still masks: who whistles must not end that.
   */
  leaveAlone(): void {
    this.isLeftAlone = true
  }

  #takeTonesOut(paused: boolean, maskTones: boolean, now: number): void {
    this.#mask.process(this.raw, paused, now)
    this.#isMasked = this.#mask.engaged
    if (this.#isMasked && (maskTones || !paused)) this.said = this.#mask.clean
  }

  /** A card-payment pause is on. */
  paused(now: number): void {
    this.#mask.paused(now)
  }

  /** A key is down until then by events or signalling: in a pause nobody but the payment line hears this leg meanwhile. */
  keyDown(until: number): void {
    this.#mask.keyDown(until)
  }

  /** Whether a key that comes now is one of a pause, though that may be over. */
  coversKey(source: KeySource, pressedAt: number, now: number): boolean {
    return this.#mask.covers(source, pressedAt, now)
  }

  /**
   * Gives the sinks what the party said in this tick, or what the pause leaves of it. Before anything is played: whoever hears a
   * voice in it can still silence this tick.
   */
  tapSaid(paused: boolean): void {
    for (const sink of this.sinks) {
      if (paused && sink.onPause === 'nothing') continue
      const said = sink.hearsPlain === true ? this.plain : this.said
      sink.write('inbound', paused || said === null || this.isUnheard ? SILENCE : said)
    }
  }

  /** The same for what it heard, at the end of the tick. */
  tapHeard(heard: Frame | null, paused: boolean): void {
    for (const sink of this.sinks) {
      if (paused && sink.onPause === 'nothing') continue
      sink.write('outbound', paused || heard === null ? SILENCE : heard)
    }
  }

  /** Nobody in the room hears it: muted, on hold, or a monitor. */
  protected get isUnheard(): boolean {
    return this.muted || this.onHold || this.heardBy?.size === 0
  }

  /** Whether it speaks, and how loud others hear it; null: nobody wants to know. */
  get voice(): Voice | null {
    return this.sound?.settings.speechEvents === true ? this.sound : null
  }

  /** Idempotent. The owner closes the sockets and takes the leg out of its room. */
  close(): void {
    for (const sink of this.sinks.splice(0)) sink.close()
    this.sound?.close()
    this.sound = null
    this.player = null
    this.chorus = null
  }
}

const HEARD: Frame = new Int16Array(LEG_SAMPLES)

/** A silent frame; nobody writes to it. */
export const SILENCE: Frame = new Int16Array(LEG_SAMPLES)

/** The quality of a leg that never had audio. */
export const NO_QUALITY: Quality = {
  codec: null,
  packetsReceived: 0,
  packetsSent: 0,
  packetsLost: 0,
  packetsLate: 0,
  lossPct: 0,
  concealedPct: 0,
  burstRatio: 1,
  jitterMs: 0,
  roundTripMs: null,
  delayMs: 0,
  driftPpm: null,
  mos: null,
}
