import { machineLine, table } from '../tables.ts'
import type { CampaignReport, CampaignRun } from './run.ts'

const counted = (counts: Record<string, number>): string =>
  Object.entries(counts)
    .toSorted(([, a], [, b]) => b - a)
    .map(([name, n]) => `${name} ${n}`)
    .join(', ')

const pct = (share: number | null): string => (share === null ? '-' : `${(100 * share).toFixed(2)} %`)

function rowOf({
  ledBy,
  contacts,
  kills,
  bounds,
  figures,
  abandonedRate,
  mostAbandoned,
  limitPct,
}: CampaignRun): string[] {
  const { invites, seconds, atOnce, inOneSecond, surelyInOneSecond } = figures
  return [
    ledBy,
    ...[String(contacts), String(kills), String(invites), seconds.toFixed(0)],
    ...[(invites / Math.max(1, seconds)).toFixed(1), String(bounds.callsPerSecond)],
    `${surelyInOneSecond} to ${inOneSecond} of ${Math.min(bounds.trunkPerSecond, Math.ceil(bounds.callsPerSecond))}`,
    `${atOnce} of ${bounds.maxConcurrent}`,
    ...(bounds.ledByAgents ? [pct(abandonedRate), `${pct(mostAbandoned)} of ${limitPct} %`] : ['-', '-']),
  ]
}

const toldLine = (ms: readonly number[]): string[] =>
  ms.length === 0 ? [] : [`  nobody was free for ${ms.length}, who heard so within ${Math.max(...ms)} ms at most`]

/** The report as text. */
export function formatCampaignReport({ commit, machine, runs }: CampaignReport): string {
  const head = [
    'led by',
    'contacts',
    'kills -9',
    'INVITEs',
    's',
    'calls/s',
    'asked',
    'most in 1 s',
    'most at once',
    'abandoned',
    'at most',
  ]
  return [
    machineLine(commit, machine),
    '',
    'a campaign over SIP, as the far end saw it',
    ...table([head, ...runs.map(rowOf)]),
    ...runs.flatMap(({ ledBy, figures, problems }) => [
      '',
      `${ledBy}: answered by ${counted(figures.kinds)}`,
      `  attempts: ${counted(figures.results)}; without an INVITE: ${figures.neverLeft}`,
      ...toldLine(figures.toldMs),
      `  contacts: ${counted(figures.statuses)}; put off by their cap: ${figures.putOff}`,
      ...(problems.length > 0
        ? problems.map(problem => `  ${problem}`)
        : [
            '  each contact has its outcome, each INVITE its attempt; none twice at once, none beyond caps, hours or limits',
          ]),
    ]),
  ].join('\n')
}
