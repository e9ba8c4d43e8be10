/**
 * Typed arrays for objects that come and go with calls. A leg has some forty, and V8 frees memory outside its heap one buffer after the
 * other while the thread stands still: with a buffer for each array, that was most of the pause of a full garbage collection. These arrays
 * are cut from shared buffers one after the other, so those of one leg lie together, and a buffer is freed when none of its arrays is used
 * any more. They are zero-filled. They must not be transferred to another thread: their neighbours would go with them.
 */
const BUFFER_BYTES = 32_768
/** Longer arrays have a buffer of their own, so that little is wasted at the end of a shared one [bytes]. */
const LONG = BUFFER_BYTES / 8
/** Arrays begin at cache lines [bytes]. */
const LINE = 64

/** Maximum memory kept for reuse: enough for several hundred legs [bytes]. */
const MOST_KEPT = 8_388_608
/** Maximum number of arrays in a lease, so that a leg which changes its codec often does not collect those of all of them. */
const MOST_IN_LEASE = 96

let buffer = new ArrayBuffer(BUFFER_BYTES)
let used = 0
/** Size of all arrays kept for reuse [bytes]. */
let kept = 0
/** The lease that owns arrays made now; null: none, and they are garbage-collected. */
let current: ArrayLease | null = null

/** Makes room for so many bytes in `buffer`. @returns the offset */
function cut(bytes: number): number {
  if (used + bytes > BUFFER_BYTES) {
    buffer = new ArrayBuffer(BUFFER_BYTES)
    used = 0
  }
  const at = used
  used = at + Math.ceil(bytes / LINE) * LINE
  return at
}

interface Erasable {
  readonly byteLength: number
  fill(value: 0): unknown
}

/**
 * Owns the arrays of something that comes and goes, such as a leg. Those made in `during` are reused by the next one after `end`, so that
 * nothing has to be garbage-collected.
 */
export class ArrayLease {
  readonly #arrays: Erasable[] = []
  /** Where each array is kept after the end. */
  readonly #shelves: Erasable[][] = []

  during<T>(work: () => T): T {
    const outer = current
    current = this
    try {
      return work()
    } finally {
      current = outer
    }
  }

  /** A returned array of its kind and length, or a new one. Only for the constructors here. */
  take<T extends Erasable>(shelf: T[], make: () => T): T {
    if (this.#arrays.length === MOST_IN_LEASE) return make()
    const array = shelf.pop()
    if (array !== undefined) kept -= array.byteLength
    const taken = array ?? make()
    this.#arrays.push(taken)
    this.#shelves.push(shelf)
    return taken
  }

  /** Erases the arrays and makes them available for reuse: they must not be used any more. Idempotent. */
  end(): void {
    for (const [i, array] of this.#arrays.entries()) {
      array.fill(0)
      if (kept + array.byteLength > MOST_KEPT) continue
      kept += array.byteLength
      this.#shelves[i]!.push(array)
    }
    this.#arrays.length = 0
    this.#shelves.length = 0
  }
}

/** A constructor of typed arrays. */
interface ArrayKind<T> {
  readonly BYTES_PER_ELEMENT: number
  new (length: number): T
  new (buffer: ArrayBuffer, at: number, length: number): T
}

function arraysOf<T extends Erasable>(Kind: ArrayKind<T>): (length: number) => T {
  /** Returned arrays, by length. */
  const shelves = new Map<number, T[]>()
  const make = (length: number, bytes: number): T => {
    if (bytes > LONG) return new Kind(length)
    const at = cut(bytes)
    return new Kind(buffer, at, length)
  }
  return length => {
    const bytes = length * Kind.BYTES_PER_ELEMENT
    if (current === null) return make(length, bytes)
    let shelf = shelves.get(length)
    if (shelf === undefined) {
      shelf = []
      shelves.set(length, shelf)
    }
    return current.take(shelf, () => make(length, bytes))
  }
}

export const uint8Array = arraysOf<Uint8Array<ArrayBuffer>>(Uint8Array)
export const uint16Array = arraysOf<Uint16Array<ArrayBuffer>>(Uint16Array)
export const uint32Array = arraysOf<Uint32Array<ArrayBuffer>>(Uint32Array)
export const int16Array = arraysOf<Int16Array<ArrayBuffer>>(Int16Array)
export const int32Array = arraysOf<Int32Array<ArrayBuffer>>(Int32Array)
export const float64Array = arraysOf<Float64Array<ArrayBuffer>>(Float64Array)
