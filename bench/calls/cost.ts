import { type Cpu, cpuRate, readCpu, readThreads } from '../process-cpu.ts'
import type { Subject } from '../subject.ts'

/** The processes whose CPU a call uses. */
export const PARTS = ['media: signalling', 'media: engine', 'media: rest', 'control'] as const
type Part = (typeof PARTS)[number]

/** What all parts have used since their start. */
export interface Spent {
  cpu: Record<Part, Cpu>
  /** CPU of the processes that place the calls and receive their webhooks. In reality these run on other machines. */
  load: Cpu
  statements: number
  transactions: number
  events: number
  late: number
  slots: number
}

/** The thread that has used most CPU besides the main one: the engine's, once there is audio. */
export function engineThread(pid: number): string {
  const others = [...readThreads(pid)].filter(([thread]) => thread !== String(pid))
  return others.toSorted(([, a], [, b]) => b - a)[0]![0]
}

/** @param load the processes of the load */
export function readSpent(
  { mediaPid, controlPid }: Subject,
  engine: string,
  load: readonly number[],
  metrics: Map<string, number>,
): Spent {
  const all = readCpu(mediaPid)
  const [main, mixing] = [readCpu(`${mediaPid}/task/${mediaPid}`), readCpu(`${mediaPid}/task/${engine}`)]
  const rest = {
    userMs: all.userMs - main.userMs - mixing.userMs,
    systemMs: all.systemMs - main.systemMs - mixing.systemMs,
    at: all.at,
  }
  const sumOf = (cpus: readonly Cpu[]): Cpu => ({
    userMs: cpus.reduce((sum, { userMs }) => sum + userMs, 0),
    systemMs: cpus.reduce((sum, { systemMs }) => sum + systemMs, 0),
    at: all.at,
  })
  const of = (name: string): number => metrics.get(name) ?? Number.NaN
  return {
    cpu: { 'media: signalling': main, 'media: engine': mixing, 'media: rest': rest, control: readCpu(controlPid) },
    load: sumOf(load.map(pid => readCpu(pid))),
    statements: of('store_statements_total'),
    transactions: of('store_transactions_total'),
    events: of('channel_batch_events_sum'),
    late: of('media_clock_late_slots_total') + of('media_clock_skipped_slots_total'),
    slots: of('media_clock_slots_total'),
  }
}

/** What a call costs beyond the product without calls; CPU [ms]. */
export interface CallCost {
  cpuMs: Record<Part, number>
  totalMs: number
  /** CPU of the load; not part of the total [ms]. */
  loadMs: number
  statements: number
  transactions: number
  events: number
}

/** @param idle readings before and after a time without calls @param busy before and after a time with `calls` of them */
export function costOfCall(idle: readonly [Spent, Spent], busy: readonly [Spent, Spent], calls: number): CallCost {
  const perCall = (of: (spent: Spent) => Cpu): number => {
    const [without, with_] = [idle, busy].map(([before, after]) => cpuRate(of(before), of(after)).total)
    const seconds = (of(busy[1]).at - of(busy[0]).at) / 1000
    return ((with_! - without!) * seconds) / Math.max(1, calls)
  }
  const cpuMs = Object.fromEntries(PARTS.map(part => [part, perCall(({ cpu }) => cpu[part])])) as Record<Part, number>
  const seconds = (of: readonly [Spent, Spent]): number => (of[1].cpu.control.at - of[0].cpu.control.at) / 1000
  const count = (of: (spent: Spent) => number): number => {
    const without = (of(idle[1]) - of(idle[0])) / seconds(idle)
    return (of(busy[1]) - of(busy[0]) - without * seconds(busy)) / Math.max(1, calls)
  }
  return {
    cpuMs,
    loadMs: perCall(({ load }) => load),
    totalMs: PARTS.reduce((sum, part) => sum + cpuMs[part], 0),
    statements: count(({ statements }) => statements),
    transactions: count(({ transactions }) => transactions),
    events: count(({ events }) => events),
  }
}
