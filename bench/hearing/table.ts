import { table } from '../tables.ts'
import type { ConditionResult, EmptyResult, HearingReport } from './run.ts'

/** The results of all sets side by side, and the worst of them, which is the one to quote. */
export function formatHearing(reports: readonly HearingReport[]): string[] {
  return [
    `labelled calls, ${reports[0]!.conditions[0]!.calls} of each condition in each set; build: those the chain was tuned on; held, third and so on: others, from fourth on by other voices, sixth 4 dB softer than the condition says`,
    ...table([
      [
        '',
        ...reports.flatMap(({ set }) => [
          `${set}: words`,
          'wrong',
          'inside',
          'by hand',
          'lost at begin',
          'at end',
          'won',
          'gone',
          'unheard',
          'cut',
        ]),
      ],
      ...reports[0]!.conditions.map(({ name }, i) => [
        name,
        ...reports.flatMap(({ conditions }) => cellsOf(conditions[i]!)),
      ]),
    ]),
    'wrong: word errors of the whole chain; inside: of these, those between the first and the last word that was heard right; by hand: of the same recogniser, given what was said cut out by its label; lost: words that',
    'are missing before the first and behind the last that was heard right, beyond those missing by hand; won: the other way round; gone: of those lost, those in whose place nothing at all was heard; unheard: calls without a word;',
    'cut: what of the voice itself never came to the recogniser, at the beginning and at the end of the worst call [ms].',
    ...reports.map(
      ({ set, conditions }) =>
        `${set}: in quiet ${quietLoss(conditions)} of all words were lost at beginnings and ends, ${quietCut(conditions)} ms of voice were cut.`,
    ),
    '',
    'nobody speaks, an announcement of 6 s is played at once, half a minute',
    ...table([
      ['', ...reports.flatMap(({ set }) => [`${set}: declared`, 'heard', 'took', 'words'])],
      ...reports[0]!.empty.map(({ name }, i) => [name, ...reports.flatMap(({ empty }) => emptyCells(empty[i]!))]),
    ]),
    'declared: times that speech was declared; heard: of the announcement; took: of its length; words: that the recogniser made of it.',
  ]
}

const percent = (part: number, whole: number): string => `${((100 * part) / Math.max(1, whole)).toFixed(1)} %`

const cellsOf = ({
  words,
  errors,
  inside,
  errorsByHand,
  lostAtBegin,
  lostAtEnd,
  won,
  gone,
  unheard,
  cutAtBeginMs,
  cutAtEndMs,
}: ConditionResult): string[] => [
  String(words),
  percent(errors, words),
  percent(inside, words),
  percent(errorsByHand, words),
  String(lostAtBegin),
  String(lostAtEnd),
  String(won),
  String(gone),
  String(unheard),
  `${cutAtBeginMs}+${cutAtEndMs}`,
]

const emptyCells = ({ declared, heardShare, tookShare, words }: EmptyResult): string[] => [
  String(declared),
  percent(heardShare, 1),
  tookShare === null ? 'for ever' : percent(tookShare, 1),
  String(words.split(' ').filter(word => word !== '').length),
]

function quietLoss(conditions: readonly ConditionResult[]): string {
  const quiet = conditions.filter(({ isQuiet }) => isQuiet)
  const lost = quiet.reduce((sum, { lostAtBegin, lostAtEnd }) => sum + lostAtBegin + lostAtEnd, 0)
  return percent(
    lost,
    quiet.reduce((sum, { words }) => sum + words, 0),
  )
}

const quietCut = (conditions: readonly ConditionResult[]): number =>
  Math.max(
    ...conditions
      .filter(({ isQuiet }) => isQuiet)
      .flatMap(({ cutAtBeginMs, cutAtEndMs }) => [cutAtBeginMs, cutAtEndMs]),
  )
