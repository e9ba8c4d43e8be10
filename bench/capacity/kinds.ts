import type { StreamFormat } from '../../media/protocol.ts'

/** A kind of legs, whose number is raised until it no longer holds. */
export interface CapacityKind {
  name: string
  roomSize: number
  /** Format of a stream of each leg; null: none. */
  fork: StreamFormat | null
  isEncrypted: boolean
  /** Number of legs that is tried first. */
  first: number
}

const room = (name: string, roomSize: number, more: Partial<CapacityKind> = {}): CapacityKind => ({
  ...{ name, roomSize, fork: null, isEncrypted: false, first: 200 },
  ...more,
})

export const CAPACITY_KINDS: readonly CapacityKind[] = [
  room('two-party', 2),
  room('rooms of 3', 3),
  room('rooms of 10', 10),
  room('rooms of 50', 50),
  room('rooms of 100', 100),
  room('rooms of 3, encrypted', 3, { isEncrypted: true }),
  room('forked calls', 1, { fork: 'mulaw_8000', first: 100 }),
]
