import { setTimeout as sleep } from 'node:timers/promises'
import type { LoadResult } from '../load/messages.ts'
import { LoadProcess } from '../load-process.ts'
import { type Machine, thisCommit, thisMachine } from '../machine.ts'
import type { BenchOptions } from '../options.ts'
import { cpuRate, readCpu } from '../process-cpu.ts'
import { lostFrames } from '../report.ts'
import { residentBytes } from '../soak/samples.ts'
import type { Subject } from '../subject.ts'
import { latencyOf, machineLine, table } from '../tables.ts'
import { FloodProcess } from './flood-process.ts'
import { RushProcess, type RushResult } from './rush-process.ts'

const HOSTS = 1000
const PACKETS_PER_SECOND = 20_000
const STANDING = 201
const ROOM_SIZE = 3
/** Rate of calls from a known trunk meanwhile [calls/s]. */
const CALLS = 5
const WARM_UP_SECONDS = 10
const MB = 2 ** 20

interface Phase {
  name: string
  audio: LoadResult
  rush: RushResult
  /** Rate of the flood [packets/s]. */
  packets: number
  /** Memory of media at the end of the phase [bytes]. */
  memory: number
  /** CPU of media's main thread, of control, and of the flood's sender [ms/s]. */
  cpu: { signalling: number; control: number; sender: number }
}

interface FloodReport {
  startedAt: string
  commit: string
  machine: Machine
  seconds: number
  phases: Phase[]
  /** Memory of media at the end, with all legs, once all garbage was collected [bytes]. */
  kept: number
}

/** `--flood`: how 20,000 packets per second from 1000 unknown addresses affect calls of a known trunk, and audio. */
export async function benchFlood(
  { seconds, jitterMs }: BenchOptions,
  startSubject: () => Promise<Subject>,
  say: (line: string) => void,
): Promise<FloodReport> {
  const subject = await startSubject()
  const report: FloodReport = {
    ...{ startedAt: new Date().toISOString(), commit: thisCommit(), machine: thisMachine() },
    ...{ seconds, phases: [], kept: Number.NaN },
  }
  const load = new LoadProcess()
  const flood = await FloodProcess.open(HOSTS, subject.sip)
  const rush = await RushProcess.open({ ...subject.sip, user: subject.echoNumber })
  let before = 0
  const phase = async (name: string, isFlooded: boolean): Promise<void> => {
    say(`${name} …`)
    if (isFlooded) flood.begin(PACKETS_PER_SECOND)
    const { mediaPid, controlPid } = subject
    const whose = { signalling: `${mediaPid}/task/${mediaPid}`, control: controlPid, sender: flood.pid }
    const spent = () => Object.entries(whose).map(([name, pid]) => [name, readCpu(pid)] as const)
    const earlier = new Map(spent())
    const startedAt = performance.now()
    const measured = load.measure(seconds, () => null)
    const result = await rush.run(CALLS, seconds)
    const { result: audio } = await measured
    const cpu = Object.fromEntries(
      spent().map(([name, later]) => [name, cpuRate(earlier.get(name)!, later).total]),
    ) as Phase['cpu']
    const sent = await flood.stop()
    const packets = ((sent - before) * 1000) / (performance.now() - startedAt)
    before = sent
    report.phases.push({ name, audio, rush: result, packets, cpu, memory: residentBytes(subject.mediaPid) })
  }
  try {
    await knowOnly(subject, '127.0.0.1/32')
    const numbers = await subject.openRooms(STANDING / ROOM_SIZE)
    const users = Array.from({ length: STANDING }, (_, leg) => numbers[Math.floor(leg / ROOM_SIZE)]!)
    const target = { kind: 'sip' as const, ...subject.sip, users }
    say(`${STANDING} legs in rooms of ${ROOM_SIZE} …`)
    await load.prepare({ target, legs: STANDING, roomSize: ROOM_SIZE, streams: null, jitterMs, isEncrypted: false })
    await sleep(WARM_UP_SECONDS * 1000)
    await phase('quiet', false)
    await phase('flood', true)
    await phase('flood again', true)
    await subject.collect()
    report.kept = residentBytes(subject.mediaPid)
    await load.close()
  } finally {
    flood.kill()
    await rush.close()
    load.kill()
    await subject.stop()
  }
  return report
}

/** Limits the connections to a network, so that every other address of this machine is unknown. */
async function knowOnly({ api }: Subject, network: string): Promise<void> {
  for (const { id } of await api.all('/connections')) {
    await api.ok('PATCH', `/connections/${id}`, { allowed_ips: [network] })
  }
}

/** The report as text. */
export function formatFloodReport({ commit, machine, seconds, phases, kept }: FloodReport): string {
  const rows = [
    [
      '',
      'packets/s',
      'calls',
      'whole',
      'set-up p50 [ms]',
      'p99',
      'rooms p50 [ms]',
      'p95',
      'p99',
      'max',
      'lost',
      'media [MB]',
      'CPU [ms/s] signalling',
      'control',
      'sender',
    ],
    ...phases.map(({ name, packets, rush, audio, memory, cpu }) => [
      name,
      ...[packets.toFixed(0), String(rush.begun), String(rush.whole)],
      ...[rush.setUpMs?.p50.toFixed(1) ?? '', rush.setUpMs?.p99.toFixed(1) ?? ''],
      ...latencyOf(audio.latencyMs),
      ...[`${lostFrames(audio)} of ${audio.framesExpected}`, (memory / MB).toFixed(0)],
      ...[cpu.signalling, cpu.control, cpu.sender].map(spent => spent.toFixed(0)),
    ]),
  ]
  return [
    machineLine(commit, machine),
    '',
    `OPTIONS, INVITE and garbage from ${HOSTS} addresses that nobody knows, ${seconds} s each; ${CALLS} calls/s of a known trunk, ${STANDING} legs in rooms of 3`,
    ...table(rows),
    '',
    `without garbage: media ${(kept / MB).toFixed(0)} MB`,
  ].join('\n')
}
