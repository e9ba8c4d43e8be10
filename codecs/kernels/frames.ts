import { FRAMES_WASM } from './frames-wasm.ts'

/**
 * What is done to each sample of each frame, in WebAssembly: sums, and the two tables of G.711. Here V8 takes 1.3 to 5 ns for a
 * sample, there it takes 0.2 to 0.4. Frames stay in JavaScript's memory: to copy one there and back is 40 ns.
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
/** Where things lie [bytes]; the functions know the first five. */
const SUM = 0
const OCTETS = 4096
const CORRELATIONS = 5120
const FRAME = 8192
const OUT = 12_288
const SAMPLES_OF_OCTETS = 16_384
const OCTETS_OF_SAMPLES = 65_536

/** `add`: `sum` is what it was and `FRAME_IN`; `remove` the other way; `all`: `out` is the sum; `without`: without `FRAME_IN`. */
export const { add, remove, all, without } = functions
export const FRAME_IN = new Int16Array(memory.buffer, FRAME, MAX_SAMPLES)
const OCTETS_IO = new Uint8Array(memory.buffer, OCTETS, MAX_SAMPLES)
const FRAME_OUT = new Int16Array(memory.buffer, OUT, MAX_SAMPLES)

/** Of a frame with itself, and with itself one and two samples later: what `correlate` has found. */
export const correlations = new Float64Array(memory.buffer, CORRELATIONS, 3)

/** @param frame its length is a multiple of 8 */
export function correlate(frame: Int16Array): void {
  FRAME_IN.set(frame)
  functions.correlate(frame.length)
}

/** The first samples of what lies there. */
export const sumOf = (samples: number): Int32Array => new Int32Array(memory.buffer, SUM, samples)
export const outOf = (samples: number): Int16Array => new Int16Array(memory.buffer, OUT, samples)

/** Views by their length: a frame is not worth a new one. */
const outs: Int16Array[] = []
const octets: Uint8Array[] = []
const outView = (samples: number): Int16Array => (outs[samples] ??= FRAME_OUT.subarray(0, samples))
const octetsView = (samples: number): Uint8Array => (octets[samples] ??= OCTETS_IO.subarray(0, samples))

/** The tables of a law: a sample for each octet, an octet for each sample (at its unsigned value). */
export class LawTables {
  readonly samples: Int16Array
  readonly octets: Uint8Array
  readonly #samplesAt: number
  readonly #octetsAt: number

  /** @param place 0 or 1: there is room for two laws */
  constructor(place: 0 | 1) {
    this.#samplesAt = SAMPLES_OF_OCTETS + 512 * place
    this.#octetsAt = OCTETS_OF_SAMPLES * (1 + place)
    this.samples = new Int16Array(memory.buffer, this.#samplesAt, 256)
    this.octets = new Uint8Array(memory.buffer, this.#octetsAt, 65_536)
  }

  /** `to` is as long as `from` or longer. */
  decode(from: Uint8Array, to: Int16Array): void {
    if (from.length > MAX_SAMPLES) {
      inParts(from.length, (begin, end) => this.decode(from.subarray(begin, end), to.subarray(begin, end)))
      return
    }
    OCTETS_IO.set(from)
    functions.decode(this.#samplesAt, from.length)
    to.set(outView(from.length))
  }

  /** `to` is as long as `from` or longer. */
  encode(from: Int16Array, to: Uint8Array): void {
    if (from.length > MAX_SAMPLES) {
      inParts(from.length, (begin, end) => this.encode(from.subarray(begin, end), to.subarray(begin, end)))
      return
    }
    FRAME_OUT.set(from)
    to.set(this.encodeOut(from.length))
  }

  /** What lies in `out` just now, encoded; borrowed until anything else is done here. */
  encodeOut(samples: number): Uint8Array {
    functions.encode(this.#octetsAt, samples)
    return octetsView(samples)
  }
}

function inParts(samples: number, part: (begin: number, end: number) => void): void {
  for (let begin = 0; begin < samples; begin += MAX_SAMPLES) part(begin, Math.min(samples, begin + MAX_SAMPLES))
}
