import { randomFillSync } from 'node:crypto'
import { monotonicFactory } from 'ulid'

/** The system is slow to provide random bytes one by one: they are fetched together, and each is used once. */
const POOL_BYTES = 4096
const pool = Buffer.alloc(POOL_BYTES)
let used = POOL_BYTES

/** Offset of the next `count` unused bytes in the pool. */
function take(count: number): number {
  if (used + count > POOL_BYTES) {
    randomFillSync(pool)
    used = 0
  }
  used += count
  return used - count
}

/** So many bytes that nobody can guess, as hexadecimal text. */
export function randomHex(bytes: number): string {
  const from = take(bytes)
  return pool.toString('hex', from, from + bytes)
}

/** A 32-bit number that nobody can guess. */
export const randomUint32 = (): number => pool.readUInt32BE(take(4))

/** A new ULID in lower case. Those of one process sort by the order in which they were made. */
export const newUlid = (): string => nextUlid().toLowerCase()

const nextUlid = monotonicFactory(() => pool[take(1)]! / 256)
