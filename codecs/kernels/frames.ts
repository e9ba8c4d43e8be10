import { FRAMES_WASM } from './frames-wasm.ts'

/**
 * The work on each sample of each frame, in WebAssembly: sums, correlations, and the tables of G.711. JavaScript needs 1.3 to 5 ns for a
 * sample, WebAssembly 0.2 to 0.4. Frames stay in JavaScript's memory: copying one there and back takes 40 ns.
 */
const { memory, ...functions } = new WebAssembly.Instance(new WebAssembly.Module(Buffer.from(FRAMES_WASM, 'base64')))
  .exports as unknown as {
  memory: { buffer: ArrayBuffer }
  add(samples: number): void
  remove(samples: number): void
  all(samples: number): number
  without(samples: number): number
  encode(table: number, samples: number): void
  decode(table: number, samples: number): void
  correlate(from: number, samples: number): void
  match(here: number, there: number, stepBytes: number, samples: number, places: number): void
}

/**
 * `to.set(from)`, but the method is not looked up each time: V8 does not optimise that, as the prototype of typed arrays is a dictionary to it.
 */
export const copy = Function.prototype.call.bind(Uint8Array.prototype.set) as <
  T extends Uint8Array | Int16Array | Int32Array,
>(
  to: T,
  from: T,
  at?: number,
) => void

/** No frame has more: 20 ms at 48 kHz. */
export const MAX_SAMPLES = 960
/** Offsets in the module's memory [bytes]. `frames.wat` has those of the frames, sums and results in its instructions. */
const SUM = 0
const OCTETS = 4096
const CORRELATIONS = 5120
export const FRAME_IN_AT = 8192
export const FRAME_OUT_AT = 12_288
const SAMPLES_OF_OCTETS = 16_384
const SEARCHED_AT = 20_480
const PRODUCTS = 32_768
const ENERGIES = 40_960
const OCTETS_OF_SAMPLES = 65_536

/**
 * `add`: adds `FRAME_IN` to the sum; `remove`: subtracts it again; `all`: `FRAME_OUT` is the sum; `without`: the sum without `FRAME_IN`.
 * `encode` and `decode`: from `FRAME_OUT` to `OCTETS_IO` and back, by the table at this address. `correlate`: of the frame at
 * `FRAME_IN_AT` or `FRAME_OUT_AT`. The number of samples is a multiple of 8.
 */
export const { add, remove, all, without, encode, decode, correlate } = functions
export const FRAME_IN = new Int16Array(memory.buffer, FRAME_IN_AT, MAX_SAMPLES)
export const FRAME_OUT = new Int16Array(memory.buffer, FRAME_OUT_AT, MAX_SAMPLES)
export const OCTETS_IO = new Uint8Array(memory.buffer, OCTETS, MAX_SAMPLES)
/** The same for octets with a header of so many bytes, which goes before them. */
export const HEAD_BYTES = 12
export const HEADED_IO = new Uint8Array(memory.buffer, OCTETS - HEAD_BYTES, HEAD_BYTES + MAX_SAMPLES)

/** Result of `correlate`: the frame multiplied by itself, and by itself one and two samples later. */
export const correlations = new Float64Array(memory.buffer, CORRELATIONS, 3)

/** The first samples of the sum. */
export const sumOf = (samples: number): Int32Array => new Int32Array(memory.buffer, SUM, samples)

/** Memory for what `compare` searches, and for what it finds: as many samples, and places, as a search may have. */
export const SEARCHED = new Int16Array(memory.buffer, SEARCHED_AT, 6 * MAX_SAMPLES)
export const products = new Float64Array(memory.buffer, PRODUCTS, MAX_SAMPLES)
export const energies = new Float64Array(memory.buffer, ENERGIES, MAX_SAMPLES)

/**
 * Compares a part of `SEARCHED` with others, each a sample later or earlier than the one before: `products[k]` is the sum of both multiplied,
 * `energies[k]` that of the other part's squares. Exact, as all sums of integers here.
 *
 * @param here first sample of the part, `there` that of the first other @param step 1: later, -1: earlier
 * @param samples of a part, a multiple of 8 @param places that are compared
 */
export function compare(here: number, there: number, step: 1 | -1, samples: number, places: number): void {
  functions.match(SEARCHED_AT + 2 * here, SEARCHED_AT + 2 * there, 2 * step, samples, places)
}

/** Space for the tables of a law, and their addresses. @param place 0 or 1: there are two laws */
export function lawTables(place: 0 | 1) {
  const decoding = SAMPLES_OF_OCTETS + 512 * place
  const encoding = OCTETS_OF_SAMPLES * (1 + place)
  return {
    decoding,
    encoding,
    /** The sample of each octet. */
    samples: new Int16Array(memory.buffer, decoding, 256),
    /** The octet of each sample (as an unsigned value). */
    octets: new Uint8Array(memory.buffer, encoding, 65_536),
  }
}
