import type { Trx } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import type { Conversation } from '../analysis/conversation.ts'
import { callFigures, countedFigures, marksOf, saveMarks } from '../figures-row.ts'
import type { CallSummaryRow } from '../tables.ts'
import { correctionOf, type SummaryContent } from './schema.ts'

/** Stores a summary; people's corrections stay. Null: the call or its transcript has been deleted meanwhile. */
export async function saveSummary(
  trx: Trx,
  tenant: Tenant,
  conversation: Conversation,
  summary: SummaryContent,
  now: Date,
): Promise<CallSummaryRow | null> {
  const { id, created: callAt } = conversation.call
  const scoped = forTenant(trx, tenant)
  if ((await scoped.find('transcripts', id)) === undefined) return null
  const figures = callFigures(conversation)
  const at = now.toISOString()
  const stored = await scoped.find('call_summaries', id)
  const shown = { ...summary, ...(stored === undefined ? {} : correctionOf(stored)) }
  const counted = JSON.stringify(countedFigures(shown, figures))
  const made = { summary: JSON.stringify(summary), figures: JSON.stringify(figures), counted, updated: at }
  if (stored === undefined) {
    const blank = { corrected: '{}', corrected_at: null, corrected_by: null, created: at }
    await scoped.insert('call_summaries', { id, call_at: callAt, ...blank, ...made })
  } else await scoped.change('call_summaries', id, made)
  await saveMarks(trx, tenant, id, marksOf(shown, figures))
  return (await scoped.find('call_summaries', id)) ?? null
}
