import { thisCommit, thisMachine } from '../machine.ts'
import type { BenchOptions } from '../options.ts'
import { machineLine, table } from '../tables.ts'
import { type RoomsResult, runRooms } from './virtual-rooms.ts'

/** Mean delays of packets [ms]. */
const JITTERS_MS = [0, 1, 3]
/** Seeds of phones and machines: `seen` for developing the rules of jitter buffers, `unseen` for judging them. */
const SEEDS = { seen: [1, 2], unseen: [3, 4] }

interface BufferRun extends RoomsResult {
  jitterMs: number
  half: keyof typeof SEEDS
  seed: number
}

interface BuffersReport {
  startedAt: string
  legs: number
  roomSize: number
  seconds: number
  runs: BufferRun[]
}

/** What jitter buffers lose, and by how much they delay audio, in rooms of the first given size. */
export async function benchBuffers(options: BenchOptions, say: (line: string) => void): Promise<BuffersReport> {
  const { legs, rooms, seconds, only } = options
  const roomSize = rooms[0] ?? 3
  const report: BuffersReport = { startedAt: new Date().toISOString(), legs, roomSize, seconds, runs: [] }
  for (const half of ['seen', 'unseen'] as const) {
    if (!only.test(half)) continue
    for (const jitterMs of JITTERS_MS) {
      for (const seed of SEEDS[half]) {
        say(`${half}, ${jitterMs} ms of jitter, ${seed} …`)
        report.runs.push({ jitterMs, half, seed, ...runRooms({ legs, roomSize, seconds, jitterMs, seed }) })
      }
    }
  }
  return report
}

export function formatBuffersReport({ legs, roomSize, seconds, runs }: BuffersReport): string {
  const rows = [['', 'jitter [ms]', 'p50 [ms]', 'p95', 'p99', 'max', 'lost [%]', 'joints [%]']]
  for (const { half, seed, jitterMs, latencyMs, framesExpected, framesHeard, framesJoint } of runs) {
    const share = (frames: number): string => ((100 * frames) / framesExpected).toFixed(3)
    const figures = [latencyMs?.p50, latencyMs?.p95, latencyMs?.p99, latencyMs?.max]
    rows.push([
      ...[`${half} ${seed}`, String(jitterMs)],
      ...figures.map(ms => ms?.toFixed(1) ?? ''),
      ...[share(framesExpected - framesHeard), share(framesJoint)],
    ])
  }
  return [
    machineLine(thisCommit(), thisMachine()),
    '',
    `${legs} legs in rooms of ${roomSize} for ${seconds} s of a clock of their own: what other load does to a machine is not in it`,
    ...table(rows),
    'lost: frames that were not heard whole, joints among them: a part was left out or said twice, as a delay changed.',
  ].join('\n')
}
