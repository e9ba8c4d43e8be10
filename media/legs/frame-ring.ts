import { type Frame, faded } from '../../codecs/audio.ts'
import { LEG_SAMPLES } from '../rooms/leg.ts'

/** Frames in a ring: 640 ms, far more than one thread ever waits for the other. */
export const RING_FRAMES = 32

const WRITTEN = 0
const READ = 1
const SKIP_TO = 2
const DROPPED = 3
const HEADER_INTS = 4
const BYTES = HEADER_INTS * Int32Array.BYTES_PER_ELEMENT + RING_FRAMES * LEG_SAMPLES * Int16Array.BYTES_PER_ELEMENT

/**
 * Passes frames of 20 ms at 8 kHz from one thread to another through shared memory: no message, no allocation, no waiting. When it
 * is full the newest frame is dropped and counted, since only the reader may remove the oldest.
 *
 * The counters cover all frames ever written and read; they wrap at 2^32, after 2.7 years of audio.
 */
export class FrameRing {
  readonly memory: SharedArrayBuffer
  readonly #header: Int32Array
  readonly #samples: Int16Array
  /** The reader's last `take` had a frame. */
  #isHeard = false

  constructor(memory: SharedArrayBuffer = new SharedArrayBuffer(BYTES)) {
    this.memory = memory
    this.#header = new Int32Array(memory, 0, HEADER_INTS)
    this.#samples = new Int16Array(memory, HEADER_INTS * Int32Array.BYTES_PER_ELEMENT)
  }

  /** Frames written so far. */
  get written(): number {
    return Atomics.load(this.#header, WRITTEN) >>> 0
  }

  /** Frames read or skipped so far. */
  get read(): number {
    return Atomics.load(this.#header, READ) >>> 0
  }

  get dropped(): number {
    return Atomics.load(this.#header, DROPPED) >>> 0
  }

  get waiting(): number {
    return (this.written - this.read) >>> 0
  }

  // ------------------------------------------------------------------ the writer's side

  /** Copies a frame in; null is silence. False: the ring is full, and the frame is dropped. */
  write(frame: Frame | null): boolean {
    if (this.waiting >= RING_FRAMES) {
      Atomics.add(this.#header, DROPPED, 1)
      return false
    }
    const at = (this.written % RING_FRAMES) * LEG_SAMPLES
    if (frame === null) this.#samples.fill(0, at, at + LEG_SAMPLES)
    else this.#samples.set(frame, at)
    Atomics.add(this.#header, WRITTEN, 1)
    return true
  }

  /** Makes the reader skip everything written so far. */
  clear(): void {
    Atomics.store(this.#header, SKIP_TO, Atomics.load(this.#header, WRITTEN))
  }

  // ------------------------------------------------------------------ the reader's side

  /** Copies the oldest frame out; false: the ring is empty. What was cleared in its middle fades out. */
  take(out: Frame): boolean {
    const target = Atomics.load(this.#header, SKIP_TO)
    const isCleared = ((target - Atomics.load(this.#header, READ)) | 0) > 0
    const fades = isCleared && this.#isHeard && this.#take(out)
    if (fades) out.set(faded(out, 'out'))
    if (isCleared) Atomics.store(this.#header, READ, target)
    this.#isHeard = !fades && this.#take(out)
    return fades || this.#isHeard
  }

  #take(out: Frame): boolean {
    if (this.waiting === 0) return false
    const at = (this.read % RING_FRAMES) * LEG_SAMPLES
    for (let i = 0; i < LEG_SAMPLES; i++) out[i] = this.#samples[at + i]!
    Atomics.add(this.#header, READ, 1)
    return true
  }

  /** Skips the oldest frames. */
  skip(frames: number): void {
    Atomics.add(this.#header, READ, Math.min(frames, this.waiting))
  }
}
