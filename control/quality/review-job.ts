import { appendEvent } from '../kernel/events/log.ts'
import type { JobAttempt, JobHandler } from '../kernel/jobs/runner.ts'
import type { Store } from '../kernel/store/store.ts'
import type { Tenant } from '../kernel/tenancy.ts'
import type { Models } from '../models/choice.ts'
import type { ModelMeter } from '../models/meter.ts'
import { isModelFailure } from '../models/model.ts'
import { type QualitySettings, qualityOfTenant } from '../organisation/quality.ts'
import { type Conversation, readConversation } from './analysis/conversation.ts'
import { evaluate } from './evaluation/evaluate.ts'
import { isSampled } from './evaluation/sampling.ts'
import { modelsFor } from './models-for.ts'
import { indexTranscript } from './search/transcript-index.ts'
import { extractedSummary } from './summary/extract.ts'
import type { ReviewJob } from './summary/jobs.ts'
import { saveSummary } from './summary/save.ts'
import { type SummaryContent, toCallSummary } from './summary/schema.ts'
import { writtenSummary } from './summary/written.ts'

interface ReviewDeps {
  store: Store
  now: () => Date
  models: Models
  meter: ModelMeter
}

const MAX_ATTEMPTS = 4
const BACKOFF_MS = 15_000

/**
 * Reviews a call that has ended. A summary from the words alone is stored at once; if a model is configured, its summary replaces that one.
 * If all attempts with the model fail, the first summary stays.
 */
export const reviewHandler = (deps: ReviewDeps): JobHandler<ReviewJob> => ({
  maxAttempts: MAX_ATTEMPTS,
  backoffMs: BACKOFF_MS,
  run: (job, attempt) => review(deps, job.tenant, job, attempt),
})

async function review(
  deps: ReviewDeps,
  tenant: Tenant,
  { call_id: callId, only }: ReviewJob,
  attempt: JobAttempt,
): Promise<void> {
  const { store, now } = deps
  const conversation = await readConversation(store.db, tenant, callId)
  if (conversation === null) return
  const settings = await qualityOfTenant(store.db, tenant)
  const extracted = extractedSummary(conversation, settings.dispositions)
  const models = modelsFor(deps.models, tenant, conversation)
  await store.transaction(trx => indexTranscript(trx, tenant, callId))
  // Shown until the model has written its own. Only the last one causes an event.
  if (models.length > 0 && attempt.attempt === 1 && only === undefined) {
    await store.transaction(trx => saveSummary(trx, tenant, conversation, extracted, now()))
  }
  const summary =
    models.length === 0
      ? extracted
      : await written(
          models,
          conversation,
          { settings, extracted, paid: paidFor(deps.meter, tenant, conversation) },
          attempt,
        )
  await store.transaction(async trx => {
    const row = await saveSummary(trx, tenant, conversation, summary, now())
    const at = now().toISOString()
    if (row === null) return attempt.finish(trx)
    await appendEvent(trx, tenant, { type: 'call.summary.ready', at, object: toCallSummary(row), callId })
    if (only === undefined && isSampled(conversation, settings.qa_sampling))
      await evaluate(trx, tenant, conversation, { settings, models, at })
    await attempt.finish(trx)
  })
}

type Paid = ReturnType<ModelMeter['of']>

const paidFor = (meter: ModelMeter, tenant: Tenant, { profile }: Conversation): Paid =>
  meter.of(tenant, 'call_summary', profile?.settings.model)

async function written(
  models: ReturnType<typeof modelsFor>,
  conversation: Conversation,
  { settings, extracted, paid }: { settings: QualitySettings; extracted: SummaryContent; paid: Paid },
  { signal, isLast }: JobAttempt,
): Promise<SummaryContent> {
  const summary = await writtenSummary(models, conversation, {
    dispositions: settings.dispositions,
    ...{ extracted, signal, paid },
  })
  if (!isModelFailure(summary)) return summary
  if (!isLast()) throw new Error(`no summary: ${summary.message}`)
  return extracted
}
