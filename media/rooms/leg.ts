import { addTo, ending, type Frame, faded } from '../../codecs/audio.ts'
import type { Past } from '../../codecs/detectors/dtmf-detector.ts'
import { type FaxTone, FaxTones } from '../../codecs/detectors/fax-tones.ts'
import type { LawName } from '../../codecs/g711.ts'
import { Limiter } from '../../codecs/limiter.ts'
import type { DtmfKey } from '../../codecs/tones.ts'
import type { Quality } from '../protocol.ts'
import { CardMask } from './card-mask.ts'
import type { Chorus } from './chorus.ts'
import { COVERED, type Sink } from './sink.ts'
import type { Sound } from './sound.ts'
import { joined, type Source } from './source.ts'
import { ToneKeys } from './tone-keys.ts'

/** Samples, and G.711 octets, in one frame of a leg. */
export const LEG_SAMPLES = 160

export type KeySource = 'rfc4733' | 'inband' | 'info'

/** Events of a leg for its owner. */
export interface LegHooks {
  /** A key was pressed, at `pressedAt` of our clock as far as the sender's timestamps tell [ms]. */
  key(leg: Leg, key: DtmfKey, source: KeySource, pressedAt: number): void
  /** Its audio is missing although it should arrive; reported once until some arrives again. */
  oneWay(leg: Leg): void
  /** Early media of the called party arrives; reported once. */
  earlyAudio(leg: Leg): void
  /** Its audio has become poor, or has recovered. */
  quality?(leg: Leg, isPoor: boolean): void
  /** A fax machine or a modem calls or answers there; reported once. */
  faxTone?(leg: Leg, tone: FaxTone): void
  /** Nothing comes from there, although it should: the far end is to be asked whether it is there; reported once until something does. */
  quiet?(leg: Leg): void
  /** No packet for a minute, nor an answer to that. */
  timedOut(leg: Leg): void
  /** An RTCP report was received from there or is sent there; not encrypted, and borrowed until the call returns. */
  report?(leg: Leg, isSent: boolean, bytes: Uint8Array, host: string, port: number): void
}

/** Of a leg whose events nobody wants. */
export const NO_HOOKS: LegHooks = { key: () => {}, oneWay: () => {}, timedOut: () => {}, earlyAudio: () => {} }

/** State of a party's voice. */
export interface Voice {
  readonly isSpeaking: boolean
  /** Over the last 200 ms. */
  readonly levelDbov: number
}

/** When a relay of packets ends, what they continue is in the mix within so many ticks. */
const FADE_WITHIN = 3

/** Needs time-outs: called at each tick. */
export interface Waiter {
  /** `isPaused`: a card-payment pause is on. */
  tick(now: number, isPaused: boolean): void
}

/**
 * One party, however it is connected (`rtp-leg.ts`, `browser-leg.ts`): provides a frame per tick, accepts a frame per tick. The room
 * deals with linear frames only.
 */
export abstract class Leg {
  readonly id: string
  /** Its call is not answered yet. */
  isEarly = false
  holdAudio: Source | null = null
  #ending: Frame | null = null
  #upperEnding: Frame | null = null
  /** Buffer for that part, written by the room, until it is sent: shared as `heard` is. */
  readonly heardUpper: Frame = HEARD_UPPER
  #leftUpper: Frame | null = null
  /** Keys that arrive as tones. */
  readonly tones = new ToneKeys()
  /** The last key that it pressed, and when. */
  pressed: string | null = null
  pressedAt = 0
  readonly #hooks: LegHooks
  readonly #faxTones = new FaxTones()
  readonly #mask = new CardMask(LEG_SAMPLES)

  // What each tick asks for: beside each other, and beside what each packet asks for in `RtpLeg`, which follows. A leg is not in the cache when its
  // turn comes, and each line of the cache costs as much as all that is done with it.

