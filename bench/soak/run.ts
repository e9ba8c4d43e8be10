import { setTimeout as sleep } from 'node:timers/promises'
import { RestLoad } from '../busy/rest-load.ts'
import { Callers } from '../kills/callers.ts'
import type { LoadResult } from '../load/messages.ts'
import { type Machine, thisCommit, thisMachine } from '../machine.ts'
import type { BenchOptions } from '../options.ts'
import { pin } from '../pin.ts'
import { type CpuRate, cpuRate, readCpu } from '../process-cpu.ts'
import { lostFrames } from '../report.ts'
import { Stage } from '../stage.ts'
import type { Subject } from '../subject.ts'
import { WebhookReceiver } from '../webhook-receiver.ts'
import { type MachineLateness, Metronome } from '../yardstick/metronome.ts'
import { type Sample, takeSample } from './samples.ts'

const ROOM_SIZE = 3
const WARM_UP_SECONDS = 15
/** Number of phones that call and hang up again and again. */
const COMING = 4
/** Number of REST clients, with `--busy`. */
const CLIENTS = 4
/** Number of parts in which audio is measured, and minimum duration of a part. */
const PARTS = 20
const SHORTEST_PART_S = 15

/** A part of the soak. */
interface SoakPart {
  /** Time since the start [s]. */
  at: number
  load: LoadResult
}

export interface SoakReport {
  startedAt: string
  commit: string
  machine: Machine
  notes: string[]
  legs: number
  minutes: number
  parts: SoakPart[]
  samples: Sample[]
  /** Number of calls that were answered and hung up, and what went wrong with any. */
  calls: number
  problems: string[]
  /** Null: without `--busy`. */
  busy: { requestsPerSecond: number; webhooks: number } | null
  /** CPU of media; null: not measured [ms/s]. */
  mediaCpu: CpuRate | null
  /** Lateness of the machine itself on the engine's core meanwhile; null: there is no C compiler. */
  ofMachine: MachineLateness | null
}

/** `--soak`: what grows or drifts while legs talk, others call and hang up, and with `--busy` REST clients and webhooks are served too. */
export async function benchSoak(
  options: BenchOptions,
  startSubject: () => Promise<Subject>,
  say: (line: string) => void,
): Promise<SoakReport> {
  const { legs, soak: minutes, jitterMs } = options
  const stage = new Stage(await startSubject(), jitterMs)
  const { subject } = stage
  const report: SoakReport = {
    ...{ startedAt: new Date().toISOString(), commit: thisCommit(), machine: thisMachine() },
    ...{ notes: [], legs, minutes, parts: [], samples: [], calls: 0, problems: [], busy: null },
    ...{ mediaCpu: null, ofMachine: null },
  }
  if (stage.problem !== null) report.notes.push(`not pinned to one core: ${stage.problem}`)
  try {
    await stage.withLoad(async load => {
      say(`${legs} legs in rooms of ${ROOM_SIZE} …`)
      await stage.call(load, { roomSize: ROOM_SIZE, fork: null, isEncrypted: false }, legs)
      const callers = await Callers.start(subject.sip, { lasting: 0, coming: COMING })
      const busy = options.busy ? await Busy.start(subject) : null
      await sleep(WARM_UP_SECONDS * 1000)
      busy?.begin()
      const metronome = await Metronome.start()
      if (metronome !== null && stage.problem === null) pin(metronome.pid, 'measured')
      const before = readCpu(subject.mediaPid)
      await watch(report, () => load.measure(partSeconds(minutes), () => null), subject, say)
      report.mediaCpu = cpuRate(before, readCpu(subject.mediaPid))
      report.ofMachine = (await metronome?.stop()) ?? null
      report.busy = (await busy?.stop()) ?? null
      await callers.stop()
      await callers.close()
      report.calls = callers.answered
      report.problems = callers.problems
    })
  } finally {
    await subject.stop()
  }
  return report
}

const partSeconds = (minutes: number): number => Math.max(SHORTEST_PART_S, (minutes * 60) / PARTS)

/** Measures part after part until the time is over, and takes a sample after each. */
async function watch(
  { parts, samples, minutes }: SoakReport,
  measure: () => Promise<{ result: LoadResult }>,
  subject: Subject,
  say: (line: string) => void,
): Promise<void> {
  const startedAt = performance.now()
  const at = (): number => (performance.now() - startedAt) / 1000
  samples.push(await takeSample(subject, startedAt))
  while (at() < minutes * 60) {
    const { result } = await measure()
    parts.push({ at: at(), load: result })
    const sample = await takeSample(subject, startedAt)
    samples.push(sample)
    const mb = (bytes: number): string => (bytes / 2 ** 20).toFixed(0)
    say(
      `${(sample.at / 60).toFixed(1)} of ${minutes} min: p99 ${result.latencyMs?.p99.toFixed(1)} ms, ${lostFrames(result)} lost, ` +
        `media ${mb(sample.values['media memory'])} MB, control ${mb(sample.values['control memory'])} MB`,
    )
  }
}

/** REST clients and a receiver of webhooks. */
class Busy {
  readonly #rest: RestLoad
  readonly #webhooks: WebhookReceiver

  private constructor(rest: RestLoad, webhooks: WebhookReceiver) {
    this.#rest = rest
    this.#webhooks = webhooks
  }

  static async start({ api }: Subject): Promise<Busy> {
    const webhooks = await WebhookReceiver.open(api)
    return new Busy(await RestLoad.start(api, CLIENTS), webhooks)
  }

  begin(): void {
    this.#rest.begin()
  }

  async stop(): Promise<NonNullable<SoakReport['busy']>> {
    const { perSecond } = this.#rest.figures
    await this.#rest.stop()
    this.#webhooks.close()
    return { requestsPerSecond: perSecond, webhooks: this.#webhooks.received }
  }
}
