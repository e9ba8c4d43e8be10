import { int16Array } from '../../codecs/arrays.ts'
import type { Frame } from '../../codecs/audio.ts'
import { MAX_SAMPLES } from '../../codecs/kernels/frames.ts'
import { isQuiet } from '../../codecs/level.ts'
import { PLAYED_FRAMES, PlayedFrames } from '../../codecs/plc.ts'
import { type Pace, TimeScale } from '../../codecs/time-scale.ts'
import { LEG_SAMPLES } from '../rooms/leg.ts'
import type { JitterBuffer, PullResult } from '../rtp/jitter.ts'

/** A whole frame more is seldom whole periods: so much more of a frame may wait for a while. */
const MAX_OVERSHOOT = 4

/**
 * How long a change by a frame waits for a moment without a voice, in which it is inaudible [ticks]. Dropping a frame only ends an unneeded
 * delay. Without an added one, packets would soon be late, and each tick costs more until the change is done.
 */
const PATIENCE_TICKS = { less: 500, more: 100 }
/** If the delay grows by more meanwhile, as with a drifting clock, the change waits no longer [ms]. */
const MOST_GROWTH_MS = 0.5
/** What a frame that is back goes on from. It is used up in the same tick, so all streams share it. */
const MORE: Frame = new Int16Array(MAX_SAMPLES)
/** A frame as it comes out of the jitter buffer, until it is decoded: shared in the same way. */
const PAYLOAD = new Uint8Array(LEG_SAMPLES)

/** `lost`: to be concealed; `back`: continues the audio from before a loss; `joint`: does not continue what was played before. */
export type FrameKind = 'audio' | 'lost' | 'back' | 'joint'

/** Decodes the output of the jitter buffer. */
export interface FrameMaker {
  /**
   * Fills the newest of these frames.
   *
   * @param payload where nothing is lost
   * @param more of 'back': gets what goes before the frame, to be in step with what was made up
   * @returns how many samples that are
   */
  make(kind: FrameKind, payload: Uint8Array, played: PlayedFrames, more: Int16Array): number
}

/**
 * Turns a jitter buffer into a frame per tick. If the buffer wants to wait a frame less or more, the stream is played faster or slower
 * until that is reached; in a pause, at once. Otherwise frames pass unchanged.
 */
export class Playout {
  readonly #jitter: JitterBuffer
  readonly #maker: FrameMaker
  readonly #played: PlayedFrames
  readonly #out: Frame
  readonly #scale: TimeScale
  readonly #overshoot: number
  #moreSamples = 0
  #isLost = false
  #isLeftAlone = false
  /** How long a change has waited [ticks]; infinite: it waits no longer. */
  #waited = 0
  /** Spare time of the packets when it began to wait [ms]. */
  #spareMs = 0
  /** The last tick produced nothing. */
  #isPause = true

  /** @param jitter of frames of 160 bytes @param samples of a decoded frame */
  constructor(jitter: JitterBuffer, maker: FrameMaker, samples: number) {
    this.#jitter = jitter
    this.#maker = maker
    this.#played = new PlayedFrames(samples)
    this.#out = int16Array(samples)
    this.#scale = new TimeScale(samples)
    this.#overshoot = samples / MAX_OVERSHOOT
  }

  /** Decoded samples that wait behind the last frame. */
  get waiting(): number {
    return this.#scale.waiting
  }

  /** The frames that were played before the last `count` ones, oldest first, as far as they are known; borrowed until the next call. */
  before(count: number): readonly Frame[] {
    const { frames, at } = this.#played
    return Array.from({ length: PLAYED_FRAMES - count }, (_, n) => frames[(at + 1 + n) % PLAYED_FRAMES]!)
  }