  muted = false
  deaf = false
  /** On hold by us: it neither hears the room nor is heard, and hears `holdAudio`. */
  onHold = false
  /** It takes audio: not while its own phone holds us. */
  takesAudio = true
  /** What it says in this tick was sent while a card-payment pause was on: no sink gets it, nor who only listens in. */
  isOld = false
  /** Nobody hears it in this tick, because it is muted or on hold: it is from the tick on after the one in which it has faded out. */
  isSilenced = false
  /** Ticks in which there may still be something to fade out once it is muted or on hold; 0: it has faded out. */
  #toFade = FADE_WITHIN
  /** Only these legs of the room hear it; null: all. */
  heardBy: ReadonlySet<string> | null = null
  /** It hears only these legs of the room; null: all. */
  hears: ReadonlySet<string> | null = null
  /** The room hears this while nothing comes from the party, which has not answered yet; null: nothing. */
  standIn: Source | null = null
  /** What was heard of that in the last tick. */
  #stoodIn: Source | null = null
  /** What comes next does not continue what it has said, whose end is to be heard, if it is not null. */
  #hasJumped = false
  /** The party's audio in this tick for everybody else, null: silent. Borrowed until the next `pull`. */
  said: Frame | null = null
  /** The same as received, before `sound`: for speech recognition. */
  plain: Frame | null = null
  /** The same before keypad tones were removed, too: for the payment line only. */
  raw: Frame | null = null
  /** The part above 4 kHz of the last received frame, if wanted. */
  protected upper: Frame | null = null
  /** The part of `said` above 4 kHz (`codecs/bands.ts`); null: none, or not used. */
  saidUpper: Frame | null = null
  /** It also transmits and receives audio above 4 kHz. */
  isWide = false
  /** Its room uses that band, as others hear it. */
  isUpperWanted = false
  /** Processing and analysis of its audio; null: none. */
  sound: Sound | null = null
  /** A fax machine or a modem is here, or talks with this party: the audio must not be changed. */
  isLeftAlone = false
  /** The tone with which it called or answered; null: none was heard. */
  faxDetected: FaxTone | null = null
  /** Keypad tones are being removed, or the tail of a pause runs. */
  #isMasked = false
  /** Null: it never had any. */
  #sinks: Sink[] | null = null
  /** After relayed packets it is sent the mix, as soon as whom they were of is in it; null: it is. */
  awaited: { readonly isWaiting: boolean } | null = null
  /** The part above 4 kHz of what it hears in this tick. */
  hearsUpper: Frame | null = null
  /** It heard the room in the last tick, neither deaf nor on hold; false for who has just come: what it hears fades in. */
  hearsRoom = true
  /** Playback for this leg only; null: none. */
  player: Source | null = null
  /** What of the playback for this leg only was heard in the last tick. */
  #played: Source | null = null
  /** What it heard in the room that it has left fades out; null: that is over. */
  #left: Frame | null = null
  /** More audio for this leg only, in parallel to everything else; it waits while on hold. Null: none. */
  chorus: Chorus | null = null
  /** Waits for something that may not come, for example a key; null: nobody does. */
  waiter: Waiter | null = null
  /** Buffer for what this leg hears, until it is sent. All legs share one, which therefore stays in the cache. */
  readonly heard: Frame = HEARD
  /** Keeps that below full scale. */
  readonly limiter = new Limiter()

  constructor(id: string, hooks: LegHooks) {
    this.id = id
    this.#hooks = hooks
  }

  get sinks(): Sink[] {
    this.#sinks ??= []
    return this.#sinks
  }

