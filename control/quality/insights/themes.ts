import type { Insights } from './schema.ts'
import { type Counted, Mean, type PackedMean } from './tally.ts'

/** Maximum number of different values that are counted; later ones are ignored. */
const MAX_VALUES = 50_000
const MAX_SHOWN = 20
const KINDS = ['reason', 'topic'] as const
type Kind = (typeof KINDS)[number]

interface Mark {
  calls: number
  sentiment: Mean
}

interface Named {
  /** Label in the newest of its calls. */
  label: string
  labelMs: number
  calls: number
}

interface Objection extends Named {
  answered: number
  dispositions: Map<string | null, number>
}

interface Disclosure extends Named {
  said: number
}

interface Criterion extends Named {
  scores: Mean
  not_applicable: number
  needs_model: number
}

type PackedMark = [value: string, calls: number, sentiment: PackedMean]
type PackedNamed = [key: string, label: string, labelMs: number, calls: number]
export interface PackedThemes {
  reason: PackedMark[]
  topic: PackedMark[]
  objections: [...PackedNamed, answered: number, dispositions: [string | null, number][]][]
  disclosures: [...PackedNamed, said: number][]
  criteria: [...PackedNamed, not_applicable: number, needs_model: number, scores: PackedMean][]
}

/** The themes of some calls. */
export class Themes {
  readonly #marks = { reason: new Map<string, Mark>(), topic: new Map<string, Mark>() }
  readonly #objections = new Map<string, Objection>()
  readonly #disclosures = new Map<string, Disclosure>()
  readonly #criteria = new Map<string, Criterion>()

  add({ figures, evaluation, atMs }: Counted): void {
    for (const { key, label, score, outcome } of evaluation?.criteria ?? []) {
      const one = this.#criterion([key, label, atMs, 1])
      one.scores.add(score)
      if (outcome !== 'scored') one[outcome]++
    }
    if (figures === null) return
    for (const kind of KINDS) {
      for (const value of figures[`${kind}s`]) this.#mark(kind, value, 1)?.sentiment.add(figures.sentiment)
    }
    for (const { key, label, answered } of figures.objections) {
      const one = this.#objection([key, label, atMs, 1])
      if (answered) one.answered++
      one.dispositions.set(figures.disposition, (one.dispositions.get(figures.disposition) ?? 0) + 1)
    }
    for (const { key, label, is_said } of figures.disclosures) {
      const one = this.#disclosure([key, label, atMs, 1])
      if (is_said) one.said++
    }
  }

  #mark(kind: Kind, value: string, calls: number): Mark | null {
    const marks = this.#marks[kind]
    const there = marks.get(value)
    if (there === undefined && marks.size >= MAX_VALUES) return null
    const mark = there ?? { calls: 0, sentiment: new Mean() }
    if (there === undefined) marks.set(value, mark)
    mark.calls += calls
    return mark
  }

  #objection(named: PackedNamed): Objection {
    return into(this.#objections, named, () => ({ ...blank(), answered: 0, dispositions: new Map() }))
  }

  #disclosure(named: PackedNamed): Disclosure {
    return into(this.#disclosures, named, () => ({ ...blank(), said: 0 }))
  }

  #criterion(named: PackedNamed): Criterion {
    return into(this.#criteria, named, () => ({ ...blank(), scores: new Mean(), not_applicable: 0, needs_model: 0 }))
  }

  get packed(): PackedThemes {
    const marks = (kind: Kind) =>
      [...this.#marks[kind]].map(([value, { calls, sentiment }]): PackedMark => [value, calls, sentiment.packed])
    const named = (key: string, { label, labelMs, calls }: Named): PackedNamed => [key, label, labelMs, calls]
    return {
      reason: marks('reason'),
      topic: marks('topic'),
      objections: [...this.#objections].map(([key, one]) => [...named(key, one), one.answered, [...one.dispositions]]),
      disclosures: [...this.#disclosures].map(([key, one]) => [...named(key, one), one.said]),
      criteria: [...this.#criteria].map(([key, one]) => [
        ...named(key, one),
        one.not_applicable,
        one.needs_model,
        one.scores.packed,
      ]),
    }
  }

  addPacked({ objections, disclosures, criteria, ...marks }: PackedThemes): void {
    for (const kind of KINDS) {
      for (const [value, calls, sentiment] of marks[kind])
        this.#mark(kind, value, calls)?.sentiment.addPacked(sentiment)
    }
    for (const [key, label, labelMs, calls, answered, dispositions] of objections) {
      const one = this.#objection([key, label, labelMs, calls])
      one.answered += answered
      for (const [to, count] of dispositions) one.dispositions.set(to, (one.dispositions.get(to) ?? 0) + count)
    }
    for (const [key, label, labelMs, calls, said] of disclosures) {
      this.#disclosure([key, label, labelMs, calls]).said += said
    }
    for (const [key, label, labelMs, calls, notApplicable, needsModel, scores] of criteria) {
      const one = this.#criterion([key, label, labelMs, calls])
      one.not_applicable += notApplicable
      one.needs_model += needsModel
      one.scores.addPacked(scores)
    }
  }

  /** The themes, with comparison to the period before. */
  shown(before: Themes): Pick<Insights, 'reasons' | 'topics' | 'objections' | 'disclosures' | 'criteria'> {
    return {
      reasons: this.#shownMarks('reason', before),
      topics: this.#shownMarks('topic', before),
      objections: byCalls(this.#objections).map(([key, { label, calls, answered, dispositions }]) => ({
        ...{ key, label, calls, answered },
        calls_before: before.#objections.get(key)?.calls ?? 0,
        dispositions: [...dispositions]
          .sort(([x, a], [y, b]) => b - a || ((x ?? '') < (y ?? '') ? -1 : 1))
          .map(([to, count]) => ({ key: to, calls: count })),
      })),
      disclosures: byCalls(this.#disclosures).map(([key, { label, calls, said }]) => ({
        ...{ key, label, calls, said },
        calls_before: before.#disclosures.get(key)?.calls ?? 0,
        said_before: before.#disclosures.get(key)?.said ?? 0,
      })),
      criteria: byCalls(this.#criteria).map(([key, { label, calls, scores, not_applicable, needs_model }]) => ({
        ...{ key, label, not_applicable, needs_model },
        evaluations: calls,
        score: scores.value,
        evaluations_before: before.#criteria.get(key)?.calls ?? 0,
        score_before: before.#criteria.get(key)?.scores.value ?? null,
      })),
    }
  }

  #shownMarks(kind: Kind, before: Themes): Insights['topics'] {
    return byCalls(this.#marks[kind])
      .slice(0, MAX_SHOWN)
      .map(([value, { calls, sentiment }]) => ({
        ...{ value, calls, sentiment: sentiment.value },
        calls_before: before.#marks[kind].get(value)?.calls ?? 0,
      }))
  }
}

const blank = (): Named => ({ label: '', labelMs: -1, calls: 0 })

function into<V extends Named>(map: Map<string, V>, [key, label, labelMs, calls]: PackedNamed, make: () => V): V {
  const one = map.get(key) ?? make()
  map.set(key, one)
  one.calls += calls
  const isNewer = labelMs > one.labelMs || (labelMs === one.labelMs && label > one.label)
  if (isNewer) Object.assign(one, { label, labelMs })
  return one
}

/** Entries with most calls first. */
const byCalls = <V extends { calls: number }>(map: Map<string, V>): [string, V][] =>
  [...map].sort(([a, x], [b, y]) => y.calls - x.calls || (a < b ? -1 : 1))
