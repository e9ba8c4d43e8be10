/**
 * Arrays of what comes and goes with a call. A leg has some forty, and V8 frees what is outside its heap one by one, while the thread stands
 * still: arrays with a buffer each made most of the pause for collecting all garbage. These are cut from buffers that they share, one behind the
 * other, so those of one leg lie together. A buffer is freed when nothing in it is used any more, and nothing is used twice: arrays are
 * zero. They must not be transferred to another thread: their neighbours would go with them.
 */
const BUFFER_BYTES = 32_768
/** Longer arrays have a buffer of their own: little may be wasted at the end of a shared one [bytes]. */
const LONG = BUFFER_BYTES / 8
/** Arrays begin where a line of the cache does [bytes]. */
const LINE = 64
/** Shorter ones V8 keeps in its heap, where they cost nothing extra [bytes]. */
const SHORT = 64

let buffer = new ArrayBuffer(BUFFER_BYTES)
let used = 0

/** Makes room for so many bytes in `buffer`. @returns where */
function cut(bytes: number): number {
  if (used + bytes > BUFFER_BYTES) {
    buffer = new ArrayBuffer(BUFFER_BYTES)
    used = 0
  }
  const at = used
  used = at + Math.ceil(bytes / LINE) * LINE
  return at
}

/** A constructor of typed arrays. */
interface ArrayKind<T> {
  readonly BYTES_PER_ELEMENT: number
  new (length: number): T
  new (buffer: ArrayBuffer, at: number, length: number): T
}

const arraysOf =
  <T>(Kind: ArrayKind<T>) =>
  (length: number): T => {
    const bytes = length * Kind.BYTES_PER_ELEMENT
    if (bytes <= SHORT || bytes > LONG) return new Kind(length)
    const at = cut(bytes)
    return new Kind(buffer, at, length)
  }

export const uint8Array = arraysOf<Uint8Array<ArrayBuffer>>(Uint8Array)
export const uint16Array = arraysOf<Uint16Array<ArrayBuffer>>(Uint16Array)
export const uint32Array = arraysOf<Uint32Array<ArrayBuffer>>(Uint32Array)
export const int16Array = arraysOf<Int16Array<ArrayBuffer>>(Int16Array)
export const int32Array = arraysOf<Int32Array<ArrayBuffer>>(Int32Array)
export const float64Array = arraysOf<Float64Array<ArrayBuffer>>(Float64Array)
