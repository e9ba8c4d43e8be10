import { getPriority } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { LoadProcess } from '../load-process.ts'
import { type Machine, thisCommit, thisMachine } from '../machine.ts'
import type { BenchOptions } from '../options.ts'
import { setPriorityOfAll } from '../pin.ts'
import { cpuRate, readCpu } from '../process-cpu.ts'
import type { Figures } from '../report.ts'
import type { Subject } from '../subject.ts'
import { type RestFigures, RestLoad } from './rest-load.ts'

const ROOM_SIZE = 3
const LOOPS = 8
/** After the last call is answered, as in the bench of audio alone [s]. */
const WARM_UP_SECONDS = 15
/** After the requests begin, and after priorities were changed [s]. */
const SETTLE_SECONDS = 3

interface BusyPhase {
  name: string
  audio: Figures
  /** Null: without requests. */
  rest: RestFigures | null
}

export interface BusyReport {
  startedAt: string
  commit: string
  machine: Machine
  legs: number
  loops: number
  seconds: number
  phases: BusyPhase[]
}

/**
 * Legs in rooms of 3, first alone, then beside clients of the REST API on the same cores: with the priorities that the product gives its processes, and
 * with media lowered to the priority of control, as before the product lowered that of control. The last shows a difference only where audio threads have
 * no real-time priority, which nice values do not affect, and where the requests, which the rate limit of their keys bounds, use up the cores.
 */
export async function benchBusy(
  { legs, seconds, jitterMs }: BenchOptions,
  startSubject: () => Promise<Subject>,
  say: (line: string) => void,
): Promise<BusyReport> {
  const report: BusyReport = {
    startedAt: new Date().toISOString(),
    commit: thisCommit(),
    machine: thisMachine(),
    legs,
    loops: LOOPS,
    seconds,
    phases: [],
  }
  const subject = await startSubject()
  const load = new LoadProcess()
  try {
    say(`${legs} legs in rooms of ${ROOM_SIZE} …`)
    const numbers = await subject.openRooms(Math.ceil(legs / ROOM_SIZE))
    const users = Array.from({ length: legs }, (_, leg) => numbers[Math.floor(leg / ROOM_SIZE)]!)
    const target = { kind: 'sip' as const, ...subject.sip, users }
    await load.prepare({ target, legs, roomSize: ROOM_SIZE, streams: null, jitterMs, isEncrypted: false })
    await sleep(WARM_UP_SECONDS * 1000)
    const phase = async (name: string, rest: RestLoad | null): Promise<void> => {
      say(`${name} …`)
      await sleep(SETTLE_SECONDS * 1000)
      rest?.begin()
      const audio = await measure(load, subject, legs, seconds)
      report.phases.push({ name, audio, rest: rest?.figures ?? null })
    }
    await phase('no requests', null)
    // The clients run in this process, on the same cores, so they must have no higher priority than control.
    const nice = getPriority(subject.controlPid)
    setPriorityOfAll(process.pid, nice)
    const rest = await RestLoad.start(subject.api, LOOPS)
    await phase('requests, as shipped', rest)
    setPriorityOfAll(subject.mediaPid, nice)
    await phase('requests, media not ahead', rest)
    await rest.stop()
    await load.close()
    return report
  } finally {
    load.kill()
    await subject.stop()
  }
}

async function measure(load: LoadProcess, subject: Subject, legs: number, seconds: number): Promise<Figures> {
  const slots = await subject.lateSlots()
  const { result, before, after } = await load.measure(seconds, () => readCpu(subject.mediaPid))
  return {
    legs,
    cpu: cpuRate(before, after),
    busiestThread: null,
    load: result,
    lateSlots: (await subject.lateSlots()) - slots,
  }
}
