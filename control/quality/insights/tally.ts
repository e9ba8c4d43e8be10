import type { ScoredCriterion } from '../evaluation/schema.ts'
import { type CallFigures, marksOf } from '../figures-row.ts'
import type { SummaryContent } from '../summary/schema.ts'
import type { Insights, Measures } from './schema.ts'

/** A call as it is counted. */
export interface Counted {
  answered: boolean
  /** From the answer to the end; null: it is not over, or was not answered. */
  handlingMs: number | null
  figures: CallFigures | null
  summary: SummaryContent | null
  evaluation: { score: number | null; criteria: ScoredCriterion[] } | null
}

/** A mean of what is known. */
class Mean {
  count = 0
  #sum = 0

  add(value: number | null): void {
    if (value === null) return
    this.count++
    this.#sum += value
  }

  get value(): number | null {
    return this.count === 0 ? null : Math.round((1000 * this.#sum) / this.count) / 1000
  }
}

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

/** Different words that are counted; what comes after so many is not. */
const MAX_VALUES = 50_000
const MAX_SHOWN = 20

interface Named {
  label: string
  calls: number
}

/** What some calls were about. */
export class Themes {
  readonly #marks = {
    reason: new Map<string, Mean & { calls?: number }>(),
    topic: new Map<string, Mean & { calls?: number }>(),
  }
  readonly #objections = new Map<string, Named & { answered: number; dispositions: Map<string | null, number> }>()
  readonly #disclosures = new Map<string, Named & { said: number }>()
  readonly #criteria = new Map<string, Named & { scores: Mean; not_applicable: number; needs_model: number }>()

  add({ figures, summary, evaluation }: Counted): void {
    for (const { key, label, score, outcome } of evaluation?.criteria ?? []) {
      const one = into(this.#criteria, key, { label, calls: 0, scores: new Mean(), not_applicable: 0, needs_model: 0 })
      one.calls++
      one.scores.add(score)
      if (outcome !== 'scored') one[outcome]++
    }
    if (figures === null || summary === null) return
    for (const { kind, value } of marksOf(summary, figures)) {
      if (kind !== 'reason' && kind !== 'topic') continue
      const marks = this.#marks[kind]
      if (!marks.has(value) && marks.size >= MAX_VALUES) continue
      const mark = into(marks, value, Object.assign(new Mean(), { calls: 0 }))
      mark.calls = (mark.calls ?? 0) + 1
      mark.add(figures.sentiment)
    }
    for (const { key, label, answered } of figures.objections) {
      const one = into(this.#objections, key, { label, calls: 0, answered: 0, dispositions: new Map() })
      one.calls++
      if (answered) one.answered++
      one.dispositions.set(summary.disposition, (one.dispositions.get(summary.disposition) ?? 0) + 1)
    }
    for (const { key, label, is_said } of figures.disclosures) {
      const one = into(this.#disclosures, key, { label, calls: 0, said: 0 })
      one.calls++
      if (is_said) one.said++
    }
  }

  /** With how it was in the period before. */
  shown(before: Themes): Pick<Insights, 'reasons' | 'topics' | 'objections' | 'disclosures' | 'criteria'> {
    return {
      reasons: this.#shownMarks('reason', before),
      topics: this.#shownMarks('topic', before),
      objections: byCalls(this.#objections).map(([key, { label, calls, answered, dispositions }]) => ({
        ...{ key, label, calls, answered },
        calls_before: before.#objections.get(key)?.calls ?? 0,
        dispositions: [...dispositions].sort(([, a], [, b]) => b - a).map(([to, count]) => ({ key: to, calls: count })),
      })),
      disclosures: byCalls(this.#disclosures).map(([key, one]) => ({ key, ...one })),
      criteria: byCalls(this.#criteria).map(([key, { label, calls, scores, not_applicable, needs_model }]) => ({
        ...{ key, label, not_applicable, needs_model },
        evaluations: calls,
        score: scores.value,
      })),
    }
  }

  #shownMarks(kind: 'reason' | 'topic', before: Themes): Insights['topics'] {
    return [...this.#marks[kind]]
      .sort(([a, x], [b, y]) => (y.calls ?? 0) - (x.calls ?? 0) || (a < b ? -1 : 1))
      .slice(0, MAX_SHOWN)
      .map(([value, mark]) => ({
        value,
        calls: mark.calls ?? 0,
        calls_before: before.#marks[kind].get(value)?.calls ?? 0,
        sentiment: mark.value,
      }))
  }
}

function into<V>(map: Map<string, V>, key: string, blank: V): V {
  const there = map.get(key) ?? blank
  map.set(key, there)
  return there
}

const byCalls = <V extends { calls: number }>(map: Map<string, V>): [string, V][] =>
  [...map].sort(([a, x], [b, y]) => y.calls - x.calls || (a < b ? -1 : 1))
