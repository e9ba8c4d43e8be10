/** The package ships no types: the part of its Emscripten module that we call. Pointers are offsets into the heap. */
declare module '@echogarden/fvad-wasm' {
  export interface FvadModule {
    /** Replaced whenever the memory grows; views of the old buffer are then empty. */
    readonly HEAP16: Int16Array
    _malloc(bytes: number): number
    _free(pointer: number): void
    _fvad_new(): number
    _fvad_free(state: number): void
    _fvad_reset(state: number): void
    _fvad_set_mode(state: number, mode: number): number
    _fvad_set_sample_rate(state: number, hz: number): number
    _fvad_process(state: number, frame: number, samples: number): number
  }
  export default function load(): Promise<FvadModule>
}
