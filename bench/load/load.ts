import { setTimeout as sleep } from 'node:timers/promises'
import { Caller } from './caller.ts'
import { Listeners } from './listener.ts'
import type { LoadPlan, LoadResult, LoadTarget } from './messages.ts'
import { Pacer } from './pacer.ts'
import { RtpSockets } from './rtp-sockets.ts'
import { StreamReceiver } from './stream-receiver.ts'
import { Talkers } from './talker.ts'

const FRAMES_PER_SECOND = 50
/** Calls that wait for an answer at a time. */
const DIALLING = 8
/** How long is waited for what is on its way when the measurement ends [ms]. */
const TAIL_MS = 2000

/** Legs that call, talk and listen. Everything is over real sockets. */
export class Load {
  readonly #plan: LoadPlan
  readonly #talkers: Talkers
  readonly #listeners: Listeners
  readonly #sockets: RtpSockets
  readonly #caller: Caller | null
  readonly #receiver: StreamReceiver | null
  readonly #pacer: Pacer

  private constructor(
    plan: LoadPlan,
    parts: {
      talkers: Talkers
      listeners: Listeners
      sockets: RtpSockets
      caller: Caller | null
      receiver: StreamReceiver | null
    },
  ) {
    this.#plan = plan
    this.#talkers = parts.talkers
    this.#listeners = parts.listeners
    this.#sockets = parts.sockets
    this.#caller = parts.caller
    this.#receiver = parts.receiver
    this.#pacer = new Pacer(plan.legs, (leg, frame) => {
      this.#talkers.write(leg, frame, performance.now())
      this.#sockets.send(leg, this.#talkers.packet)
    })
  }

  /** Resolves when every call is answered and talks. Throws when one is refused. */
  static async start(plan: LoadPlan): Promise<Load> {
    const talkers = new Talkers(plan.legs, plan.roomSize)
    const listeners = new Listeners(talkers, plan.legs, plan.roomSize)
    const sockets = await RtpSockets.open(plan.legs, (leg, bytes) => listeners.receive(leg, bytes, performance.now()))
    const receiver = plan.streams === null ? null : await StreamReceiver.open(talkers, plan.streams)
    const caller = await connect(plan.target, plan.legs, sockets)
    return new Load(plan, { talkers, listeners, sockets, caller, receiver })
  }

  get streamPort(): number | null {
    return this.#receiver?.port ?? null
  }

  /** Measures frames that are said in the next `seconds`. `began`, `ended`: at the start and the end of those. */
  async measure(seconds: number, hooks: { began(): void; ended(): void }): Promise<LoadResult> {
    const from = this.#pacer.nextFrame
    this.#listeners.begin(from, performance.now())
    this.#receiver?.begin(from)
    this.#pacer.lag.clear()
    const cpu = process.cpuUsage()
    hooks.began()
    await sleep(seconds * 1000)
    const to = this.#pacer.nextFrame
    this.#listeners.end(to)
    this.#receiver?.end(to)
    const { user, system } = process.cpuUsage(cpu)
    const packets = { ...this.#listeners.counts }
    hooks.ended()
    await sleep(TAIL_MS)
    const { counts } = this.#listeners
    return {
      seconds,
      packetsSent: (to - from) * this.#plan.legs,
      ...counts,
      packetsReceived: packets.packetsReceived,
      packetsMissing: packets.packetsMissing,
      packetsLate: packets.packetsLate,
      packetsAfterGap: packets.packetsAfterGap,
      framesExpected: this.#framesExpected(from, to),
      latencyMs: this.#listeners.latency.percentiles(),
      driftPpm: this.#listeners.driftPpm,
      streams: this.#receiver?.result(to - from) ?? null,
      paceLagMs: this.#pacer.lag.percentiles(),
      ownCpuMs: (user + system) / 1000 / seconds,
    }
  }

  async close(): Promise<void> {
    await this.#caller?.close()
    this.#pacer.stop()
    this.#sockets.close()
    this.#receiver?.close()
  }

  #framesExpected(from: number, to: number): number {
    const { legs, roomSize } = this.#plan
    if (roomSize === 1) return 0
    let expected = 0
    for (let leg = 0; leg < legs; leg++) {
      const room = leg - (leg % roomSize)
      const others = Math.min(roomSize, legs - room) - 1
      for (let frame = from; frame < to; frame++) if (this.#talkers.talks(leg, frame)) expected += others
    }
    return expected
  }
}

async function connect(target: LoadTarget, legs: number, sockets: RtpSockets): Promise<Caller | null> {
  if (target.kind === 'rtp') {
    for (let leg = 0; leg < legs; leg++) sockets.connect(leg, target.ports[leg]!)
    return null
  }
  const caller = await Caller.open()
  let next = 0
  const dialOne = async (): Promise<void> => {
    for (let leg = next++; leg < legs; leg = next++) {
      const { host, port } = target
      const call = { from: `load-${leg}`, user: target.users[leg]!, host, port, rtpPort: sockets.portOf(leg) }
      sockets.connect(leg, (await caller.dial(call)).port)
    }
  }
  await Promise.all(Array.from({ length: DIALLING }, dialOne))
  await sleep(1000 / FRAMES_PER_SECOND)
  return caller
}
