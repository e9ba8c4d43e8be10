import { loadSpeexModule, type SpeexModule } from '@sapphi-red/speex-preprocess-wasm'
import type { Frame } from './audio.ts'

/** Suppressed in blocks of 10 ms: so much later a sample comes out. */
const BLOCKS_PER_SECOND = 100

/** Of `speex_preprocess_ctl`. */
const SET_DENOISE = 0
const SET_AGC = 2
const SET_NOISE_SUPPRESS = 18

/** Noise becomes so much softer at most: more makes speech hollow, and what is left of the noise sing [dB]. */
const DEPTH_DB = 15

/** Takes steady noise out of one stream, 10 ms later. It follows the stream's noise, so: one for each. */
export interface NoiseSuppressor {
  /** In place; a whole number of 10 ms. */
  process(frame: Frame): void
  /** Frees it; idempotent. Afterwards `process` changes nothing. */
  close(): void
}

export type CreateNoiseSuppressor = (sampleRateHz: number, depthDb?: number) => NoiseSuppressor

/**
 * Loads speexdsp's preprocessor (MMSE with its own noise estimate). Resolves to a synchronous factory of suppressors.
 * @param wasm the package's module, `@sapphi-red/speex-preprocess-wasm/speex.wasm`
 */
export async function loadNoiseSuppressor(wasm: Uint8Array): Promise<CreateNoiseSuppressor> {
  const speex = await loadSpeexModule({
    wasmBinary: wasm as Uint8Array<ArrayBuffer>,
    locateFile: (path: string) => path,
  })
  return (sampleRateHz, depthDb = DEPTH_DB) => new SpeexSuppressor(speex, sampleRateHz, depthDb)
}

/** One suppressor's state inside the shared WebAssembly memory. */
class SpeexSuppressor implements NoiseSuppressor {
  readonly #speex: SpeexModule
  readonly #samples: number
  readonly #block: number
  #state: number

  constructor(speex: SpeexModule, sampleRateHz: number, depthDb: number) {
    this.#speex = speex
    this.#samples = sampleRateHz / BLOCKS_PER_SECOND
    this.#block = speex._malloc(this.#samples * Int16Array.BYTES_PER_ELEMENT)
    this.#state = this.#block === 0 ? 0 : speex._speex_preprocess_state_init(this.#samples, sampleRateHz)
    if (this.#state === 0) return
    const value = speex._malloc(Int32Array.BYTES_PER_ELEMENT)
    for (const [request, setting] of [
      [SET_DENOISE, 1],
      [SET_AGC, 0],
      [SET_NOISE_SUPPRESS, -depthDb],
    ] as const) {
      speex.HEAP32[value >> 2] = setting
      speex._speex_preprocess_ctl(this.#state, request, value)
    }
    speex._free(value)
  }

  process(frame: Frame): void {
    if (this.#state === 0) return
    const speex = this.#speex
    const at = this.#block >> 1
    for (let from = 0; from < frame.length; from += this.#samples) {
      const heap = speex.HEAP16
      for (let i = 0; i < this.#samples; i++) heap[at + i] = frame[from + i]!
      speex._speex_preprocess_run(this.#state, this.#block)
      for (let i = 0; i < this.#samples; i++) frame[from + i] = heap[at + i]!
    }
  }

  close(): void {
    if (this.#state === 0) return
    this.#speex._speex_preprocess_state_destroy(this.#state)
    this.#speex._free(this.#block)
    this.#state = 0
  }
}
