import { lostFrames } from '../report.ts'
import { machineLine, table } from '../tables.ts'
import { PARTS } from './cost.ts'
import { type CallsReport, type CallsStep, MOST_SET_UP_MS } from './run.ts'
import { TALK_MS } from './rush-process.ts'

/** The report as text. */
export function formatCallsReport(report: CallsReport): string {
  const { steps, seconds, standing } = report
  const best = steps.filter(holds).at(-1)
  return [
    machineLine(report.commit, report.machine),
    '',
    `calls to the echo for ${seconds} s at each rate, ${TALK_MS / 1000} s of audio in each, every event to a webhook; on all cores, beside ${standing} legs in rooms of 3`,
    ...table([
      ['calls/s', 'begun', 'whole', 'refused', 'failed', 'set-up p50 [ms]', 'p99', 'max', 'heard p50', 'p99'],
      ...steps.map(({ rush }) => [
        String(rush.rate),
        ...[rush.begun, rush.whole, rush.refused, rush.failed].map(String),
        ...(rush.setUpMs === null
          ? ['', '', '']
          : [rush.setUpMs.p50, rush.setUpMs.p99, rush.setUpMs.max].map(ms => ms.toFixed(1))),
        ...(rush.heardMs === null ? ['', ''] : [rush.heardMs.p50, rush.heardMs.p99].map(ms => ms.toFixed(1))),
      ]),
    ]),
    '',
    ...table([
      [
        'calls/s',
        'CPU [ms/call]',
        ...PARTS,
        'load [ms/call]',
        'statements',
        'transactions',
        'events',
        'webhooks',
        'rooms p99 [ms]',
        'lost',
        'slots > 5 ms late',
      ],
      ...steps.map(({ rush, cost, audio, late, webhooks }) => [
        String(rush.rate),
        cost.totalMs.toFixed(2),
        ...PARTS.map(part => cost.cpuMs[part].toFixed(2)),
        cost.loadMs.toFixed(2),
        ...[cost.statements, cost.transactions, cost.events, webhooks].map(value => value.toFixed(1)),
        ...[audio.latencyMs?.p99.toFixed(1) ?? '', String(lostFrames(audio)), `${(100 * late).toFixed(2)} %`],
      ]),
    ]),
    'CPU beyond that of the standing legs; the load, which is not in the sum, shares the cores. events: of media to control. heard: from the INVITE to the first packet.',
    '',
    best === undefined
      ? 'No rate held.'
      : `${best.rush.rate} calls/s hold: all whole, p99 of the set-up below ${MOST_SET_UP_MS} ms.`,
    ...steps.flatMap(({ rush }) => rush.problems.map(problem => `problem at ${rush.rate}/s: ${problem}`)),
  ].join('\n')
}

/** Whether the product carries a rate: every call is whole, and set up in time. */
export const holds = ({ rush }: Pick<CallsStep, 'rush'>): boolean =>
  rush.begun > 0 && rush.whole === rush.begun && (rush.setUpMs?.p99 ?? Number.POSITIVE_INFINITY) < MOST_SET_UP_MS
