import { setTimeout as sleep } from 'node:timers/promises'
import { Caller, type Dial, Refused } from './caller.ts'
import { Ledger } from './ledger.ts'
import { LegSockets } from './leg-sockets.ts'
import { Listeners } from './listener.ts'
import type { LoadPlan, LoadResult } from './messages.ts'
import { TURN_MS } from './pacer.ts'
import { type Speaking, startSpeaking } from './speaking.ts'
import { StreamReceiver } from './stream-receiver.ts'
import type { FarEnd } from './wires.ts'

/** Number of calls that wait for an answer at the same time. */
const DIALLING = 8
/** How long packets that are still on their way at the end of the measurement are waited for [ms]. */
const TAIL_MS = 2000
/** Delay from a request to the measurement, so that all parts know of it when it begins [ms]. */
const AHEAD_MS = 20
/** Interval of polls of the sockets [turns of the pacer]; the system notes when a packet arrived. */
const POLL_TURNS = 4
/** A call that is refused with 503 in a busy moment is placed again, as a caller would do. */
const AGAIN = { status: 503, tries: 20, ms: 500 }

/** Legs that call, talk and listen as people do over good lines, over real sockets. */
export class Load {
  readonly #listeners: Listeners
  readonly #sockets: LegSockets
  readonly #caller: Caller | null
  readonly #receiver: StreamReceiver | null
  readonly #speaking: Speaking
  readonly #polls: NodeJS.Timeout

  private constructor(parts: {
    listeners: Listeners
    sockets: LegSockets
    caller: Caller | null
    receiver: StreamReceiver | null
    speaking: Speaking
    pollMs: number
  }) {
    this.#listeners = parts.listeners
    this.#sockets = parts.sockets
    this.#caller = parts.caller
    this.#receiver = parts.receiver
    this.#speaking = parts.speaking
    this.#polls = setInterval(() => {
      this.#listeners.polledAt = performance.now()
      this.#sockets.poll()
    }, parts.pollMs)
  }

  /** Resolves when every leg is answered and talks. Throws if a call is refused for good. */
  static async start(plan: LoadPlan): Promise<Load> {
    const ledger = new Ledger(plan.legs)
    const listeners = new Listeners(ledger, plan.legs, plan.roomSize)
    const sockets = await LegSockets.open(plan.legs, (leg, bytes, at) => listeners.receive(leg, bytes, at))
    const receiver = plan.streams === null ? null : await StreamReceiver.open(ledger, plan.streams)
    const { caller, farEnds } = await connect(plan, sockets)
    const speaking = await startSpeaking(plan, ledger, sockets, farEnds)
    const pollMs = POLL_TURNS * (plan.turnMs ?? TURN_MS)
    return new Load({ listeners, sockets, caller, receiver, speaking, pollMs })
  }

  get streamPort(): number | null {
    return this.#receiver?.port ?? null
  }

  /** Measures what is said in the next `seconds`. `began` and `ended` are called at their start and their end. */
  async measure(seconds: number, hooks: { began(): void; ended(): void }): Promise<LoadResult> {
    const from = performance.now() + AHEAD_MS
    const to = from + seconds * 1000
    for (const part of [this.#listeners, this.#receiver, this.#speaking]) part?.measure(from, to)
    await sleep(from - performance.now())
    const cpu = process.cpuUsage()
    hooks.began()
    await sleep(to - performance.now())
    const { user, system } = process.cpuUsage(cpu)
    const packets = { ...this.#listeners.counts }
    hooks.ended()
    await sleep(TAIL_MS)
    const { packetsSent, said, framesExpected, paceLagMs } = await this.#speaking.spoken()
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
      paceLagMs,
      readLagMs: this.#listeners.readLagMs,
      ownCpuMs: (user + system) / 1000 / seconds,
    }
  }

  async close(): Promise<void> {
    await this.#caller?.close()
    await this.#speaking.stop()
    clearInterval(this.#polls)
    this.#sockets.close()
    this.#receiver?.close()
  }
}

async function connect(
  { target, legs, isEncrypted }: LoadPlan,
  sockets: LegSockets,
): Promise<{ caller: Caller | null; farEnds: FarEnd[] }> {
  const farEnds: FarEnd[] = new Array(legs)
  const reach = (leg: number, far: FarEnd): void => {
    farEnds[leg] = far
    sockets.connect(leg, far)
  }
  if (target.kind === 'rtp') {
    for (let leg = 0; leg < legs; leg++) {
      const port = target.ports[leg]!
      reach(leg, { host: target.host, rtpPort: port, rtcpPort: port + 1, keys: null })
    }
    return { caller: null, farEnds }
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
      reach(leg, await dialAgain(caller, call))
    }
  }
  try {
    await Promise.all(Array.from({ length: DIALLING }, dialOne))
  } catch (error) {
    next = legs
    await caller.close()
    throw error
  }
  return { caller, farEnds }
}

async function dialAgain(caller: Caller, call: Dial): Promise<FarEnd> {
  for (let left = AGAIN.tries; ; left--) {
    try {
      return await caller.dial(call)
    } catch (error) {
      if (left === 0 || !(error instanceof Refused) || error.status !== AGAIN.status) throw error
      await sleep(AGAIN.ms)
    }
  }
}
