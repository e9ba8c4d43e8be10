import { int32Array } from '../../codecs/arrays.ts'
import type { Frame } from '../../codecs/audio.ts'
import type { G711 } from '../../codecs/g711.ts'
import {
  copy,
  FRAME_IN,
  FRAME_OUT,
  add as kernelAdd,
  all as kernelAll,
  remove as kernelRemove,
  without as kernelWithout,
  sumOf,
} from '../../codecs/kernels/frames.ts'
import type { Limiter } from '../../codecs/limiter.ts'

/** The mixer whose sum is in the kernel. */
let inKernel: Mixer | null = null

/**
 * Mixes one 20 ms frame for a room. It sums once, in Int32, so that the order of the parties does not matter. A sum that fits is exact to the
 * sample; one that does not is limited.
 */
export class Mixer {
  readonly #samples: number
  /** Used while another mixer's sum is in the kernel. */
  readonly #sum: Int32Array
  readonly #kernelSum: Int32Array
  readonly #kernelOut: Frame
  /** Number of frames in the sum; with none every output is silence. */
  voices = 0
  /** Counts the mixed frames. */
  tick = 0
  /** The lowest gain of an output of this frame, and of the previous one. */
  #gain = 1
  #gainBefore = 1

  constructor(samples: number) {
    this.#samples = samples
    this.#sum = int32Array(samples)
    this.#kernelSum = sumOf(samples)
    this.#kernelOut = FRAME_OUT.subarray(0, samples)
  }

  /** Begins the next frame, or another mix for the frame `tick`. */
  clear(tick = this.tick + 1): void {
    if (inKernel !== this) this.#takeFor(null)
    this.#kernelSum.fill(0)
    this.voices = 0
    if (tick === this.tick) return
    this.tick = tick
    this.#gainBefore = this.#gain
    this.#gain = 1
  }

  /** No more is asked for of this frame: the sum need not be kept when another mixer takes the kernel. */
  done(): void {
    if (inKernel === this) inKernel = null
  }

  #take(): void {
    if (inKernel !== this) this.#takeFor(this.#sum)
  }

  /** Takes the kernel, which has room for one sum. @param sum to go on with; null: another one begins */
  #takeFor(sum: Int32Array | null): void {
    if (inKernel !== null) copy(inKernel.#sum, inKernel.#kernelSum)
    if (sum !== null) copy(this.#kernelSum, sum)
    inKernel = this
  }

  add(frame: Frame): void {
    this.#take()
    copy(FRAME_IN, frame)
    kernelAdd(this.#samples)
    this.voices++
  }

  /** Removes a frame from the sum again, for a listener who must not hear it. */
  remove(frame: Frame): void {
    this.#take()
    copy(FRAME_IN, frame)
    kernelRemove(this.#samples)
    this.voices--
  }

  /** Writes the sum. @param limiter of this output */
  all(out: Frame, limiter: Limiter): void {
    this.#take()
    this.#put(kernelAll(this.#samples) !== 0, limiter, null, out)
  }

  /** Writes the sum without `own` (which was added): mix-minus. */
  without(own: Frame, out: Frame, limiter: Limiter): void {
    this.#take()
    copy(FRAME_IN, own)
    this.#put(kernelWithout(this.#samples) !== 0, limiter, own, out)
  }

  /** The last output in this law. Must be requested at once; borrowed until anything else is mixed or encoded. */
  encoded(law: G711): Uint8Array {
    return law.encodeOut(this.#samples)
  }

  #put(isTooLoud: boolean, limiter: Limiter, own: Frame | null, out: Frame): void {
    this.#goOn(limiter)
    if (isTooLoud || limiter.gain < 1) {
      this.#limit(limiter, own, out)
      this.#kernelOut.set(out)
    } else copy(out, this.#kernelOut)
  }

  /** A listener that heard another output before (for example before it began to speak) continues from the gain that others had. */
  #goOn(limiter: Limiter): void {
    if (limiter.tick !== this.tick - 1) limiter.follow(this.#gainBefore)
    limiter.tick = this.tick
  }

  #limit(limiter: Limiter, own: Frame | null, out: Frame): void {
    limiter.process(this.#kernelSum, own, out)
    if (limiter.gain < this.#gain) this.#gain = limiter.gain
  }
}
