import { appendEvent } from '../kernel/events/log.ts'
import type { JobAttempt, JobHandler } from '../kernel/jobs/runner.ts'
import type { Store, Trx } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import type { Models } from '../models/choice.ts'
import { isModelFailure } from '../models/model.ts'
import { type QualitySettings, qualityOfTenant } from '../organisation/quality.ts'
import { type Conversation, readConversation } from './analysis/conversation.ts'
import { evaluate } from './evaluation/evaluate.ts'
import { isSampled } from './evaluation/sampling.ts'
import { callFigures, marksOf, saveMarks } from './figures-row.ts'
import { modelsFor } from './models-for.ts'
import { indexTranscript } from './search/transcript-index.ts'
import { extractedSummary } from './summary/extract.ts'
import type { ReviewJob } from './summary/jobs.ts'
import { type SummaryContent, toCallSummary } from './summary/schema.ts'
import { writtenSummary } from './summary/written.ts'
import type { CallSummaryRow } from './tables.ts'

export interface ReviewDeps {
  store: Store
  now: () => Date
  models: Models
}

const MAX_ATTEMPTS = 4
const BACKOFF_MS = 15_000

/**
 * Looks at a call that is over. By its words it is done at once and shown; where a model is configured its summary takes that one's place. A
 * model that fails to the last leaves what the words gave.
 */
export const reviewHandler = (deps: ReviewDeps): JobHandler<ReviewJob> => ({
  maxAttempts: MAX_ATTEMPTS,
  backoffMs: BACKOFF_MS,
  run: ({ tenant, call_id: callId }, attempt) => review(deps, tenant, callId, attempt),
})

async function review(deps: ReviewDeps, tenant: Tenant, callId: string, attempt: JobAttempt): Promise<void> {
  const { store, now } = deps
  const conversation = await readConversation(store.db, tenant, callId)
  if (conversation === null) return
  const settings = await qualityOfTenant(store.db, tenant)
  const extracted = extractedSummary(conversation, settings.dispositions)
  const models = modelsFor(deps.models, tenant, conversation)
  await store.transaction(trx => indexTranscript(trx, tenant, callId))
  // Until a model has written its own this one is shown; told is the last.
  if (models.length > 0 && attempt.attempt === 1) {
    await store.transaction(trx => save(trx, tenant, conversation, extracted, now()))
  }
  const summary = models.length === 0 ? extracted : await written(models, conversation, settings, extracted, attempt)
  await store.transaction(async trx => {
    const row = await save(trx, tenant, conversation, summary, now())
    const at = now().toISOString()
    if (row === null) return attempt.finish(trx)
    await appendEvent(trx, tenant, { type: 'call.summary.ready', at, object: toCallSummary(row), callId })
    if (isSampled(conversation, settings.qa_sampling))
      await evaluate(trx, tenant, conversation, { settings, models, at })
    await attempt.finish(trx)
  })
}

async function written(
  models: ReturnType<typeof modelsFor>,
  conversation: Conversation,
  { dispositions }: QualitySettings,
  extracted: SummaryContent,
  { attempt, signal }: JobAttempt,
): Promise<SummaryContent> {
  const summary = await writtenSummary(models, conversation, { dispositions, extracted, signal })
  if (!isModelFailure(summary)) return summary
  if (attempt < MAX_ATTEMPTS) throw new Error(`no summary: ${summary.message}`)
  return extracted
}

/** Null: the call, or what was said in it, has been deleted meanwhile. What a person has corrected stays. */
async function save(
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
  const made = { summary: JSON.stringify(summary), figures: JSON.stringify(figures), updated: at }
  if ((await scoped.find('call_summaries', id)) === undefined) {
    const blank = { corrected: '{}', corrected_at: null, corrected_by: null, created: at }
    await scoped.insert('call_summaries', { id, call_at: callAt, ...blank, ...made })
  } else await scoped.update('call_summaries').set(made).where('id', '=', id).execute()
  await saveMarks(trx, tenant, id, marksOf(summary, figures))
  return (await scoped.find('call_summaries', id)) ?? null
}
