import { setTimeout as sleep } from 'node:timers/promises'
import type { StreamFormat } from '../media/protocol.ts'
import { thisCommit, thisMachine } from './machine.ts'
import type { BenchOptions } from './options.ts'
import type { CpuRate } from './process-cpu.ts'
import type { Report, RoomReport, StreamReport } from './report.ts'
import { Stage } from './stage.ts'
import type { Subject } from './subject.ts'
import { Yardstick } from './yardstick/yardstick.ts'

/** After the last call is up: chimes end, the jitter buffers give back what the set-up made them grow, code gets hot [s]. */
const WARM_UP_SECONDS = 15
/** How long the yardstick, and calls without streams, are measured at most [s]. */
const REFERENCE_SECONDS = 20

/** Runs everything that the options ask for, one after the other. */
export async function runBench(
  options: BenchOptions,
  startSubject: () => Promise<Subject>,
  say: (line: string) => void,
): Promise<Report> {
  const report: Report = {
    startedAt: new Date().toISOString(),
    commit: thisCommit(),
    machine: thisMachine(),
    seconds: options.seconds,
    notes: [],
    rooms: [],
    streams: [],
  }
  const built = options.yardstick && options.rooms.length > 0 ? Yardstick.build() : null
  if (built !== null && 'missing' in built) report.notes.push(built.missing)
  const yardstick = built instanceof Yardstick ? built : null
  const stage = new Stage(await startSubject(), options.jitterMs)
  if (stage.problem !== null) report.notes.push(`not pinned to one core: ${stage.problem}`)
  try {
    for (const roomSize of options.rooms) {
      say(`${options.legs} legs in rooms of ${roomSize} …`)
      report.rooms.push(await benchRooms(stage, roomSize, options, yardstick))
    }
    for (const format of options.streams) {
      say(`${options.streamLegs} streams of ${format} …`)
      report.streams.push(await benchStreams(stage, format, options))
    }
  } finally {
    await stage.subject.stop()
    yardstick?.remove()
  }
  return report
}

async function benchRooms(
  stage: Stage,
  roomSize: number,
  { legs, seconds }: BenchOptions,
  yardstick: Yardstick | null,
): Promise<RoomReport> {
  const shorter = Math.min(seconds, REFERENCE_SECONDS)
  const reference = yardstick === null ? null : await stage.yardstick(yardstick, legs, roomSize, shorter)
  const kind = { roomSize, fork: null, isEncrypted: false }
  const engine = await stage.withLoad(load => stage.engine(load, kind, legs, { seconds, warmUp: WARM_UP_SECONDS }))
  const ratio = reference === null ? null : engine.cpu.total / reference.cpu.total
  return { roomSize, engine, yardstick: reference, ratio }
}

async function benchStreams(
  stage: Stage,
  format: StreamFormat,
  { streamLegs: legs, seconds }: BenchOptions,
): Promise<StreamReport> {
  return stage.withLoad(async load => {
    const { streamPort } = await stage.call(load, { roomSize: 1, fork: format, isEncrypted: false }, legs)
    const calm = Math.min(seconds, REFERENCE_SECONDS)
    await sleep(WARM_UP_SECONDS * 1000)
    const without = await stage.measure(load, legs, calm)
    await stage.stream(legs, format, streamPort)
    const figures = await stage.measure(load, legs, seconds)
    await stage.unstream()
    const after = await stage.measure(load, legs, calm)
    return {
      format,
      legs,
      without,
      with: figures,
      cpuPerStream: perUnit(figures.cpu, mean(without.cpu, after.cpu), legs),
    }
  })
}

/** What calls take without streams changes from minute to minute by as much as their streams take: so it is measured before and after. */
const mean = (one: CpuRate, other: CpuRate): CpuRate => ({
  user: (one.user + other.user) / 2,
  system: (one.system + other.system) / 2,
  total: (one.total + other.total) / 2,
})

const perUnit = (more: CpuRate, less: CpuRate, units: number): CpuRate => ({
  user: (more.user - less.user) / units,
  system: (more.system - less.system) / units,
  total: (more.total - less.total) / units,
})
