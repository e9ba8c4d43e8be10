import { FRAMES_WASM } from './frames-wasm.ts'

/**
 * What is done to each sample of each frame, in WebAssembly: sums, correlations, and the tables of G.711. JavaScript needs 1.3 to 5 ns for a
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
  correlate(samples: number): void
}

/** No frame has more: 20 ms at 48 kHz. */
export const MAX_SAMPLES = 960
/** Where things are [bytes]; the functions know the first five. */
const SUM = 0
const OCTETS = 4096
const CORRELATIONS = 5120
const FRAME = 8192
const OUT = 12_288
const SAMPLES_OF_OCTETS = 16_384
const OCTETS_OF_SAMPLES = 65_536

/**
 * `add`: adds `FRAME_IN` to the sum; `remove`: subtracts it again; `all`: `FRAME_OUT` is the sum; `without`: the sum without `FRAME_IN`.
 * `encode` and `decode`: from `FRAME_OUT` to `OCTETS_IO` and back, by the table at this address. `correlate`: of `FRAME_IN`.
 * The number of samples is a multiple of 8.
 */
export const { add, remove, all, without, encode, decode, correlate } = functions
export const FRAME_IN = new Int16Array(memory.buffer, FRAME, MAX_SAMPLES)
export const FRAME_OUT = new Int16Array(memory.buffer, OUT, MAX_SAMPLES)
export const OCTETS_IO = new Uint8Array(memory.buffer, OCTETS, MAX_SAMPLES)

/** Result of `correlate`: the frame multiplied by itself, and by itself one and two samples later. */
export const correlations = new Float64Array(memory.buffer, CORRELATIONS, 3)

/** The first samples of the sum. */
export const sumOf = (samples: number): Int32Array => new Int32Array(memory.buffer, SUM, samples)

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
