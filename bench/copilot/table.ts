import { machineLine, table } from '../tables.ts'
import type { CopilotReport } from './run.ts'

/** How soon the copilot tells, as text. */
export function formatCopilotReport({ commit, machine, knownMs, heard }: CopilotReport): string {
  const rows = [['from the end of the words to the message', 'lines', 'p50 [ms]', 'p95 [ms]', 'told nothing']]
  rows.push(['words known, by the test helper over HTTP', String(knownMs.length), ...percentiles(knownMs), '0'])
  for (const { calls, latenciesMs, missed } of heard) {
    const name = `offline ear, ${calls} ${calls === 1 ? 'call' : 'calls at once'}`
    rows.push([name, String(latenciesMs.length + missed), ...percentiles(latenciesMs), String(missed)])
  }
  return [machineLine(commit, machine), '', 'the copilot, without a model', ...table(rows)].join('\n')
}

function percentiles(values: readonly number[]): string[] {
  const sorted = values.toSorted((a, b) => a - b)
  return [0.5, 0.95].map(share => (sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN).toFixed(0))
}