  /** The G.711 law on the wire; null: not negotiated yet, or another codec. */
  abstract readonly law: LawName | null
  abstract get quality(): Quality
  /** Time from the arrival of nearly every packet to the tick that needs it [ms]; null: unknown. */
  get spareMs(): number | null {
    return null
  }
  /** How much of it must remain so that nothing is late [ms]. */
  get enoughMs(): number {
    return 0
  }
  /** Received datagrams that were not valid packets. */
  abstract get packetsRefused(): number
  /** It is pulled in this slot of the clock only, so its packets are needed no sooner; null: they are, as they come. */
  follow(_slot: number | null): void {}
  /** The party's next frame; null: it is silent. Borrowed until the next call. */
  protected abstract receive(now: number): Frame | null
  /**
   * How far the party's audio has been received: what it sent before this time of our clock has been returned, or was lost [ms]. It stands still
   * while nothing comes. Valid after `receive`.
   */
  playedUntil(now: number): number {
    return now
  }
  /**
   * Ends the tick: sends what the party hears. `frame` null is silence. `encoded` is the frame in this leg's law, if it has been
   * encoded already.
   */
  abstract send(frame: Frame | null, encoded: Uint8Array | null, now: number): void
  /** Whether its packets may be relayed to `other` unchanged, as far as its own wire is concerned. */
  mayPassTo(_other: Leg, _now: number): boolean {
    return false
  }
  /** Relays packets from now on, while `isOpen`, until it is pulled again. @returns false: not possible now */
  passTo(_other: Leg, _isOpen: () => boolean, _now: number): boolean {
    return false
  }
  /** A tick in which it is not pulled because its packets are relayed. @returns false: the relay has to end */
  passed(_now: number): boolean {
    return false
  }
  /** Ends the relay of its packets, as it leaves. @returns the last frame that was relayed; null: none was lately */
  endPassing(): Frame | null {
    return null
  }
  /** Others hear nothing from it but the party's own voice, and nobody else hears it. */
  get isPlain(): boolean {
    if (this.muted || this.deaf || this.onHold || this.heardBy !== null || this.hears !== null) return false
    if (this.player !== null || this.waiter !== null || this.sound !== null || this.#isMasked) return false
    if (this.standIn !== null) return false
    return (this.#sinks === null || this.#sinks.length === 0) && (this.chorus?.isEmpty ?? true)
  }
  /** Tells the far end that the audio ends. Before `close`. */
  goodbye(_now: number): void {}
  /** Queues a key to be sent; false if it is not a key or too many wait. */
  abstract sendKey(key: string, durationMs?: number): boolean

  /**
   * Begins the tick: sets `said` and `raw`. `paused`: a card-payment pause is on. `maskTones`: others must not hear its
   * keys (during the pause's tail nobody may, in any case).
   */
  pull(now: number, paused: boolean, maskTones: boolean): void {
    const received = this.receive(now)
    const raw = this.standIn === null && this.#stoodIn === null ? received : this.#orStandIn(received)
    this.raw = raw
    this.said = raw
    if (paused || this.#isMasked) this.#takeTonesOut(paused, maskTones, now)
    this.plain = this.said
    if (this.sound !== null && !this.isLeftAlone) this.said = this.#processed(this.sound, paused)
    // After processing only the lower band is right.
    this.saidUpper = this.said === received && received !== null ? this.upper : null
    if (this.#hasJumped) this.#jump()
    this.#fadeEdges()
  }

  /** What comes next does not continue what it has said: a cut would be a click. */
  protected jumps(): void {
    this.#hasJumped = true
    this.#ending = this.said === null ? null : ending(this.said)
    this.#upperEnding = this.saidUpper === null ? null : ending(this.saidUpper)
  }

  #jump(): void {
    this.#hasJumped = this.said === null
    this.#fade('in')
    this.said = both(this.#ending, this.said)
    this.saidUpper = both(this.#upperEnding, this.saidUpper)
    this.#ending = this.#upperEnding = null
  }

  #orStandIn(received: Frame | null): Frame | null {
    const frame = received ?? this.standIn?.pull() ?? null
    const before = this.#stoodIn
    this.#stoodIn = frame === received ? null : this.standIn
    return this.#stoodIn === before ? frame : joined(frame, this.#stoodIn, before)
  }

  /** A cut would be a click. */
  #fadeEdges(): void {
    if (!this.muted && !this.onHold) {
      if (this.#toFade < FADE_WITHIN) this.#fade('in')
      this.#toFade = FADE_WITHIN
      this.isSilenced = false
      return
    }
    this.isSilenced = this.#toFade === 0
    if (this.isSilenced) return
    this.#toFade = this.said === null ? this.#toFade - 1 : 0
    this.#fade('out')
  }

  #fade(how: 'in' | 'out'): void {
    if (this.said !== null) this.said = faded(this.said, how)
    if (this.saidUpper !== null) this.saidUpper = faded(this.saidUpper, how)
  }

  /** Before it comes into another room, maybe in the middle of a word: it fades in, unless it is muted there from the beginning. */
  comes(isMuted: boolean): void {
    this.muted = isMuted
    this.#toFade = isMuted ? 0 : FADE_WITHIN - 1
    // What it said last was for the others.
    this.said = this.saidUpper = null
  }

  /** It leaves a room, in which it would have heard this, in both bands: it goes on to the next one, in silence or not. */
  leaves(ending: Frame, upperEnding: Frame | null): void {
    this.#left = ending
    this.#leftUpper = upperEnding
  }

  /** Hears this above 4 kHz, beside what it heard in the room that it has left. */
  hearUpper(upper: Frame | null): void {
    this.hearsUpper = both(this.hearsUpper, upper)
  }

  /** Whether something is played to it alone, or was in the last tick; `music`: see `pullPlayed`. */
  isPlayedTo(music: Source | null): boolean {
    return this.player !== null || music !== null || this.onHold || this.#played !== null || this.#left !== null
  }

  /** The next frame of what is played to it alone: a prompt, otherwise what is under it, as music for who is alone. */
  pullPlayed(music: Source | null): Frame | null {
    let source = this.player
    let frame = source === null ? null : source.pull()
    if (frame === null) {
      source = this.onHold ? this.holdAudio : music
      frame = source === null ? null : source.pull()
    }
    const played = frame === null ? null : (source?.part ?? source)
    const before = this.#played
    if (played === before && this.#left === null) return frame
    this.#played = played
    const own = played === before ? frame : joined(frame, played, before)
    return this.#left === null ? own : this.#withLeft(this.#left, own)
  }

  /** The sum of this, which is heard while on hold, too, and of its chorus, which waits meanwhile, and while its phone holds. */
  pullChorus(played: Frame | null): Frame | null {
    if (this.chorus === null) return played
    return this.onHold || !this.takesAudio ? this.chorus.wait(played) : this.chorus.pull(played)
  }

  #withLeft(left: Frame, own: Frame | null): Frame | null {
    this.hearsUpper = this.#leftUpper
    this.#left = this.#leftUpper = null
    return both(left, own)
  }

  #processed(sound: Sound, paused: boolean): Frame | null {
    const said = sound.process(this.said, paused || this.isUnheard, this.isComfort, this.isMissing)
    if (sound.isOver) {
      sound.close()
      this.sound = null
    }
    return said
  }

  /** What was received for this tick is comfort noise. */
  get isComfort(): boolean {
    return false
  }

  /** Nothing was received for this tick, although it was due: the network or the far end stands still. */
  get isMissing(): boolean {
    return false
  }

  /** Tones in its audio are keys. */
  protected get isListening(): boolean {
    return this.tones.isListening && !this.isLeftAlone
  }

  /**
   * Looks for keys in the next received frame.
   *
   * @param past see `DtmfDetector.write` @param soundsMs until the room hears it
   * @returns whether a tone may have begun
   */
  protected hearTones(frame: Frame, past: Past | undefined, now: number, soundsMs: number): boolean {
    const key = this.tones.hear(frame, past, now)
    if (key !== null) this.#hooks.key(this, key, 'inband', now)
    if (this.tones.isDown) this.keyDown(now + soundsMs)
    return !this.tones.isIdle
  }

  /** Looks for the tones of a fax machine in its next frame. @returns whether a tone may have begun */
  protected hearFax(frame: Frame): boolean {
    if (this.faxDetected !== null) return false
    const tone = this.#faxTones.write(frame)
    if (tone !== null) {
      this.faxDetected = tone
      this.#hooks.faxTone?.(this, tone)
    }
    return !this.#faxTones.isIdle
  }

  /**
   * A fax machine or a modem is in the conversation: audio passes unchanged for the rest of the leg. Losses are silence, gain and playout speed are
   * not changed, and no tone is a key. A card-payment pause still masks; otherwise anybody could end the masking by whistling.
   */
  leaveAlone(): void {
    this.isLeftAlone = true
  }

  #takeTonesOut(paused: boolean, maskTones: boolean, now: number): void {
    const isVoice = this.raw !== null && !this.isComfort
    this.#mask.process(this.raw, isVoice, paused, now, this.playedUntil(now))
    this.#isMasked = this.#mask.engaged
    this.isOld = this.#mask.isOld
    if (this.#isMasked && (maskTones || !paused)) this.said = this.#mask.clean
  }

  /** A card-payment pause is on, or was until now. */
  paused(now: number): void {
    this.#mask.paused(now)
    this.#isMasked = true
  }

  /** A key is down until then, by events or signalling: in a pause only the payment line hears this leg meanwhile. */
  keyDown(until: number): void {
    this.#mask.keyDown(until)
  }

  /** Whether a key that arrives now belongs to a pause, even if the pause has ended. */
  coversKey(source: KeySource, pressedAt: number, now: number): boolean {
    return this.#mask.covers(source, pressedAt, now)
  }

  /**
   * Gives the sinks what the party said in this tick, or what the pause leaves of it. Runs before anything is played: a sink that detects
   * voice in it can still silence this tick.
   */
  tapSaid(paused: boolean): void {
    if (this.#sinks === null) return
    const isCovered = paused || this.isOld
    for (const sink of this.#sinks) {
      if (isCovered && sink.onPause === 'nothing') continue
      const said = sink.hearsPlain === true ? this.plain : this.said
      const frame = said === null || this.#isHeardByNone ? SILENCE : said
      sink.write('inbound', isCovered ? COVERED : frame, this.isComfort, this.isMissing)
    }
  }

  /** The same for what it heard, at the end of the tick. @param isOld something in that is: see `isOld` */
  tapHeard(heard: Frame | null, paused: boolean, isOld: boolean): void {
    if (this.#sinks === null) return
    for (const sink of this.#sinks) {
      if ((paused || this.isOld) && sink.onPause === 'nothing') continue
      sink.write('outbound', paused || isOld ? COVERED : (heard ?? SILENCE))
    }
  }

  get #isHeardByNone(): boolean {
    return this.isSilenced || this.heardBy?.size === 0
  }

  /** Nobody in the room is to hear it: muted, on hold, or a monitor. */
  protected get isUnheard(): boolean {
    return this.muted || this.onHold || this.heardBy?.size === 0
  }

  /** Whether it speaks, and how loud others hear it; null: not requested. */
  get voice(): Voice | null {
    return this.sound?.settings.speechEvents === true ? this.sound : null
  }

  /** Idempotent. The owner closes the sockets and takes the leg out of its room. */
  close(): void {
    for (const sink of this.#sinks?.splice(0) ?? []) sink.close()
    this.sound?.close()
    this.sound = null
    this.player = null
    this.chorus = null
    this.said = this.plain = this.raw = this.saidUpper = null
  }
}

/** The sum, in the first of two frames, of which either may be missing. */
function both(sum: Frame | null, frame: Frame | null): Frame | null {
  if (sum === null || frame === null) return sum ?? frame
  addTo(sum, frame)
  return sum
}

const HEARD: Frame = new Int16Array(LEG_SAMPLES)
const HEARD_UPPER: Frame = new Int16Array(LEG_SAMPLES)

/** A silent frame; it must not be written to. */
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
