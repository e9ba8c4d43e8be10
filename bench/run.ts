import { setTimeout as sleep } from 'node:timers/promises'
import type { StreamFormat } from '../media/protocol.ts'
import type { Percentiles } from './load/histogram.ts'
import { thisCommit, thisMachine } from './machine.ts'
import type { BenchOptions } from './options.ts'
import type { CpuRate } from './process-cpu.ts'
import { lostFrames, type Report, type RoomReport, type StreamReport } from './report.ts'
import { Stage } from './stage.ts'
import type { Subject } from './subject.ts'
import { Yardstick } from './yardstick/yardstick.ts'

/** After the last call is answered: chimes end, jitter buffers shrink again that grew during the set-up, and code is compiled [s]. */
const WARM_UP_SECONDS = 15
/** A yardstick that loses a larger share of its frames had to wait for its core. Some it always loses, since it has no jitter buffer. */
const STARVED = 0.1
/** About how long it takes to place all calls and to hang them up [s]. */
const SET_UP_SECONDS = 10
/** Maximum duration of a measurement of the yardstick, and of calls without streams [s]. */
const REFERENCE_SECONDS = 20

/** Measures all rooms and streams of the options, one after the other. */
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
  say(`this takes about ${minutesOf(options, yardstick !== null)} minutes (--quick: less, and less sure)`)
  const stage = new Stage(await startSubject(), options.jitterMs)
  if (stage.problem !== null) report.notes.push(`not pinned to one core: ${stage.problem}`)
  try {
    for (const roomSize of options.rooms) {
      say(`${options.legs} legs in rooms of ${roomSize} …`)
      const room = await benchRooms(stage, roomSize, options, yardstick)
      report.rooms.push(room)
      say(`  ${roomInShort(room)}`)
      report.notes.push(...doubtsAbout(room))
    }
    for (const format of options.streams) {
      say(`${options.streamLegs} streams of ${format} …`)
      const stream = await benchStreams(stage, format, options)
      report.streams.push(stream)
      say(`  ${streamInShort(stream)}`)
    }
  } finally {
    await stage.subject.stop()
    yardstick?.remove()
  }
  return report
}

function minutesOf({ rooms, streams, seconds }: BenchOptions, hasYardstick: boolean): number {
  const reference = Math.min(seconds, REFERENCE_SECONDS)
  const roomSeconds = WARM_UP_SECONDS + seconds + (hasYardstick ? reference : 0) + SET_UP_SECONDS
  const streamSeconds = WARM_UP_SECONDS + seconds + 2 * reference + SET_UP_SECONDS
  return Math.ceil((rooms.length * roomSeconds + streams.length * streamSeconds) / 60)
}

function roomInShort({ engine, ratio }: RoomReport): string {
  const { load, cpu, legs } = engine
  const cost = `${(cpu.total / legs).toFixed(3)} ms/s of CPU per leg`
  const beside = ratio === null ? '' : `, ${ratio.toFixed(2)} x the yardstick`
  return `${cost}${beside}; ${latencyInShort(load.latencyMs)}; ${lostFrames(load)} of ${load.framesExpected} frames lost`
}

/** If a loop in C loses packets, then it had no core to itself, and neither had the engine that is compared with it. */
function doubtsAbout({ roomSize, yardstick }: RoomReport): string[] {
  if (yardstick === null) return []
  const share = lostFrames(yardstick.load) / yardstick.load.framesExpected
  if (share <= STARVED) return []
  const lost = `the yardstick lost ${(100 * share).toFixed(1)} % in rooms of ${roomSize}`
  return [`${lost}: other programs wanted its core, and the ratio tells nothing`]
}

const streamInShort = ({ cpuPerStream, with: { load } }: StreamReport): string =>
  `${cpuPerStream.total.toFixed(3)} ms/s of CPU per stream; past the slot ${latencyInShort(load.streams?.slotDelayMs)}`

const latencyInShort = (ms: Percentiles | null | undefined): string =>
  ms == null ? 'no latency' : `p50 ${ms.p50.toFixed(1)} ms, p99 ${ms.p99.toFixed(1)} ms`

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
    const before = await stage.measure(load, legs, calm)
    await stage.stream(legs, format, streamPort)
    const figures = await stage.measure(load, legs, seconds)
    await stage.unstream()
    const after = await stage.measure(load, legs, calm)
    const without = lower(before.cpu, after.cpu)
    return { format, legs, without, with: figures, cpuPerStream: perUnit(figures.cpu, without, legs) }
  })
}

/**
 * CPU of calls without streams varies from minute to minute by as much as the streams cost, so it is measured before and after them. What
 * disturbs them, such as code that is still being compiled, only adds.
 */
const lower = (one: CpuRate, other: CpuRate): CpuRate => (one.total < other.total ? one : other)

const perUnit = (more: CpuRate, less: CpuRate, units: number): CpuRate => ({
  user: (more.user - less.user) / units,
  system: (more.system - less.system) / units,
  total: (more.total - less.total) / units,
})
