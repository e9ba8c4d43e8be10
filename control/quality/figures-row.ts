import type { Trx } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import {
  type Disclosure,
  disclosuresIn,
  type Forbidden,
  forbiddenIn,
  type Objection,
  objectionsIn,
} from './analysis/compliance.ts'
import type { Conversation } from './analysis/conversation.ts'
import { type Figures, figuresOf } from './analysis/figures.ts'
import { topicsOf } from './analysis/topics.ts'
import type { SummaryContent } from './summary/schema.ts'
import type { MarkKind } from './tables.ts'

/** Figures of a call for insights, without what was said. JSON of `call_summaries.figures`. */
export interface CallFigures extends Pick<Figures, 'talk_ratio' | 'sentiment'> {
  profile_id: string | null
  objections: Pick<Objection, 'key' | 'label' | 'answered'>[]
  disclosures: Pick<Disclosure, 'key' | 'label' | 'is_said'>[]
  forbidden: Pick<Forbidden, 'key'>[]
}

export const callFigures = (conversation: Conversation): CallFigures => {
  const { talk_ratio, sentiment } = figuresOf(conversation)
  return {
    ...{ talk_ratio, sentiment },
    profile_id: conversation.profile?.id ?? null,
    objections: objectionsIn(conversation).map(({ key, label, answered }) => ({ key, label, answered })),
    disclosures: disclosuresIn(conversation).map(({ key, label, is_said }) => ({ key, label, is_said })),
    forbidden: forbiddenIn(conversation).map(({ key }) => ({ key })),
  }
}

/** What insights count for a call in its current state. JSON of `call_summaries.counted`. */
export interface CountedFigures
  extends Pick<CallFigures, 'talk_ratio' | 'sentiment' | 'profile_id' | 'objections' | 'disclosures'> {
  disposition: string | null
  reasons: string[]
  topics: string[]
}

export function countedFigures(summary: SummaryContent, figures: CallFigures): CountedFigures {
  const { talk_ratio, sentiment, profile_id, objections, disclosures } = figures
  const marks = marksOf(summary, figures)
  const valuesOf = (wanted: MarkKind): string[] => marks.flatMap(({ kind, value }) => (kind === wanted ? [value] : []))
  return {
    ...{ talk_ratio, sentiment, profile_id, objections, disclosures },
    disposition: summary.disposition,
    reasons: valuesOf('reason'),
    topics: valuesOf('topic'),
  }
}

/** Maximum number of one kind in a call. */
const MAX_MARKS = 12
const MAX_VALUE = 200

/** The values by which insights find a call. Topics that are in its reason also stand for the reason. */
export function marksOf(summary: SummaryContent, figures: CallFigures): { kind: MarkKind; value: string }[] {
  const reasons =
    summary.reason === null ? [] : topicsOf(summary.reason).filter(topic => summary.topics.includes(topic))
  const marks: Record<MarkKind, string[]> = {
    topic: summary.topics,
    reason: reasons.length > 0 || summary.reason === null ? reasons : topicsOf(summary.reason).slice(0, 1),
    objection: figures.objections.map(({ key }) => key),
    missed_disclosure: figures.disclosures.filter(({ is_said }) => !is_said).map(({ key }) => key),
    forbidden_phrase: figures.forbidden.map(({ key }) => key),
  }
  return (Object.keys(marks) as MarkKind[]).flatMap(kind =>
    [...new Set(marks[kind].map(value => value.slice(0, MAX_VALUE)))]
      .slice(0, MAX_MARKS)
      .map(value => ({ kind, value })),
  )
}

export async function saveMarks(
  trx: Trx,
  tenant: Tenant,
  callId: string,
  marks: readonly { kind: MarkKind; value: string }[],
): Promise<void> {
  const scoped = forTenant(trx, tenant)
  await scoped.delete('call_marks').where('call_id', '=', callId).execute()
  for (const mark of marks) await scoped.insert('call_marks', { ...mark, call_id: callId })
}
