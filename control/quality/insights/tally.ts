import type { ScoredCriterion } from '../evaluation/schema.ts'
import type { CountedFigures } from '../figures-row.ts'
import type { Measures } from './schema.ts'

/** A call as it is counted. */
export interface Counted {
  /** When it was made [ms since 1970]. */
  atMs: number
  answered: boolean
  /** From the answer to the end [ms]; null: it has not ended, or was not answered. */
  handlingMs: number | null
  figures: CountedFigures | null
  evaluation: { score: number | null; criteria: ScoredCriterion[] } | null
}

/** Values are summed as integers in this unit, so that the sum does not depend on the order. */
const UNIT = 1e-6

/** Mean of the known values. */
export class Mean {
  count = 0
  #units = 0

  add(value: number | null): void {
    if (value === null) return
    this.count++
    this.#units += Math.round(value / UNIT)
  }

  get value(): number | null {
    return this.count === 0 ? null : Math.round((1000 * UNIT * this.#units) / this.count) / 1000
  }

  get packed(): PackedMean {
    return [this.count, this.#units]
  }

  addPacked([count, units]: PackedMean): void {
    this.count += count
    this.#units += units
  }
}
export type PackedMean = [count: number, units: number]

/** Calls, answered, transcribed and evaluated ones, and the means of a `Tally`. */
export type PackedTally = [counts: [number, number, number, number], means: PackedMean[]]

/** The figures of some calls. */
export class Tally {
  #calls = 0
  #answered = 0
  #transcribed = 0
  #evaluations = 0
  readonly #handling = new Mean()
  readonly #talkRatio = new Mean()
  readonly #sentiment = new Mean()
  readonly #disclosures = new Mean()
  readonly #scores = new Mean()

  add({ answered, handlingMs, figures, evaluation }: Counted): void {
    this.#calls++
    if (answered) this.#answered++
    this.#handling.add(handlingMs === null ? null : handlingMs / 1000)
    if (evaluation !== null) this.#evaluations++
    this.#scores.add(evaluation?.score ?? null)
    if (figures === null) return
    this.#transcribed++
    this.#talkRatio.add(figures.talk_ratio)
    this.#sentiment.add(figures.sentiment)
    for (const { is_said } of figures.disclosures) this.#disclosures.add(is_said ? 1 : 0)
  }

  get #means(): Mean[] {
    return [this.#handling, this.#talkRatio, this.#sentiment, this.#disclosures, this.#scores]
  }

  get packed(): PackedTally {
    const counts: PackedTally[0] = [this.#calls, this.#answered, this.#transcribed, this.#evaluations]
    return [counts, this.#means.map(mean => mean.packed)]
  }

  addPacked([[calls, answered, transcribed, evaluations], means]: PackedTally): void {
    this.#calls += calls
    this.#answered += answered
    this.#transcribed += transcribed
    this.#evaluations += evaluations
    for (const [i, mean] of this.#means.entries()) mean.addPacked(means[i] ?? [0, 0])
  }

  get measures(): Measures {
    return {
      calls: this.#calls,
      answered: this.#answered,
      transcribed: this.#transcribed,
      handling_seconds: this.#handling.value,
      talk_ratio: this.#talkRatio.value,
      sentiment: this.#sentiment.value,
      sentiment_calls: this.#sentiment.count,
      disclosure_rate: this.#disclosures.value,
      qa_score: this.#scores.value,
      qa_evaluations: this.#evaluations,
    }
  }
}
