import { closeSync } from 'node:fs'

/** Descriptors from this number on are not listed. */
const MOST = 2 ** 20

/**
 * The descriptors that a thread has opened by the system's own calls, in memory that the main thread can read, too: of a thread that dies, Node
 * closes what it knows, and not these, whose ports would be taken for good.
 */
export class OwnDescriptors {
  readonly #listed: Uint8Array

  /** @param memory of `newDescriptorList` */
  constructor(memory = newDescriptorList()) {
    this.#listed = new Uint8Array(memory)
  }

  /** One has been opened; negative: it could not be. */
  add(fd: number): void {
    if (fd >= 0 && fd < MOST) this.#listed[fd >> 3]! |= 1 << (fd & 7)
  }

  /** It is about to be closed: from then on its number may be another one's. */
  remove(fd: number): void {
    if (fd >= 0 && fd < MOST) this.#listed[fd >> 3]! &= ~(1 << (fd & 7))
  }

  /** Closes them all, after the death of their thread. @returns how many */
  closeAll(): number {
    let count = 0
    for (const [at, bits] of this.#listed.entries()) {
      for (let bit = 0; bits >> bit > 0; bit++) {
        if (((bits >> bit) & 1) === 0) continue
        const fd = 8 * at + bit
        this.remove(fd)
        closeSync(fd)
        count++
      }
    }
    return count
  }
}

/** Memory for the list of one thread. */
export const newDescriptorList = (): SharedArrayBuffer => new SharedArrayBuffer(MOST / 8)
