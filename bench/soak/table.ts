import { lostFrames } from '../report.ts'
import { machineLine, table } from '../tables.ts'
import type { MachineLateness } from '../yardstick/metronome.ts'
import type { SoakReport } from './run.ts'
import { growthOf, soakVerdict } from './verdict.ts'

/** Maximum number of rows; more would show nothing more. */
const ROWS = 20

/** The report as text. */
export function formatSoakReport(report: SoakReport): string {
  const { minutes, legs, busy, parts, mediaCpu } = report
  return [
    machineLine(report.commit, report.machine),
    ...report.notes.map(note => `note: ${note}`),
    '',
    `${minutes} min, ${legs} legs in rooms of 3 that stay, ${report.calls} calls that came and went` +
      (busy === null ? '' : `; ${busy.requestsPerSecond.toFixed(0)} REST requests/s and ${busy.webhooks} webhooks`) +
      (mediaCpu === null ? '' : `; media took ${(mediaCpu.total / 10).toFixed(0)} % of a core`),
    ...table([
      ['at [min]', 'p50 [ms]', 'p99', 'max', 'lost', 'late packets', 'drift [ppm]'],
      ...everyFew(parts).map(({ at, load }) => [
        (at / 60).toFixed(1),
        ...(load.latencyMs === null
          ? ['', '', '']
          : [load.latencyMs.p50, load.latencyMs.p99, load.latencyMs.max].map(ms => ms.toFixed(1))),
        ...[String(lostFrames(load)), String(load.packetsLate), load.driftPpm?.toFixed(1) ?? ''],
      ]),
    ]),
    '',
    ...growthTable(report),
    'after the first third of the time; ±: twice the standard error of the slope',
    '',
    ...soakVerdict(report).map(({ what, holds }) => `${holds ? 'holds' : 'FAILS'}  ${what}`),
    ...(report.ofMachine === null ? [] : [machineSentence(report.ofMachine)]),
    ...report.problems.slice(0, 5).map(problem => `problem: ${problem}`),
  ].join('\n')
}

const machineSentence = ({ ticks, behind, late, isRealTime }: MachineLateness): string => {
  const percent = (count: number): string => `${((100 * count) / Math.max(1, ticks)).toFixed(3)} %`
  const what = isRealTime ? 'a real-time thread of C that only sleeps' : 'a thread of C that only sleeps'
  return `the machine itself: ${what} was woken more than 2 ms late ${percent(behind)} of the time, more than 5 ms ${percent(late)}`
}

const everyFew = <T>(all: readonly T[]): T[] => all.filter((_, n) => n % Math.ceil(all.length / ROWS) === 0)

function growthTable(report: SoakReport): string[] {
  const rows = growthOf(report).map(({ name, first, last, trend, grows }) => {
    const isFiles = name.endsWith('files')
    const show = (value: number): string => (isFiles ? value.toFixed(0) : (value / 2 ** 20).toFixed(1))
    const perHour = trend === null ? '' : `${show(3600 * trend.slope)} ± ${show(7200 * trend.error)}`
    return [`${name}${isFiles ? '' : ' [MB]'}`, show(first), show(last), perHour, grows ? 'grows' : '']
  })
  return table([['', 'first', 'last', 'per hour', ''], ...rows])
}
