import type { StreamFormat } from '../media/protocol.ts'
import type { LoadResult } from './load/messages.ts'
import type { Machine } from './machine.ts'
import type { CpuRate } from './process-cpu.ts'

/** One measurement of one program under one load. */
export interface Figures {
  legs: number
  /** For the whole process [ms per s]. */
  cpu: CpuRate
  /** CPU of its busiest thread; null: unknown [ms per s]. */
  busiestThread: number | null
  load: LoadResult
  /** Slots of the engine's clock that began late or were skipped; null for the yardstick. */
  lateSlots: number | null
}

export interface RoomReport {
  roomSize: number
  engine: Figures
  yardstick: Figures | null
  /** CPU of the engine divided by that of the yardstick. */
  ratio: number | null
}

export interface StreamReport {
  format: StreamFormat
  legs: number
  /** Of the same calls without streams [ms per s]. */
  without: CpuRate
  with: Figures
  /** CPU of one stream with both tracks [ms per s]. */
  cpuPerStream: CpuRate
}

export interface Report {
  startedAt: string
  commit: string
  machine: Machine
  seconds: number
  /** Caveats for the reader: what was not pinned, compiled or measured. */
  notes: string[]
  rooms: RoomReport[]
  streams: StreamReport[]
}

export const lostFrames = ({ framesExpected, framesHeard }: LoadResult): number => framesExpected - framesHeard
