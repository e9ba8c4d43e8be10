import { machineLine, table } from '../tables.ts'
import { MOST_LATENCY_MS, MOST_LOSS } from './judge.ts'
import type { CapacityOf, CapacityReport } from './run.ts'

/** The report as text. */
export function formatCapacityReport(report: CapacityReport): string {
  const rows = [
    ['', 'legs', 'p50 [ms]', 'p99', 'lost [%]', 'of a core', 'CPU [ms/s per leg]', 'C floor', 'ratio', 'what ended it'],
    ...report.kinds.map(rowOf),
  ]
  return [
    machineLine(report.commit, report.machine),
    ...report.notes.map(note => `note: ${note}`),
    '',
    `legs that one core holds: p99 of the added latency at most ${MOST_LATENCY_MS} ms, at most ${100 * MOST_LOSS} % lost;`,
    `${report.seconds} s each, packets late by ${report.jitterMs} ms on average`,
    ...table(rows),
    'figures are those of the most that held. C floor: the same legs against bench/yardstick, right after. "load": the load itself was late',
    'or its core full when it ended: the engine may hold more. Forked: RTP to WebSocket, both tracks, mu-law.',
  ].join('\n')
}

function rowOf({ kind, found: { most, failed }, yardstick }: CapacityOf): string[] {
  const end =
    failed === null
      ? 'the most that a load has'
      : `${failed.count}: ${failed.result.why}${failed.result.isOfLoad ? ' (load)' : ''}`
  if (most === null || most.result.figures === null) return [kind.name, 'none', '', '', '', '', '', '', '', end]
  const { p50, p99, loss, figures } = most.result
  const perLeg = figures.cpu.total / most.count
  const floor = yardstick === null ? null : yardstick.cpu.total / most.count
  return [
    kind.name,
    ...[String(most.count), p50.toFixed(1), p99.toFixed(1), (100 * loss).toFixed(3)],
    ...[`${(figures.cpu.total / 10).toFixed(0)} %`, perLeg.toFixed(3)],
    ...(floor === null ? ['', ''] : [floor.toFixed(3), (perLeg / floor).toFixed(2)]),
    end,
  ]
}
