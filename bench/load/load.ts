import { setTimeout as sleep } from 'node:timers/promises'
import { Caller, type Dial, type Dialled, Refused } from './caller.ts'
import { LegSockets } from './leg-sockets.ts'
import { Listeners } from './listener.ts'
import type { LoadPlan, LoadResult } from './messages.ts'
import { Network } from './network.ts'
import { Pacer } from './pacer.ts'
import { Speech } from './speech.ts'
import { StreamReceiver } from './stream-receiver.ts'
import { Talkers } from './talker.ts'

/** Calls that wait for an answer at a time. */
const DIALLING = 8
/** How long is waited for what is on its way when the measurement ends [ms]. */
const TAIL_MS = 2000
/** A busy moment's 503 is not the end of a load: as a caller would, it calls again. */
const AGAIN = { status: 503, tries: 20, ms: 500 }

/** Legs that call, talk and listen as people do over good lines. Everything is over real sockets. */
export class Load {
  readonly #talkers: Talkers
  readonly #listeners: Listeners
  readonly #sockets: LegSockets
  readonly #caller: Caller | null
  readonly #receiver: StreamReceiver | null
  readonly #speech: Speech
  readonly #network: Network
  readonly #pacer: Pacer
  readonly #startedAt = performance.now()
  /** Since the measurement began. */
  #sent = 0
  #said = 0
  #expected = 0

  private constructor(
    plan: LoadPlan,
    parts: {
      talkers: Talkers
      listeners: Listeners
      sockets: LegSockets
      caller: Caller | null
      receiver: StreamReceiver | null
    },
  ) {
    this.#talkers = parts.talkers
    this.#listeners = parts.listeners
    this.#sockets = parts.sockets
    this.#caller = parts.caller
    this.#receiver = parts.receiver
    this.#speech = new Speech(plan.legs, plan.roomSize)
    this.#network = new Network(plan.legs, plan.jitterMs, this.#startedAt)
    this.#pacer = new Pacer(
      plan.legs,
      this.#network,
      (leg, frame, now) => this.#send(leg, frame, now),
      () => this.#sockets.poll(),
    )
  }

  /** Resolves when every call is answered and talks. Throws when one is refused for good. */
  static async start(plan: LoadPlan): Promise<Load> {
    const talkers = new Talkers(plan.legs)
    const listeners = new Listeners(talkers, plan.legs, plan.roomSize)
    const sockets = await LegSockets.open(plan.legs, (leg, bytes, at) => listeners.receive(leg, bytes, at))
    const receiver = plan.streams === null ? null : await StreamReceiver.open(talkers, plan.streams)
    const caller = await connect(plan, sockets)
    return new Load(plan, { talkers, listeners, sockets, caller, receiver })
  }

  get streamPort(): number | null {
    return this.#receiver?.port ?? null
  }

  #send(leg: number, frame: number, now: number): void {
    // Nobody need play what comes behind its successor: nothing is asked of it.
    const isLost = this.#network.isOvertaken(leg, frame)
    const saying = isLost ? 'silence' : this.#speech.at(leg, this.#network.dueAt(leg, frame) - this.#startedAt)
    const isMarked = this.#talkers.write(leg, frame, saying, now)
    this.#sockets.send(leg, this.#talkers.packet)
    this.#sent++
    if (isMarked) {
      this.#said++
      this.#expected += this.#speech.othersOf(leg)
    }
    const length = this.#talkers.report(leg, frame, this.#listeners.farOf(leg), now)
    if (length > 0) this.#sockets.report(leg, this.#talkers.reports, length)
  }

  /** Measures what is said in the next `seconds`. `began`, `ended`: at the start and the end of those. */
  async measure(seconds: number, hooks: { began(): void; ended(): void }): Promise<LoadResult> {
    const from = performance.now()
    this.#listeners.begin(from)
    this.#receiver?.begin(from)
    this.#pacer.lag.clear()
    this.#sent = this.#said = this.#expected = 0
    const cpu = process.cpuUsage()
    hooks.began()
    await sleep(seconds * 1000)
    const to = performance.now()
    this.#listeners.end(to)
    this.#receiver?.end(to)
    const [packetsSent, said, framesExpected] = [this.#sent, this.#said, this.#expected]
    const { user, system } = process.cpuUsage(cpu)
    const packets = { ...this.#listeners.counts }
    hooks.ended()
    await sleep(TAIL_MS)
    const { counts } = this.#listeners
    return {
      seconds,
      packetsSent,
      ...counts,
      strays: this.#listeners.strays,
      packetsReceived: packets.packetsReceived,
      packetsMissing: packets.packetsMissing,
      packetsLate: packets.packetsLate,
      packetsAfterGap: packets.packetsAfterGap,
      framesExpected,
      latencyMs: this.#listeners.latency.percentiles(),
      driftPpm: this.#listeners.driftPpm,
      streams: this.#receiver?.result(said) ?? null,
      paceLagMs: this.#pacer.lag.percentiles(),
      ownCpuMs: (user + system) / 1000 / ((to - from) / 1000),
    }
  }

  async close(): Promise<void> {
    await this.#caller?.close()
    this.#pacer.stop()
    this.#sockets.close()
    this.#receiver?.close()
  }
}

async function connect({ target, legs, isEncrypted }: LoadPlan, sockets: LegSockets): Promise<Caller | null> {
  if (target.kind === 'rtp') {
    for (let leg = 0; leg < legs; leg++) {
      const port = target.ports[leg]!
      sockets.connect(leg, { host: target.host, rtpPort: port, rtcpPort: port + 1, keys: null })
    }
    return null
  }
  const caller = await Caller.open()
  let next = 0
  const dialOne = async (): Promise<void> => {
    for (let leg = next++; leg < legs; leg = next++) {
      const { host, port } = target
      const call = {
        from: `load-${leg}`,
        user: target.users[leg]!,
        host,
        port,
        rtpPort: sockets.portOf(leg),
        isEncrypted,
      }
      sockets.connect(leg, (await dialAgain(caller, call)).far)
    }
  }
  await Promise.all(Array.from({ length: DIALLING }, dialOne))
  return caller
}

async function dialAgain(caller: Caller, call: Dial): Promise<Dialled> {
  for (let left = AGAIN.tries; ; left--) {
    try {
      return await caller.dial(call)
    } catch (error) {
      if (left === 0 || !(error instanceof Refused) || error.status !== AGAIN.status) throw error
      await sleep(AGAIN.ms)
    }
  }
}
