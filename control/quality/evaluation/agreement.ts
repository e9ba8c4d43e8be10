/** How far two judges of the same things agree. */
interface Agreement {
  /** Judgements compared. */
  count: number
  /** Share of them that agree [%]; null: there are none. */
  percent: number | null
  /** Cohen's kappa: 1 is full agreement, 0 what chance would give; null: undefined, since both judges always gave the same answer. */
  kappa: number | null
}

/** A score as one of four bands, so that judges who differ by two points agree. */
export type Band = 'not_applicable' | 'low' | 'middle' | 'high'

const MIDDLE_FROM = 50
const HIGH_FROM = 80

export const bandOf = (score: number | null): Band =>
  score === null ? 'not_applicable' : score < MIDDLE_FROM ? 'low' : score < HIGH_FROM ? 'middle' : 'high'

/** J. Cohen, "A coefficient of agreement for nominal scales" (1960). */
export function agreementOf(pairs: readonly (readonly [Band, Band])[]): Agreement {
  const count = pairs.length
  if (count === 0) return { count, percent: null, kappa: null }
  const observed = pairs.filter(([a, b]) => a === b).length / count
  const share = (side: 0 | 1, band: Band): number => pairs.filter(pair => pair[side] === band).length / count
  const bands: Band[] = ['not_applicable', 'low', 'middle', 'high']
  const expected = bands.reduce((sum, band) => sum + share(0, band) * share(1, band), 0)
  const round = (value: number): number => Math.round(value * 1000) / 1000
  return {
    count,
    percent: round(observed * 100),
    kappa: expected === 1 ? null : round((observed - expected) / (1 - expected)),
  }
}
