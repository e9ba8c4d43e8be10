import { machineLine, table } from '../tables.ts'
import type { HeardCall, HeardRound } from './heard-calls.ts'
import type { KnownWords } from './known-words.ts'
import { type CopilotReport, latenciesOf, percentile } from './run.ts'
import { type Score, sumOf, totalOf } from './score.ts'

const KINDS = ['item', 'stage', 'field', 'objection', 'alert', 'forbidden', 'disclosure']

/** The report as text. */
export function formatCopilotReport({ commit, machine, known, rounds }: CopilotReport): string {
  return [
    machineLine(commit, machine),
    '',
    ...latencies(known, rounds),
    '',
    ...scores(known, rounds),
    '',
    ...mistakes(known, rounds),
  ].join('\n')
}

function latencies(known: readonly KnownWords[], rounds: readonly HeardRound[]): string[] {
  const rows = known.map(({ half, tookMs }) => [
    `words known, by the test helper over HTTP, ${half}`,
    ...times(tookMs),
    '',
  ])
  for (const round of rounds) {
    const { calls, heard, cpuPerSpeech } = round
    const name = `offline ear, ${calls} ${calls === 1 ? 'call' : 'calls at once'}`
    const halves = [...new Set(heard.map(({ half }) => half))]
    if (halves.length > 1) {
      for (const half of halves) {
        const own = heard.filter(one => one.half === half)
        rows.push([`${name}, ${half}`, ...times(latenciesOf({ ...round, heard: own })), ''])
      }
    }
    rows.push([name, ...times(latenciesOf(round)), cpuPerSpeech.toFixed(2)])
  }
  return [
    'the copilot without a model: from the end of the words to the message',
    ...table([
      ['', 'messages', 'p50 [ms]', 'p95 [ms]', 'most [ms]', 'CPU of the ear per second of speech [s]'],
      ...rows,
    ]),
    'messages: those that the words of their label led to; where these were misheard, later words may lead to the same, which is no answer to them',
    doubling(rounds),
  ]
}

const times = (values: readonly number[]): string[] => [
  String(values.length),
  ...[0.5, 0.95, 1].map(share => percentile(values, share).toFixed(0)),
]

function doubling(rounds: readonly HeardRound[]): string {
  const [one, ...more] = rounds
  if (one === undefined) return ''
  const limit = 2 * percentile(latenciesOf(one), 0.95)
  const over = more.find(round => percentile(latenciesOf(round), 0.95) >= limit)
  const most = Math.max(
    ...rounds.filter(({ calls }) => calls < (over?.calls ?? Number.POSITIVE_INFINITY)).map(({ calls }) => calls),
  )
  return over === undefined
    ? `With ${most} calls at once the p95 has not doubled.`
    : `The p95 doubles between ${most} and ${over.calls} calls at once.`
}

function scores(known: readonly KnownWords[], rounds: readonly HeardRound[]): string[] {
  const rows: string[][] = []
  for (const { half, scores } of known) {
    for (const language of ['en', 'he']) {
      const own = scores.filter(one => one.language === language).map(({ score }) => score)
      rows.push([`words known, ${language}, ${half}`, ...scoreCells(sumOf(own))])
    }
  }
  for (const { calls, heard } of rounds) {
    for (const half of ['seen', 'held']) {
      const own = heard.filter(one => one.half === half).map(({ score }) => score)
      if (own.length > 0) rows.push([`offline ear, ${calls} at once, ${half}`, ...scoreCells(sumOf(own))])
    }
  }
  return [
    'what was told of what was to be told / what was right of what was told [%], by labels; held: not looked at while building',
    ...table([['', 'labels', 'all', ...KINDS], ...rows]),
  ]
}

const scoreCells = (one: Score): string[] => {
  const total = totalOf(one)
  return [String(total.wanted), cell(total), ...KINDS.map(kind => cell(one[kind]))]
}

const cell = (one: Score[string] | undefined): string =>
  one === undefined ? '' : `${share(one.right, one.wanted)} / ${share(one.right, one.told)}`

const share = (part: number, whole: number): string => (whole === 0 ? '–' : ((100 * part) / whole).toFixed(0))

/** The mistakes of the seen half only, since developers must not look at the other. */
function mistakes(known: readonly KnownWords[], rounds: readonly HeardRound[]): string[] {
  const seen = known.find(({ half }) => half === 'seen')?.scores ?? []
  const one = rounds[0]?.heard.filter(({ half }) => half === 'seen') ?? []
  return [
    'seen half, missed (-) and told wrongly (+)',
    ...seen
      .filter(({ differences }) => differences.length > 0)
      .map(of => `words known, ${of.call}: ${of.differences.join(' ')}`),
    ...one.filter(({ differences }) => differences.length > 0).map(lineOf),
  ]
}

const lineOf = ({ call, differences }: HeardCall): string => `offline ear, ${call}: ${differences.join(' ')}`
