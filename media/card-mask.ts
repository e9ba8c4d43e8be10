import type { Frame } from '../codecs/audio.ts'
import { DtmfMask } from '../codecs/dtmf-mask.ts'

/**
 * How long the mask stays on after a pause has ended [frames]: a key pressed in its last moment, or held beyond it, is
 * still a key of the payment. Counted from the end of the last tone.
 */
const TAIL_FRAMES = 15

/** No key is held for longer than this after a pause; what still sounds like one is a whistle or a machine [frames]. */
const MAX_TAIL_FRAMES = 500

/**
 * Takes the keypad tones out of one leg's audio during a card-payment pause (api-additions.md, "Card-payment pause").
 * While engaged the clean audio runs behind by the mask's look-ahead, so that a tone's leading edge can be removed too.
 */
export class CardMask {
  /** The audio without tones, silence included; valid after `process` while engaged. */
  readonly clean: Frame
  readonly #silence: Frame
  #mask: DtmfMask | null = null
  #tail = 0
  #framesSincePause = 0

  constructor(samples: number) {
    this.clean = new Int16Array(samples)
    this.#silence = new Int16Array(samples)
  }

  /** Tones are being removed, or the tail of a pause runs. */
  get engaged(): boolean {
    return this.#mask !== null
  }

  /** One frame of the leg (null: silent); `paused` engages, the end of the tail releases. */
  process(frame: Frame | null, paused: boolean): void {
    if (this.#mask === null) {
      if (!paused) return
      this.#mask = new DtmfMask()
    }
    this.#mask.process(frame ?? this.#silence, this.clean)
    this.#framesSincePause = paused ? 0 : this.#framesSincePause + 1
    this.#tail = paused || this.#mask.tonePresent ? TAIL_FRAMES : this.#tail - 1
    // What the look-ahead still holds is dropped, never let out.
    if (this.#tail <= 0 || this.#framesSincePause > MAX_TAIL_FRAMES) this.#mask = null
  }
}
