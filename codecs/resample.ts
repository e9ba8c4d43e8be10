import load, { type SpeexModule } from '@echogarden/speex-resampler-wasm/simd'

const QUALITY = 7
const FRAMES_PER_SECOND = 50
/** Room for rates whose 20 ms are no whole number of samples: a call may give one more than the ratio says. */
const SLACK = 2

/** Converts one mono stream from one sample rate to another. Its filter state is never reset: one per stream. */
export interface Resampler {
  readonly fromHz: number
  readonly toHz: number
  /** Constant delay of the output behind the input [samples at toHz]: 128 for 8 -> 16 kHz, 64 for 16 -> 8 kHz (8 ms both). */
  readonly latencySamples: number
  /**
   * Converts the next samples of the stream. Whole 20 ms frames at rates that are multiples of 50 Hz give whole 20 ms
   * frames, the first one included (320 for 160 from 8 to 16 kHz), without allocation.
   * The result is borrowed: valid until the next call of this resampler.
   */
  process(src: Int16Array): Int16Array
  /** Frees the filter; idempotent. Afterwards `process` gives nothing. */
  close(): void
}

/** Makes the resampler of one stream. Rates in [Hz], positive whole numbers; anything else is a RangeError. */
export type CreateResampler = (fromHz: number, toHz: number) => Resampler

let loading: Promise<CreateResampler> | undefined

/** Loads the WebAssembly module once per thread; what it resolves to makes resamplers synchronously. */
export function loadResampler(): Promise<CreateResampler> {
  loading ??= load().then(speex => (fromHz, toHz) => {
    if (!isRate(fromHz) || !isRate(toHz)) throw new RangeError(`cannot resample from ${fromHz} to ${toHz} Hz`)
    return fromHz === toHz ? identity(fromHz) : new SpeexResampler(speex, fromHz, toHz)
  })
  return loading
}

/** Makes one resampler, loading the module first where needed. */
export async function createResampler(fromHz: number, toHz: number): Promise<Resampler> {
  return (await loadResampler())(fromHz, toHz)
}

/** Converts a whole recording, with the latency taken out: the result has `samples.length * toHz / fromHz` samples. */
export async function resampleAll(samples: Int16Array, fromHz: number, toHz: number): Promise<Int16Array> {
  const resampler = await createResampler(fromHz, toHz)
  const out = new Int16Array(Math.round((samples.length * toHz) / fromHz))
  const chunk = Math.ceil(fromHz / FRAMES_PER_SECOND)
  const silence = new Int16Array(chunk)
  let written = -resampler.latencySamples
  for (let at = 0; written < out.length; at += chunk) {
    const piece = resampler.process(at < samples.length ? samples.subarray(at, at + chunk) : silence)
    const skip = Math.max(0, -written)
    if (skip < piece.length) out.set(piece.subarray(skip, Math.min(piece.length, out.length - written)), written + skip)
    written += piece.length
  }
  resampler.close()
  return out
}

const isRate = (hz: number): boolean => Number.isInteger(hz) && hz > 0 && hz <= 768_000

const identity = (hz: number): Resampler => ({
  fromHz: hz,
  toHz: hz,
  latencySamples: 0,
  process: src => src,
  close: () => {},
})

/** One speexdsp resampler state inside the shared WebAssembly memory. */
class SpeexResampler implements Resampler {
  readonly fromHz: number
  readonly toHz: number
  readonly latencySamples: number
  readonly #speex: SpeexModule
  #state: number
  /** Two uint32: samples offered and consumed, room and samples written. */
  readonly #lengths: number
  #input = 0
  #output = 0
  #capacity = 0
  #heap: ArrayBufferLike | undefined
  #inputView: Int16Array = new Int16Array(0)
  #outputView: Int16Array = new Int16Array(0)
  #result = new Int16Array(0)

  constructor(speex: SpeexModule, fromHz: number, toHz: number) {
    this.fromHz = fromHz
    this.toHz = toHz
    this.#speex = speex
    this.#lengths = speex._malloc(8)
    this.#state = speex._speex_resampler_init(1, fromHz, toHz, QUALITY, this.#lengths)
    if (this.#state === 0) throw new RangeError(`speexdsp refuses ${fromHz} to ${toHz} Hz`)
    this.latencySamples = speex._speex_resampler_get_output_latency(this.#state)
    this.#reserve(Math.ceil(fromHz / FRAMES_PER_SECOND))
  }

  process(src: Int16Array): Int16Array {
    if (this.#state === 0) return this.#result
    if (src.length > this.#capacity) this.#reserve(src.length)
    this.#followHeap()
    const { HEAPU32 } = this.#speex
    const at = this.#lengths >> 2
    this.#inputView.set(src)
    HEAPU32[at] = src.length
    HEAPU32[at + 1] = this.#outputView.length
    this.#speex._speex_resampler_process_int(
      this.#state,
      0,
      this.#input,
      this.#lengths,
      this.#output,
      this.#lengths + 4,
    )
    // Copied out of the heap, because a borrowed view of it would go empty when another stream makes the memory grow.
    const written = HEAPU32[at + 1]!
    if (written !== this.#result.length) this.#result = new Int16Array(written)
    for (let i = 0; i < written; i++) this.#result[i] = this.#outputView[i]!
    return this.#result
  }

  close(): void {
    if (this.#state === 0) return
    this.#speex._speex_resampler_destroy(this.#state)
    for (const pointer of [this.#input, this.#output, this.#lengths]) this.#speex._free(pointer)
    this.#state = 0
    this.#result = new Int16Array(0)
  }

  #reserve(samples: number): void {
    const { _malloc, _free } = this.#speex
    if (this.#input !== 0) _free(this.#input)
    if (this.#output !== 0) _free(this.#output)
    this.#capacity = samples
    this.#input = _malloc(2 * samples)
    this.#output = _malloc(2 * this.#outputRoom())
    this.#heap = undefined
  }

  #outputRoom(): number {
    return Math.ceil((this.#capacity * this.toHz) / this.fromHz) + SLACK
  }

  /** Makes the views again after the WebAssembly memory has grown. */
  #followHeap(): void {
    const { HEAP16 } = this.#speex
    if (HEAP16.buffer === this.#heap) return
    this.#heap = HEAP16.buffer
    this.#inputView = HEAP16.subarray(this.#input >> 1, (this.#input >> 1) + this.#capacity)
    this.#outputView = HEAP16.subarray(this.#output >> 1, (this.#output >> 1) + this.#outputRoom())
  }
}