  /** The next frame, borrowed until the next call; null: silence. To be called once per tick. */
  pull(now: number): Frame | null {
    const jitter = this.#jitter
    if (this.#isLeftAlone) return this.#make(jitter.pull(PAYLOAD, now), false)
    const { excess } = jitter
    this.#wait(excess)
    if (this.#scale.waiting > 0 || jitter.isBack || (excess !== 0 && this.#isTimeToChange)) return this.#adapt(now)
    const frame = this.#make(jitter.pull(PAYLOAD, now), false)
    this.#isPause = frame === null
    return frame
  }

  #wait(excess: number): void {
    if (excess === 0 && this.#scale.waiting === 0) {
      this.#waited = 0
      return
    }
    const spareMs = this.#jitter.spareMs ?? 0
    if (++this.#waited === 1) this.#spareMs = spareMs
    const isGrowing = excess > 0 && spareMs - this.#spareMs > MOST_GROWTH_MS
    if (this.#waited > PATIENCE_TICKS[excess > 0 ? 'less' : 'more'] || Math.abs(excess) > 1 || isGrowing) {
      this.#waited = Number.POSITIVE_INFINITY
    }
  }

  get #isUrgent(): boolean {
    return this.#waited === Number.POSITIVE_INFINITY
  }

  get #isTimeToChange(): boolean {
    return this.#isPause || this.#isUrgent || isQuiet(this.#played.frames[this.#played.at]!)
  }

  /** The waiting samples, less than a frame, followed by silence; borrowed until the next call. */
  takeRest(): Frame {
    this.#scale.drain(this.#out)
    return this.#out
  }

  /** Fixes the playout speed, for receivers that measure time by samples (fax, modems). */
  leaveAlone(): void {
    this.#isLeftAlone = true
    this.#scale.clear()
  }

  /** Another source: nothing continues, and nothing that was played before resembles what is lost of it. */
  reset(): void {
    this.#scale.clear()
    for (const frame of this.#played.frames) frame.fill(0)
  }

  /** @param isBack what was waited for was to be taken */
  #make(result: PullResult, isBack: boolean): Frame | null {
    if (result !== 'audio' && result !== 'lost') return null
    const played = this.#played
    played.at = played.at + 1 === PLAYED_FRAMES ? 0 : played.at + 1
    this.#isLost = result === 'lost'
    const kind = this.#isLost ? 'lost' : this.#jitter.isJoint ? 'joint' : isBack ? 'back' : 'audio'
    this.#moreSamples = this.#maker.make(kind, PAYLOAD, played, MORE)
    return played.frames[played.at]!
  }

  #adapt(now: number): Frame | null {
    const jitter = this.#jitter
    const scale = this.#scale
    const { excess } = jitter
    if (excess < 0 && this.#isPause) {
      jitter.stay(now)
      return null
    }
    const size = this.#out.length
    if (scale.waiting >= size && (excess < 0 || !jitter.isReady)) jitter.stay(now)
    // After a stall of ours, more than a frame may wait where nothing else is left.
    else if (!this.#takeIn(now) && scale.waiting < size) return this.#rest()
    // Waiting samples beyond the need of the jitter buffer are useless delay.
    const pace: Pace = jitter.excess < 0 ? 'slower' : 'faster'
    const over = scale.waiting - size
    const most = pace === 'faster' ? over : size - over + this.#overshoot
    const isTime = this.#isUrgent || scale.isQuiet(pace, Math.min(most, size))
    scale.take(this.#out, this.#isLost || !isTime ? 'even' : pace, most)
    return this.#out
  }

  /** Appends the next frame to the waiting samples, and another one to catch up; false: there is none. */
  #takeIn(now: number): boolean {
    const jitter = this.#jitter
    const { isBack } = jitter
    let frame = this.#make(jitter.pull(PAYLOAD, now), isBack)
    if (frame === null && jitter.excess > 0) frame = this.#make(jitter.more(PAYLOAD), isBack)
    if (frame === null) return false
    if (this.#moreSamples > 0) this.#addMore(MORE.subarray(0, this.#moreSamples))
    this.#add(frame)
    this.#isPause = false
    if (jitter.excess <= 0 || !jitter.isReady || this.#isLost || this.#scale.waiting > 2 * frame.length) return true
    if (!this.#isUrgent && !isQuiet(frame)) return true
    const more = this.#make(jitter.more(PAYLOAD), false)
    if (more !== null) this.#add(more)
    return true
  }

  #add(samples: Frame): void {
    const { frames, at } = this.#played
    this.#scale.add(samples, this.#isPause ? null : frames[(at - 1 + PLAYED_FRAMES) % PLAYED_FRAMES]!)
  }

  /** They belong to what a next guess continues, too. */
  #addMore(samples: Frame): void {
    this.#add(samples)
    this.#played.insert(samples)
  }

  /** Nothing arrives: the waiting samples end in silence. */
  #rest(): Frame | null {
    this.#isPause = true
    if (this.#scale.waiting === 0) return null
    this.#scale.drain(this.#out)
    return this.#out
  }
}
