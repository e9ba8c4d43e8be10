import { type Criterion, type FigureKind, isFigure } from '../../organisation/rubric.ts'
import { checklistIn, disclosuresIn, evidenceOf, forbiddenIn, saidBy } from '../analysis/compliance.ts'
import type { Conversation, Line } from '../analysis/conversation.ts'
import { type Figures, figuresOf } from '../analysis/figures.ts'
import type { AutomaticFailure, ScoredCriterion } from './schema.ts'

type Judged = Pick<ScoredCriterion, 'score' | 'outcome' | 'reason' | 'evidence'>

const FULL = 100

const scored = (score: number, reason: string, lines: readonly Judged['evidence'][number][] = []): Judged => ({
  score: Math.round(score),
  outcome: 'scored',
  reason,
  evidence: [...lines],
})
const notApplicable = (reason: string): Judged => ({ score: null, outcome: 'not_applicable', reason, evidence: [] })
const needsModel = (reason: string): Judged => ({ score: null, outcome: 'needs_model', reason, evidence: [] })

/** Scores each criterion that words and figures decide. */
export function scoreByWords(rubric: readonly Criterion[], conversation: Conversation): ScoredCriterion[] {
  const figures = figuresOf(conversation)
  return rubric.map(criterion => {
    const judged = judge(criterion, conversation, figures)
    const { key, label, weight } = criterion
    return {
      ...{ key, label, weight },
      ...judged,
      scored_by: judged.outcome === 'needs_model' ? null : 'words',
      machine_score: judged.score,
    }
  })
}

function judge({ check, description }: Criterion, conversation: Conversation, figures: Figures): Judged {
  if (!conversation.lines.some(({ side }) => side === 'agent')) return notApplicable('No agent has spoken.')
  if (check == null) return needsModel(description === '' ? 'It has no check.' : 'It is judged by its description.')
  if (isFigure(check.kind)) return byFigure(check.kind, check, figures)
  switch (check.kind) {
    case 'phrases':
      return byPhrases(check, conversation)
    case 'disclosures':
      return byShare('disclosures', disclosuresIn(conversation))
    case 'checklist':
      return byShare('items of the checklist', checklistIn(conversation))
    default:
      return byForbidden(conversation)
  }
}

function byFigure(kind: FigureKind, { least, most }: { least?: number; most?: number }, figures: Figures): Judged {
  const value = figures[kind]
  if (value === null) {
    return kind === 'sentiment'
      ? needsModel("The customer's sentiment cannot be determined from words in this language.")
      : notApplicable('There was too little speech to decide.')
  }
  const bounds = [
    ...(least === undefined ? [] : [`at least ${least}`]),
    ...(most === undefined ? [] : [`at most ${most}`]),
  ]
  const isGood = (least === undefined || value >= least) && (most === undefined || value <= most)
  return scored(isGood ? FULL : 0, `${kind} is ${value}; ${bounds.join(' and ')} is asked for.`)
}

function byPhrases(
  { phrases = [], by = 'agent', within_seconds: within }: NonNullable<Criterion['check']>,
  { lines }: Conversation,
): Judged {
  // Counted from the agent's first words, not from announcements of the product.
  const start = lines.find(({ side }) => side === 'agent')?.startMs ?? 0
  const counts = ({ side, startMs }: Line): boolean =>
    side === by && (within === undefined || startMs <= start + within * 1000)
  const line = saidBy(lines.filter(counts), phrases)
  return line === undefined ? scored(0, 'It was not said.') : scored(FULL, 'It was said.', [evidenceOf(line)])
}

function byShare(
  what: string,
  items: readonly { label: string; is_said: boolean; said: Judged['evidence'][number] | null }[],
): Judged {
  if (items.length === 0) return notApplicable(`The profile has no ${what}.`)
  const said = items.flatMap(item => (item.said === null ? [] : [item.said]))
  const missed = items.flatMap(item => (item.is_said ? [] : [item.label]))
  const reason = missed.length === 0 ? 'All were said.' : `Not said: ${missed.join(', ')}.`
  return scored((FULL * (items.length - missed.length)) / items.length, reason, said)
}

function byForbidden(conversation: Conversation): Judged {
  if ((conversation.profile?.settings.compliance.forbidden_phrases ?? []).length === 0) {
    return notApplicable('The profile forbids no phrases.')
  }
  const found = forbiddenIn(conversation)
  if (found.length === 0) return scored(FULL, 'None was said.')
  const said = found.flatMap(one => one.said)
  return scored(0, `Said: ${found.map(({ key }) => key).join(', ')}.`, said)
}

/** Failures that outweigh everything else: a required disclosure that was not said, or a phrase forbidden as critical. */
export function automaticFailures(conversation: Conversation): AutomaticFailure[] {
  if (!conversation.lines.some(({ side }) => side === 'agent')) return []
  const missed = disclosuresIn(conversation)
    .filter(({ is_said }) => !is_said)
    .map(
      ({ key, label }): AutomaticFailure => ({ kind: 'missed_disclosure', key, label, dismissed: false, evidence: [] }),
    )
  const forbidden = forbiddenIn(conversation)
    .filter(({ severity }) => severity === 'critical')
    .map(
      ({ key, said }): AutomaticFailure => ({
        kind: 'forbidden_phrase',
        key,
        label: key,
        dismissed: false,
        evidence: said,
      }),
    )
  return [...missed, ...forbidden]
}

/** Weighted mean of the scores; a failure that counts makes it 0. Null: nothing is scored. */
export function totalOf(criteria: readonly ScoredCriterion[], failures: readonly AutomaticFailure[]): number | null {
  if (failures.some(({ dismissed }) => !dismissed)) return 0
  const counted = criteria.flatMap(({ score, weight }) => (score === null ? [] : [{ score, weight }]))
  const weight = counted.reduce((sum, one) => sum + one.weight, 0)
  if (weight === 0) return null
  return Math.round((10 * counted.reduce((sum, one) => sum + one.score * one.weight, 0)) / weight) / 10
}
