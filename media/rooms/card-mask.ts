import type { Frame } from '../../codecs/audio.ts'
import { DtmfMask } from '../../codecs/dtmf-mask.ts'
import { KeypadStop, STOP_DELAY_FRAMES } from '../../codecs/keypad-stop.ts'
import type { Events } from '../protocol.ts'

/**
 * How long the mask stays on after a pause has ended [frames]: a key pressed in its last moment, or held beyond it, is
 * still a key of the payment. Counted from the end of the last tone.
 */
const TAIL_FRAMES = 15
const TAIL_MS = 20 * TAIL_FRAMES

/** No key is held for longer than this after a pause; what still sounds like one is a whistle or a machine [frames]. */
const MAX_TAIL_FRAMES = 500

/**
 * Keys that come so soon after a pause were pressed in it [ms]: packets queue in networks, and a lost INFO comes again after half a
 * second, and after one more (RFC 3261 §17.1.2.2). Tones are delayed by the jitter buffer alone.
 */
const GRACE_MS: Record<Events['leg.dtmf']['source'], number> = { rfc4733: 1000, info: 2000, inband: TAIL_MS }

/**
 * What one leg types and sounds like in a card-payment pause (api-additions.md, "Card-payment pause"): takes the keypad tones out of
 * its audio, and knows which keys are of the payment. While engaged the clean audio runs behind by the mask's look-ahead, so that a
 * tone's leading edge can be removed too, and lacks the frequencies of keypads: what is too faint under a voice to be found is not in it.
 * Pure: `now` is monotonic [ms].
 */
export class CardMask {
  /** The audio without tones, silence included; valid after `process` while engaged. */
  readonly clean: Frame
  readonly #silence: Frame
  readonly #voice: Frame
  #mask: DtmfMask | null = null
  #stop: KeypadStop | null = null
  #tail = 0
  #framesSincePause = 0
  /** A pause was on at this time. */
  #pausedAt = Number.NEGATIVE_INFINITY
  /** A key is down until then, by whoever told of it. */
  #downUntil = Number.NEGATIVE_INFINITY

  constructor(samples: number) {
    this.clean = new Int16Array(samples)
    this.#silence = new Int16Array(samples)
    this.#voice = new Int16Array(samples)
  }

  /** Tones are being removed, or the tail of a pause runs. */
  get engaged(): boolean {
    return this.#mask !== null
  }

  /** A pause is on. */
  paused(now: number): void {
    this.#pausedAt = now
  }

  /** A key is down until then, whatever can be heard of it: the audio of that time is silence. */
  keyDown(until: number): void {
    this.#downUntil = Math.max(this.#downUntil, until)
  }

  /** Whether a key that comes now was pressed in the pause that is on, or was on until a moment ago. */
  covers(source: Events['leg.dtmf']['source'], pressedAt: number, now: number): boolean {
    if (this.engaged || now - this.#pausedAt < GRACE_MS[source]) return true
    return pressedAt - this.#pausedAt < TAIL_MS
  }

  /** One frame of the leg (null: silent); `paused` engages, the end of the tail releases. */
  process(frame: Frame | null, paused: boolean, now: number): void {
    if (paused) this.paused(now)
    if (this.#mask === null) {
      if (!paused) return
      this.#mask = new DtmfMask(STOP_DELAY_FRAMES)
      this.#stop = new KeypadStop()
    }
    const isDown = now < this.#downUntil
    const heard = frame ?? this.#silence
    this.#stop?.process(heard, this.#voice)
    this.#mask.process(heard, this.clean, isDown, this.#voice)
    this.#framesSincePause = paused ? 0 : this.#framesSincePause + 1
    this.#tail = paused || isDown || this.#mask.tonePresent ? TAIL_FRAMES : this.#tail - 1
    // What the look-ahead still holds is dropped, never let out.
    if (this.#tail <= 0 || this.#framesSincePause > MAX_TAIL_FRAMES) this.#mask = null
  }
}
