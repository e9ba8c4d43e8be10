import { setTimeout as sleep } from 'node:timers/promises'
import type { StreamFormat } from '../media/protocol.ts'
import type { LoadPlan } from './load/messages.ts'
import { LoadProcess } from './load-process.ts'
import { pin, pinProblem, putFirst } from './pin.ts'
import { cpuRate, readCpu, readThreads } from './process-cpu.ts'
import type { Figures } from './report.ts'
import type { Subject } from './subject.ts'
import type { Yardstick } from './yardstick/yardstick.ts'

const HOST = '127.0.0.1'
/** For the yardstick, in which nothing has to settle [s]. */
const YARDSTICK_WARM_UP_SECONDS = 2
/** After streams were started: that may delay packets, and jitter buffers that grew for them shrink only after 4 to 8 s without late packets [s]. */
const STREAM_WARM_UP_SECONDS = 10
/** After streams were stopped [s]. */
const STREAM_END_SECONDS = 3

/** The legs of a measurement. */
interface LegsKind {
  roomSize: number
  fork: StreamFormat | null
  isEncrypted: boolean
}

/** The product on a core of its own and loads on another one, for every bench of audio. */
export class Stage {
  readonly subject: Subject
  /** Why nothing is pinned to a core; null: it is. */
  readonly problem: string | null
  readonly #jitterMs: number
  readonly #rooms: string[] = []

  constructor(subject: Subject, jitterMs: number) {
    this.subject = subject
    this.problem = pinProblem()
    this.#jitterMs = jitterMs
    this.#pin(subject.mediaPid, 'measured')
    for (const pid of subject.otherPids) this.#pin(pid, 'other')
  }

  /** Starts a load for the duration of `use`. */
  async withLoad<T>(use: (load: LoadProcess) => Promise<T>): Promise<T> {
    const load = new LoadProcess()
    this.#pin(load.pid, 'other')
    if (this.problem === null) putFirst(load.pid)
    try {
      const result = await use(load)
      await load.close()
      return result
    } finally {
      load.kill()
    }
  }

  /** Has legs call into rooms, or the echo. Resolves when all talk. */
  async call(load: LoadProcess, kind: LegsKind, legs: number): Promise<{ streamPort: number | null }> {
    const { sip, echoNumber } = this.subject
    const rooms = await this.#openRooms(kind.roomSize === 1 ? 0 : Math.ceil(legs / kind.roomSize))
    const numberOf = (leg: number): string =>
      kind.roomSize === 1 ? echoNumber : rooms[Math.floor(leg / kind.roomSize)]!
    const users = Array.from({ length: legs }, (_, leg) => numberOf(leg))
    return load.prepare(this.#plan({ kind: 'sip', ...sip, users }, kind, legs))
  }

  /** Places the calls, starts streams if they are wanted, and measures. */
  async engine(
    load: LoadProcess,
    kind: LegsKind,
    legs: number,
    { seconds, warmUp }: { seconds: number; warmUp: number },
  ): Promise<Figures> {
    const { streamPort } = await this.call(load, kind, legs)
    await sleep(warmUp * 1000)
    if (kind.fork !== null) await this.stream(legs, kind.fork, streamPort)
    return this.measure(load, legs, seconds)
  }

  async stream(legs: number, format: StreamFormat, port: number | null): Promise<void> {
    await this.subject.startStreams(legs, format, `ws://${HOST}:${port}`)
    await sleep(STREAM_WARM_UP_SECONDS * 1000)
  }

  async unstream(): Promise<void> {
    await this.subject.stopStreams()
    await sleep(STREAM_END_SECONDS * 1000)
  }

  async measure(load: LoadProcess, legs: number, seconds: number): Promise<Figures> {
    const before = await this.subject.lateSlots()
    const figures = await measure(load, this.subject.mediaPid, legs, seconds)
    return { ...figures, lateSlots: (await this.subject.lateSlots()) - before }
  }

  /** Measures the yardstick with the same legs, on the same core, while the product is idle. */
  async yardstick(yardstick: Yardstick, legs: number, roomSize: number, seconds: number): Promise<Figures> {
    const running = await yardstick.start(legs, roomSize)
    this.#pin(running.pid, 'measured')
    try {
      return await this.withLoad(async load => {
        const kind = { roomSize, fork: null, isEncrypted: false }
        await load.prepare(this.#plan({ kind: 'rtp', host: HOST, ports: running.ports }, kind, legs))
        await sleep(YARDSTICK_WARM_UP_SECONDS * 1000)
        return await measure(load, running.pid, legs, seconds)
      })
    } finally {
      running.stop()
    }
  }

  /** The numbers of at least `count` rooms; those of earlier measurements are used again, since they are empty. */
  async #openRooms(count: number): Promise<string[]> {
    if (count > this.#rooms.length) this.#rooms.push(...(await this.subject.openRooms(count - this.#rooms.length)))
    return this.#rooms
  }

  #plan(target: LoadPlan['target'], { roomSize, fork, isEncrypted }: LegsKind, legs: number): LoadPlan {
    return { target, legs, roomSize, streams: fork, jitterMs: this.#jitterMs, isEncrypted }
  }

  #pin(pid: number, to: 'measured' | 'other'): void {
    if (this.problem === null) pin(pid, to)
  }
}

async function measure(load: LoadProcess, pid: number, legs: number, seconds: number): Promise<Figures> {
  const { result, before, after } = await load.measure(seconds, () => ({
    all: readCpu(pid),
    threads: readThreads(pid),
  }))
  const cpu = cpuRate(before.all, after.all)
  const taken = [...after.threads].map(([thread, ms]) => ms - (before.threads.get(thread) ?? 0))
  const busiestThread = (1000 * Math.max(...taken)) / (after.all.at - before.all.at)
  return { legs, cpu, busiestThread, load: result, lateSlots: null }
}
