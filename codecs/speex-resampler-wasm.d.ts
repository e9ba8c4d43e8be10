/** The package ships no types: the part of its Emscripten module that we call. Pointers are offsets into the heap. */
declare module '@echogarden/speex-resampler-wasm/simd' {
  export interface SpeexModule {
    /** Replaced whenever the memory grows; views of the old buffer are then empty. */
    readonly HEAP16: Int16Array
    readonly HEAPU32: Uint32Array
    _malloc(bytes: number): number
    _free(pointer: number): void
    _speex_resampler_init(channels: number, fromHz: number, toHz: number, quality: number, error: number): number
    _speex_resampler_destroy(state: number): void
    _speex_resampler_get_output_latency(state: number): number
    _speex_resampler_process_int(
      state: number,
      channel: number,
      input: number,
      inputLength: number,
      output: number,
      outputLength: number,
    ): number
  }
  export default function load(): Promise<SpeexModule>
}
