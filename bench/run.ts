import { setTimeout as sleep } from 'node:timers/promises'
import type { StreamFormat } from '../media/protocol.ts'
import { LoadProcess } from './load-process.ts'
import { thisCommit, thisMachine } from './machine.ts'
import type { BenchOptions } from './options.ts'
import { pin, pinProblem } from './pin.ts'
import { type Cpu, type CpuRate, cpuRate, readCpu } from './process-cpu.ts'
import type { Figures, Report, RoomReport, StreamReport } from './report.ts'
import type { Subject } from './subject.ts'
import { Yardstick } from './yardstick.ts'

const HOST = '127.0.0.1'
/** After the last call is up: chimes end, the jitter buffers give back what the set-up made them grow, code gets hot [s]. */
const WARM_UP_SECONDS = 15
/** Of the yardstick, which has nothing to settle, and how long it is measured at most [s]. */
const YARDSTICK_WARM_UP_SECONDS = 2
const YARDSTICK_SECONDS = 20
/** After streams were started [s]. */
const STREAM_WARM_UP_SECONDS = 5

/** Runs everything that the options ask for, one after the other. */
export async function runBench(
  options: BenchOptions,
  startSubject: () => Promise<Subject>,
  say: (line: string) => void,
): Promise<Report> {
  const problem = pinProblem()
  const report: Report = {
    startedAt: new Date().toISOString(),
    commit: thisCommit(),
    machine: thisMachine(),
    seconds: options.seconds,
    notes: problem === null ? [] : [`not pinned to one core: ${problem}`],
    rooms: [],
    streams: [],
  }
  const yardstick = options.yardstick && options.rooms.length > 0 ? Yardstick.build() : null
  if (yardstick !== null && 'missing' in yardstick) report.notes.push(yardstick.missing)
  const subject = await startSubject()
  const bench = new Bench(options, subject, problem === null)
  try {
    for (const roomSize of options.rooms) {
      say(`${options.legs} legs in rooms of ${roomSize} …`)
      report.rooms.push(await bench.room(roomSize, yardstick instanceof Yardstick ? yardstick : null))
    }
    for (const format of options.streams) {
      say(`${options.streamLegs} streams of ${format} …`)
      report.streams.push(await bench.stream(format))
    }
  } finally {
    await subject.stop()
    if (yardstick instanceof Yardstick) yardstick.remove()
  }
  return report
}

class Bench {
  readonly #options: BenchOptions
  readonly #subject: Subject
  readonly #isPinned: boolean

  constructor(options: BenchOptions, subject: Subject, isPinned: boolean) {
    this.#options = options
    this.#subject = subject
    this.#isPinned = isPinned
    this.#pin(subject.mediaPid, 'measured')
    for (const pid of subject.otherPids) this.#pin(pid, 'other')
  }

  async room(roomSize: number, yardstick: Yardstick | null): Promise<RoomReport> {
    const reference = yardstick === null ? null : await this.#yardstickRoom(yardstick, roomSize)
    const engine = await this.#engineRoom(roomSize)
    const ratio = reference === null ? null : engine.cpu.total / reference.cpu.total
    return { roomSize, engine, yardstick: reference, ratio }
  }

  async #yardstickRoom(yardstick: Yardstick, roomSize: number): Promise<Figures> {
    const { legs, seconds } = this.#options
    const running = await yardstick.start(legs, roomSize)
    this.#pin(running.pid, 'measured')
    try {
      return await this.#withLoad(async load => {
        await load.prepare({ target: { kind: 'rtp', host: HOST, ports: running.ports }, legs, roomSize, streams: null })
        await sleep(YARDSTICK_WARM_UP_SECONDS * 1000)
        return await measure(load, running.pid, legs, Math.min(seconds, YARDSTICK_SECONDS))
      })
    } finally {
      running.stop()
    }
  }

  async #engineRoom(roomSize: number): Promise<Figures> {
    const { legs, seconds } = this.#options
    const { sip, mediaPid } = this.#subject
    const numbers = await this.#subject.openRooms(Math.ceil(legs / roomSize))
    const users = Array.from({ length: legs }, (_, leg) => numbers[Math.floor(leg / roomSize)]!)
    return this.#withLoad(async load => {
      await load.prepare({ target: { kind: 'sip', ...sip, users }, legs, roomSize, streams: null })
      await sleep(WARM_UP_SECONDS * 1000)
      return await this.#measureEngine(load, mediaPid, legs, seconds)
    })
  }

  async stream(format: StreamFormat): Promise<StreamReport> {
    const { streamLegs: legs, seconds } = this.#options
    const { sip, mediaPid, echoNumber } = this.#subject
    const users = Array.from({ length: legs }, () => echoNumber)
    return this.#withLoad(async load => {
      const plan = { target: { kind: 'sip' as const, ...sip, users }, legs, roomSize: 1, streams: format }
      const { streamPort } = await load.prepare(plan)
      await sleep(WARM_UP_SECONDS * 1000)
      const without = await this.#measureEngine(load, mediaPid, legs, Math.min(seconds, YARDSTICK_SECONDS))
      await this.#subject.startStreams(legs, format, `ws://${HOST}:${streamPort}`)
      await sleep(STREAM_WARM_UP_SECONDS * 1000)
      const figures = await this.#measureEngine(load, mediaPid, legs, seconds)
      return { format, legs, without, with: figures, cpuPerStream: perUnit(figures.cpu, without.cpu, legs) }
    })
  }

  async #measureEngine(load: LoadProcess, pid: number, legs: number, seconds: number): Promise<Figures> {
    const before = await this.#subject.lateSlots()
    const figures = await measure(load, pid, legs, seconds)
    return { ...figures, lateSlots: (await this.#subject.lateSlots()) - before }
  }

  async #withLoad<T>(use: (load: LoadProcess) => Promise<T>): Promise<T> {
    const load = new LoadProcess()
    this.#pin(load.pid, 'other')
    try {
      const result = await use(load)
      await load.close()
      return result
    } finally {
      load.kill()
    }
  }

  #pin(pid: number, to: 'measured' | 'other'): void {
    if (this.#isPinned) pin(pid, to)
  }
}

async function measure(load: LoadProcess, pid: number, legs: number, seconds: number): Promise<Figures> {
  const { result, before, after } = await load.measure<Cpu>(seconds, () => readCpu(pid))
  return { legs, cpu: cpuRate(before, after), load: result, lateSlots: null }
}

const perUnit = (more: CpuRate, less: CpuRate, units: number): CpuRate => ({
  user: (more.user - less.user) / units,
  system: (more.system - less.system) / units,
  total: (more.total - less.total) / units,
})
