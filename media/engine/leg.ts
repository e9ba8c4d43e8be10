import type { Frame } from '../../codecs/audio.ts'
import { DtmfDetector } from '../../codecs/dtmf-detector.ts'
import type { DtmfKey } from '../../codecs/tones.ts'
import type { CodecName, Quality } from '../protocol.ts'
import { CardMask } from './card-mask.ts'
import type { Sink } from './sink.ts'
import type { Source } from './source.ts'

/** Samples, and G.711 octets, in one frame of a leg. */
export const LEG_SAMPLES = 160

export type KeySource = 'rfc4733' | 'inband' | 'info'

/** What a leg tells its owner. */
export interface LegHooks {
  /** A key was pressed, at `pressedAt` of our clock as far as its sender tells [ms]. */
  key(leg: Leg, key: DtmfKey, source: KeySource, pressedAt: number): void
  /** None of its audio comes, or no more, although it should; told once until some comes again. */
  oneWay(leg: Leg): void
  /** No packet for a minute. */
  timedOut(leg: Leg): void
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
  /** We have put it on hold: it neither hears the room nor is heard, and hears `holdAudio`. */
  onHold = false
  holdAudio: Source | null = null
  /** What the party said in this tick for everybody else, null: silent. Borrowed until the next `pull`. */
  said: Frame | null = null
  /** The same before keypad tones were taken out: for the payment line only. */
  raw: Frame | null = null
  /** Where the room writes what this leg hears. */
  readonly heard: Frame = new Int16Array(LEG_SAMPLES)
  /** Heard by this leg alone. */
  player: Source | null = null
  readonly sinks: Sink[] = []

  readonly #hooks: LegHooks
  readonly #mask = new CardMask(LEG_SAMPLES)
  readonly #inband = new DtmfDetector()

  constructor(id: string, hooks: LegHooks) {
    this.id = id
    this.#hooks = hooks
  }

  /** The G.711 law of the wire; null: none was agreed on yet, or it is another codec. */
  abstract get codec(): CodecName | null
  abstract get quality(): Quality
  /** What came and was not what was agreed on. */
  abstract get packetsRefused(): number
  /** The party's next frame; null: it is silent. Borrowed until the next call. */
  protected abstract receive(now: number): Frame | null
  /** Keys come as tones in the audio, since there is no other way for them. */
  protected abstract get hasToneKeys(): boolean
  /**
   * Ends the tick: sends what the party hears. `frame` null is silence; `encoded` is the frame in this leg's law when
   * somebody has encoded it already.
   */
  abstract send(frame: Frame | null, encoded: Uint8Array | null, now: number): void
  /** Tells the far end that it goes, as far as its audio is concerned. Before `close`. */
  goodbye(_now: number): void {}
  /** Queues a key to be sent; false when it is none or too many wait. */
  abstract sendKey(key: string, durationMs?: number): boolean

  /**
   * Begins the tick: sets `said` and `raw`. `paused`: a card-payment pause is on; `maskTones`: others must not hear the
   * keys of it (during the pause's tail nobody may, in any case).
   */
  pull(now: number, paused: boolean, maskTones: boolean): void {
    this.raw = this.receive(now)
    this.said = this.raw
    if (this.hasToneKeys && this.raw !== null) {
      this.#inband.write(this.raw)
      if (this.#inband.began !== null) this.#hooks.key(this, this.#inband.began, 'inband', now)
      if (this.#inband.key !== null) this.keyDown(now + 1)
    }
    if (paused || this.#mask.engaged) {
      this.#mask.process(this.raw, paused, now)
      if (this.#mask.engaged && (maskTones || !paused)) this.said = this.#mask.clean
    }
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
      sink.write('inbound', paused || this.said === null || this.isUnheard ? SILENCE : this.said)
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

  /** Idempotent. The owner closes the sockets and takes the leg out of its room. */
  close(): void {
    for (const sink of this.sinks.splice(0)) sink.close()
    this.player = null
  }
}

/** A silent frame; nobody writes to it. */
export const SILENCE: Frame = new Int16Array(LEG_SAMPLES)
