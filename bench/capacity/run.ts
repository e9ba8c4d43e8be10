import { Refused } from '../load/caller.ts'
import type { LoadProcess } from '../load-process.ts'
import { type Machine, thisCommit, thisMachine } from '../machine.ts'
import type { BenchOptions } from '../options.ts'
import type { Figures } from '../report.ts'
import { Stage } from '../stage.ts'
import type { Subject } from '../subject.ts'
import { Yardstick } from '../yardstick/yardstick.ts'
import { type Judgement, judge, refusedWith } from './judge.ts'
import { CAPACITY_KINDS, type CapacityKind } from './kinds.ts'
import { type Found, findMost } from './search.ts'

/** Maximum number of legs that marks tell apart. */
const MOST_LEGS = 4000
const DEFAULTS = { seconds: 10, warmUp: 20, within: 0.08 }
/** The warm-up is no shorter: in their first seconds rooms move to better slots and jitter buffers adapt, which costs frames. */
const QUICK = { seconds: 5, warmUp: 20, within: 0.3 }
/** Minimum of legs times seconds. Few legs are measured for longer, or a single lost frame would exceed the permitted share. */
const LEAST_LEG_SECONDS = 500
const YARDSTICK_SECONDS = 8

interface Step extends Judgement {
  /** Null: not all calls were let in. */
  figures: Figures | null
}

export interface CapacityOf {
  kind: CapacityKind
  found: Found<Step>
  /** CPU of the yardstick with the highest number that held; null: there is no yardstick for this kind, or none was built. */
  yardstick: Figures | null
}

export interface CapacityReport {
  startedAt: string
  commit: string
  machine: Machine
  notes: string[]
  jitterMs: number
  seconds: number
  kinds: CapacityOf[]
}

/** `--capacity`: how many legs of each kind one core holds. */
export async function benchCapacity(
  options: BenchOptions,
  startSubject: () => Promise<Subject>,
  say: (line: string) => void,
): Promise<CapacityReport> {
  const pace = { ...(options.quick ? QUICK : DEFAULTS), ...(options.secondsGiven ? { seconds: options.seconds } : {}) }
  const report: CapacityReport = {
    startedAt: new Date().toISOString(),
    commit: thisCommit(),
    machine: thisMachine(),
    notes: [],
    jitterMs: options.jitterMs,
    seconds: pace.seconds,
    kinds: [],
  }
  const built = options.yardstick ? Yardstick.build() : null
  if (built !== null && 'missing' in built) report.notes.push(built.missing)
  const yardstick = built instanceof Yardstick ? built : null
  const stage = new Stage(await startSubject(), options.jitterMs)
  if (stage.problem !== null) report.notes.push(`not pinned to one core: ${stage.problem}`)
  try {
    for (const kind of CAPACITY_KINDS.filter(({ name }) => options.only.test(name))) {
      const found = await raise(kind, stage, pace, say)
      const floor =
        yardstick === null || kind.fork !== null || kind.isEncrypted || found.most === null
          ? null
          : await stage.yardstick(yardstick, found.most.count, kind.roomSize, YARDSTICK_SECONDS)
      report.kinds.push({ kind, found, yardstick: floor })
    }
  } finally {
    await stage.subject.stop()
    yardstick?.remove()
  }
  return report
}

function raise(
  kind: CapacityKind,
  stage: Stage,
  { seconds, warmUp, within }: typeof DEFAULTS,
  say: (line: string) => void,
): Promise<Found<Step>> {
  return findMost({ first: kind.first, unit: kind.roomSize, last: MOST_LEGS, within }, async count => {
    const pace = { seconds: Math.max(seconds, Math.ceil(LEAST_LEG_SECONDS / count)), warmUp }
    let figures: Figures
    try {
      figures = await stage.withLoad((load: LoadProcess) => stage.engine(load, kind, count, pace))
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      const refused = refusedWith(error.status)
      say(`${kind.name}: ${count} legs do not hold: ${refused.why}`)
      return { holds: false, result: { ...refused, figures: null } }
    }
    const step: Step = { ...judge(figures.load), figures }
    const cpu = `${(figures.cpu.total / 10).toFixed(0)} % of a core`
    const verdict = step.holds ? 'holds' : `does not: ${step.why}${step.isOfLoad ? ' (the load itself was late)' : ''}`
    say(`${kind.name}: ${count} legs, p50 ${step.p50.toFixed(1)} ms, p99 ${step.p99.toFixed(1)} ms, ${cpu}: ${verdict}`)
    return { holds: step.holds, result: step }
  })
}
