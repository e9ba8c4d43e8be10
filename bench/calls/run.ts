import { setTimeout as sleep } from 'node:timers/promises'
import type { LoadResult } from '../load/messages.ts'
import { LoadProcess } from '../load-process.ts'
import { type Machine, thisCommit, thisMachine } from '../machine.ts'
import type { BenchOptions } from '../options.ts'
import { putFirst } from '../pin.ts'
import type { Subject } from '../subject.ts'
import { WebhookReceiver } from '../webhook-receiver.ts'
import { type CallCost, costOfCall, engineThread, readSpent, type Spent } from './cost.ts'
import { RushProcess, type RushResult } from './rush-process.ts'

const ROOM_SIZE = 3
/** Legs that talk in rooms meanwhile. */
const STANDING = 201
/** Their packets leave in turns of this length: that saves CPU on the cores which they share with the calls that are measured. */
const STANDING_TURN_MS = 1
const WARM_UP_SECONDS = 10
const IDLE_SECONDS = 5
/** Calls that are not counted, which warm up the code. */
const FIRST = { rate: 20, seconds: 8 }
/** Pause between two rates, in which queued work is done [s]. */
const REST_SECONDS = 3
/** Maximum for the 99th percentile of the set-up at a rate that is carried. */
export const MOST_SET_UP_MS = 100

export interface CallsStep {
  rush: RushResult
  cost: CallCost
  /** What the legs in rooms heard. */
  audio: LoadResult
  /** Share of the engine's slots that began more than 5 ms late or were skipped. */
  late: number
  /** Webhooks received per call. */
  webhooks: number
}

export interface CallsReport {
  startedAt: string
  commit: string
  machine: Machine
  seconds: number
  standing: number
  steps: CallsStep[]
}

/** `--calls`: what a call costs from INVITE to BYE, and how many per second are set up in time, on all cores and beside legs that talk in rooms. */
export async function benchCalls(
  { rates, seconds, jitterMs }: BenchOptions,
  startSubject: () => Promise<Subject>,
  say: (line: string) => void,
): Promise<CallsReport> {
  const report: CallsReport = {
    ...{ startedAt: new Date().toISOString(), commit: thisCommit(), machine: thisMachine() },
    ...{ seconds, standing: STANDING, steps: [] },
  }
  const subject = await startSubject()
  const load = new LoadProcess()
  const webhooks = await WebhookReceiver.open(subject.api)
  const rush = await RushProcess.open({ ...subject.sip, user: subject.echoNumber })
  try {
    say(`${STANDING} legs in rooms of ${ROOM_SIZE} …`)
    const numbers = await subject.openRooms(STANDING / ROOM_SIZE)
    const users = Array.from({ length: STANDING }, (_, leg) => numbers[Math.floor(leg / ROOM_SIZE)]!)
    const target = { kind: 'sip' as const, ...subject.sip, users }
    const plan = { target, legs: STANDING, roomSize: ROOM_SIZE, streams: null, jitterMs, isEncrypted: false }
    await load.prepare({ ...plan, turnMs: STANDING_TURN_MS })
    putFirst(load.pid)
    await sleep(WARM_UP_SECONDS * 1000)
    await rush.run(Math.min(FIRST.rate, ...rates), FIRST.seconds)
    await sleep(REST_SECONDS * 1000)
    const meter = new Meter(subject, [load.pid, rush.pid, process.pid])
    const idle = await meter.around(() => sleep(IDLE_SECONDS * 1000))
    for (const rate of rates) {
      const step = await oneRate({ rate, seconds, idle, meter, rush, load, webhooks })
      report.steps.push(step)
      const { rush: r, cost } = step
      say(
        `${rate} calls/s: ${r.whole} of ${r.begun} whole, ${r.refused} refused, ${r.failed} failed, set-up p50 ${r.setUpMs?.p50.toFixed(1)} ms, ` +
          `p99 ${r.setUpMs?.p99.toFixed(1)} ms, ${cost.totalMs.toFixed(1)} ms of CPU and ${cost.statements.toFixed(0)} statements a call`,
      )
      await sleep(REST_SECONDS * 1000)
    }
    await load.close()
  } finally {
    await rush.close()
    load.kill()
    webhooks.close()
    await subject.stop()
  }
  return report
}

async function oneRate({
  rate,
  seconds,
  idle,
  meter,
  rush,
  load,
  webhooks,
}: {
  rate: number
  seconds: number
  idle: readonly [Spent, Spent]
  meter: Meter
  rush: RushProcess
  load: LoadProcess
  webhooks: WebhookReceiver
}): Promise<CallsStep> {
  const before = webhooks.received
  let result: RushResult | null = null
  const measured = load.measure(seconds, () => null)
  const spent = await meter.around(async () => {
    result = await rush.run(rate, seconds)
  })
  const audio = (await measured).result
  const { begun, refused } = result!
  return {
    rush: result!,
    cost: costOfCall(idle, spent, begun - refused),
    audio,
    late: (spent[1].late - spent[0].late) / Math.max(1, spent[1].slots - spent[0].slots),
    webhooks: (webhooks.received - before) / Math.max(1, begun - refused),
  }
}

/** Reads what all processes have used, before and after something. */
class Meter {
  readonly #subject: Subject
  readonly #engine: string
  readonly #load: readonly number[]

  /** @param load the processes of the load */
  constructor(subject: Subject, load: readonly number[]) {
    this.#subject = subject
    this.#load = load
    this.#engine = engineThread(subject.mediaPid)
  }

  async around(what: () => Promise<unknown>): Promise<readonly [Spent, Spent]> {
    const before = await this.#read()
    await what()
    return [before, await this.#read()]
  }

  async #read(): Promise<Spent> {
    return readSpent(this.#subject, this.#engine, this.#load, await this.#subject.metrics())
  }
}
