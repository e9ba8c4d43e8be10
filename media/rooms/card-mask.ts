import { int16Array } from '../../codecs/arrays.ts'
import { FRAME_MS, type Frame } from '../../codecs/audio.ts'
import { DELAY_FRAMES, DtmfMask } from '../../codecs/dtmf-mask.ts'
import { KeypadStop, STOP_DELAY_FRAMES } from '../../codecs/keypad-stop.ts'
import type { Events } from '../protocol.ts'

/**
 * How long the mask stays on after a pause has ended [frames]: a key pressed at its last moment, or held beyond it, still
 * belongs to the payment. Counted from the end of the last tone.
 */
const TAIL_FRAMES = 15
const TAIL_MS = 20 * TAIL_FRAMES

/**
 * What the party sent until then is looked at before the mask goes [ms after the pause]: a network that stalls delivers tones of the pause
 * long after its end. The look-ahead is the rest of the tail.
 */
const OLD_MS = TAIL_MS - 20 * DELAY_FRAMES

/**
 * What is sent so soon after a pause may still be of it: a packet waits until it is full, noise suppression is 10 ms late, and the sender's clock is
 * known to some milliseconds [ms].
 */
const FILLING_MS = 2 * FRAME_MS

/** No key is held longer than this after a pause; a longer sound is a whistle or a machine [frames]. */
const MAX_TAIL_FRAMES = 500

/**
 * A key that arrives this soon after a pause was pressed in it [ms]: networks queue packets, and a lost INFO is retransmitted after half a
 * second, and after one more (RFC 3261 §17.1.2.2). Tones are delayed by the jitter buffer only.
 */
const GRACE_MS: Record<Events['leg.dtmf']['source'], number> = { rfc4733: 1000, info: 2000, inband: TAIL_MS }

/**
 * Masks one leg in a card-payment pause: removes the keypad tones from its audio, and decides which
 * keys belong to the payment. While engaged, the clean audio is delayed by the mask's look-ahead, so that a tone's leading edge can be
 * removed too. It also lacks the keypad frequencies, in which a tone too faint to be detected under a voice would remain.
 * Pure: `now` is monotonic [ms].
 */
export class CardMask {
  readonly #samples: number
  /** From the first pause on: most legs are in none. */
  #frames: { clean: Frame; silence: Frame; voice: Frame } | null = null
  #mask: DtmfMask | null = null
  #stop: KeypadStop | null = null
  #tail = 0
  /** Frames that are still to be looked at, once the party's audio has come as far as the end of the pause. */
  #toLookAt = 0
  /** Frames that still come out of the look-ahead, the last of which was sent in the pause. */
  #oldFrames = 0
  #framesSincePause = 0
  /** The last time at which a pause was on. */
  #pausedAt = Number.NEGATIVE_INFINITY
  /** A key is down until then, by any report. */
  #downUntil = Number.NEGATIVE_INFINITY

  constructor(samples: number) {
    this.#samples = samples
  }

  /** The audio without tones, silence included; valid after `process` while engaged. */
  get clean(): Frame {
    return this.#frames!.clean
  }

  /** Tones are being removed, or the tail of a pause runs. */
  get engaged(): boolean {
    return this.#mask !== null
  }

  /** What comes out was sent while a pause was on, however late it is played: no sink gets it. */
  get isOld(): boolean {
    return this.#mask !== null && this.#oldFrames > 0
  }

  /** A pause is on, or was until now. */
  paused(now: number): void {
    this.#pausedAt = now
  }

  /** A key is down until then, audible or not: the audio of that time is silence. */
  keyDown(until: number): void {
    this.#downUntil = Math.max(this.#downUntil, until)
  }

  /** Whether a key that arrives now was pressed in the current pause, or in one that ended a moment ago. */
  covers(source: Events['leg.dtmf']['source'], pressedAt: number, now: number): boolean {
    // Tones come with the audio, however late that is.
    const isHeld = source === 'inband' ? this.engaged : this.engaged && this.#tail > 0
    return isHeld || now - this.#pausedAt < GRACE_MS[source] || pressedAt - this.#pausedAt < TAIL_MS
  }

  /**
   * One frame of the leg (null: silent); the first one engages the mask, the end of the tail releases it. That may be the first after a pause: if our
   * thread stalls, a whole pause passes between two ticks.
   *
   * @param isVoice false: it is comfort noise of ours, or nothing
   * @param playedUntil see `Leg.playedUntil`
   */
  process(frame: Frame | null, isVoice: boolean, paused: boolean, now: number, playedUntil: number): void {
    if (paused) this.paused(now)
    if (this.#mask === null) {
      this.#mask = new DtmfMask(STOP_DELAY_FRAMES)
      this.#stop = new KeypadStop()
    }
    const isDown = now < this.#downUntil
    this.#frames ??= this.#newFrames()
    const { clean, silence, voice } = this.#frames
    const heard = frame ?? silence
    this.#stop?.process(heard, voice)
    this.#mask.process(heard, clean, isDown, voice)
    this.#framesSincePause = paused ? 0 : this.#framesSincePause + 1
    this.#tail = paused || isDown || this.#mask.tonePresent ? TAIL_FRAMES : this.#tail - 1
    const isOld = isVoice && playedUntil - FRAME_MS - this.#pausedAt < FILLING_MS
    this.#oldFrames = isOld ? DELAY_FRAMES + 1 : this.#oldFrames - 1
    this.#toLookAt = playedUntil - this.#pausedAt < OLD_MS ? DELAY_FRAMES : this.#toLookAt - 1
    // The rest of the look-ahead is dropped, never played.
    if ((this.#tail <= 0 && this.#toLookAt <= 0) || this.#framesSincePause > MAX_TAIL_FRAMES) this.#mask = null
  }

  #newFrames(): { clean: Frame; silence: Frame; voice: Frame } {
    const newFrame = (): Frame => int16Array(this.#samples)
    return { clean: newFrame(), silence: newFrame(), voice: newFrame() }
  }
}
