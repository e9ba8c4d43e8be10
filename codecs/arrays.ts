/**
 * Arrays of what comes and goes with a call. A leg has some forty, and V8 frees what is outside its heap one by one, while the thread stands
 * still: arrays with a buffer each made most of the pause for collecting all garbage. These are cut from buffers that they share, one behind the
 * other, so those of one leg lie together. A buffer is freed when nothing in it is used any more. Arrays are zero. They must not be transferred to
 * another thread: their neighbours would go with them.
 */
const BUFFER_BYTES = 32_768
/** Longer arrays have a buffer of their own: little may be wasted at the end of a shared one [bytes]. */
const LONG = BUFFER_BYTES / 8
/** Arrays begin where a line of the cache does [bytes]. */
const LINE = 64

/** No more is kept for whoever comes next: several hundred legs [bytes]. */
const MOST_KEPT = 8_388_608
/** A leg that changes its codec again and again does not gather the arrays of all of them. */
const MOST_IN_LEASE = 96

let buffer = new ArrayBuffer(BUFFER_BYTES)
let used = 0
/** Of all arrays that wait for whoever comes next [bytes]. */
let kept = 0
/** Whose arrays are being made; null: they are collected as everything else. */
let current: ArrayLease | null = null

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

interface Erasable {
  readonly byteLength: number
  fill(value: 0): unknown
}

/**
 * The arrays of something that comes and goes, as a leg: those made in `during` are used again after `end`, by the next one, and nothing has to be
 * collected.
 */
export class ArrayLease {
  readonly #arrays: Erasable[] = []
  /** Where each is kept, from its end on. */
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

  /** The last array of its kind and length that was given back, or a new one. Only for the constructors here. */
  take<T extends Erasable>(shelf: T[], make: () => T): T {
    if (this.#arrays.length === MOST_IN_LEASE) return make()
    const array = shelf.pop()
    if (array !== undefined) kept -= array.byteLength
    const taken = array ?? make()
    this.#arrays.push(taken)
    this.#shelves.push(shelf)
    return taken
  }

  /** Erases them, and gives them to whoever comes next: nobody may use one any more. Idempotent. */
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
  /** What has been given back, by length. */
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
