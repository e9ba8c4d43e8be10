import { isOfPayer, type RoomPause } from './room.ts'

/** Size of a pause's details as JSON; a longer reason is truncated. */
const DETAIL_BYTES = 2048
const MAX_REASON = 200

const WORDS = 2
const SLOT_BYTES = WORDS * Int32Array.BYTES_PER_ELEMENT + DETAIL_BYTES

const PAUSED = 1
const MASKED = 2
/** The change counter occupies the bits above the two flags. */
const CHANGE = 4

/** What `read` returns of a pause that began and ended since it was called last, as when this thread stood still. */
export const PASSED: RoomPause = Object.freeze({ maskDtmf: true, destinationLegId: null, reason: '' })

/**
 * The card-payment pauses of a room with members on several threads: each thread's knowledge, in memory that all of them see at once. No
 * thread waits for a message, so nobody's next frame or key is treated as outside of the pause.
 */
export class PauseBoard {
  readonly memory: SharedArrayBuffer
  readonly #own: number
  readonly #slots: { words: Int32Array; details: Uint8Array; seen: number; pause: RoomPause | null }[]
  #written = ''
  #isRead = false

  /** @param own the index of the thread that writes here */
  constructor(memory: SharedArrayBuffer, own: number) {
    this.memory = memory
    this.#own = own
    this.#slots = Array.from({ length: memory.byteLength / SLOT_BYTES }, (_, thread) => ({
      words: new Int32Array(memory, thread * SLOT_BYTES, WORDS),
      details: new Uint8Array(memory, thread * SLOT_BYTES + WORDS * Int32Array.BYTES_PER_ELEMENT, DETAIL_BYTES),
      seen: 0,
      pause: null,
    }))
  }

  static memoryFor(threads: number): SharedArrayBuffer {
    return new SharedArrayBuffer(threads * SLOT_BYTES)
  }

  /** Writes this thread's pause. */
  write(pause: RoomPause | null): void {
    const { maskDtmf = false, destinationLegId = null, lines, reason = '' } = pause ?? {}
    const text =
      pause === null ? '' : JSON.stringify({ destinationLegId, lines, reason: reason.slice(0, MAX_REASON), maskDtmf })
    if (text === this.#written) return
    this.#written = text
    const { words, details } = this.#slots[this.#own]!
    // From now on the pause is on for all threads, even without its details.
    const bits = pause === null ? 0 : PAUSED | (maskDtmf ? MASKED : 0)
    const bytes = Buffer.from(text)
    details.set(bytes.subarray(0, DETAIL_BYTES))
    words[1] = bytes.length
    change(words, bits)
  }

  /** Another thread has died: its pause is over, if there is one. */
  erase(thread: number): void {
    const { words } = this.#slots[thread]!
    if ((Atomics.load(words, 0) & PAUSED) !== 0) change(words, 0)
  }

  /** Whether any thread has written since the last `read`. */
  get hasChanged(): boolean {
    for (const { words, seen } of this.#slots) if (Atomics.load(words, 0) !== seen) return true
    return false
  }

  /** The combined pause of all threads; null: none. `PASSED`: none any more, but there was one. */
  read(): RoomPause | null {
    let all: RoomPause | null = null
    let hasPassed = false
    for (const slot of this.#slots) {
      const word = Atomics.load(slot.words, 0)
      if (word !== slot.seen) {
        slot.seen = word
        hasPassed ||= this.#isRead && slot.pause === null && (word & PAUSED) === 0
        slot.pause = (word & PAUSED) === 0 ? null : pauseOf(slot.words[1]!, slot.details, (word & MASKED) !== 0)
      }
      if (slot.pause !== null) all = all === null ? slot.pause : bothOf(all, slot.pause)
    }
    this.#isRead = true
    return all === null && hasPassed ? PASSED : all
  }
}

/** The thread that writes there is the only one that does, as long as it lives. */
function change(words: Int32Array, bits: number): void {
  const next = ((Atomics.load(words, 0) & ~(PAUSED | MASKED)) + CHANGE) | 0
  Atomics.store(words, 0, next | bits)
}

const bothOf = (one: RoomPause, other: RoomPause): RoomPause => ({
  maskDtmf: one.maskDtmf || other.maskDtmf,
  destinationLegId:
    one.destinationLegId === null || (isOfPayer(one) && other.destinationLegId !== null)
      ? other.destinationLegId
      : one.destinationLegId,
  lines: { ...other.lines, ...one.lines },
  reason: one.reason,
})

/** While the details are being overwritten there is no payment line: nobody hears a key. */
function pauseOf(length: number, details: Uint8Array, maskDtmf: boolean): RoomPause {
  try {
    const text = Buffer.from(details.slice(0, length)).toString()
    return { ...(JSON.parse(text) as RoomPause), maskDtmf }
  } catch {
    return { maskDtmf, destinationLegId: null, reason: '' }
  }
}
