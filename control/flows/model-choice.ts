import type { Store } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import type { ModelProvider } from '../models/openai-ask.ts'
import { redactedLines } from '../organisation/redaction/redactor.ts'
import { redactorOf } from '../organisation/redaction/settings.ts'
import { mockModel } from './engine/mock-model.ts'
import { type FlowModel, type ModelSettings, noModel } from './engine/model.ts'
import { openAiModel } from './engine/openai-model.ts'

/** How an assistant names the model that the operator has chosen. */
const OPERATORS_CHOICE = 'default'

/** What of an assistant's settings a model needs (`assistantSchema`). */
interface AssistantSettings {
  prompt: string
  model: { model: string; fallback_model: string | null; temperature: number; api: ModelSettings['api'] }
}

/**
 * The model that speaks in a tenant's flows: the assistant's, at the operator's provider. Test mode has a mock, which reaches
 * nobody; without a provider every question fails.
 */
export function modelChooser(store: Store, provider: (ModelProvider & { defaultModel: string }) | null) {
  return async (tenant: Tenant, assistantId: string | null, signal: AbortSignal): Promise<FlowModel> => {
    if (!tenant.livemode) return mockModel
    if (provider === null) return noModel
    const row = assistantId === null ? undefined : await forTenant(store.db, tenant).find('assistants', assistantId)
    const settings: AssistantSettings | null = row === undefined ? null : JSON.parse(row.settings)
    const named = (model: string): string => (model === OPERATORS_CHOICE ? provider.defaultModel : model)
    const model = openAiModel(
      provider,
      {
        model: named(settings?.model.model ?? OPERATORS_CHOICE),
        fallbackModel: settings?.model.fallback_model ?? null,
        temperature: settings?.model.temperature ?? null,
        api: settings?.model.api ?? 'chat',
      },
      signal,
    )
    const prompt = settings?.prompt ?? ''
    const redact = await redactorOf(store.db, tenant)
    return {
      reply: request =>
        model.reply({
          ...request,
          instructions: `${prompt}\n${request.instructions}`.trim(),
          history: redactedLines(redact, request.history),
        }),
      judge: request =>
        model.judge({
          ...request,
          text: redact(request.text),
          history: redactedLines(redact, request.history),
        }),
    }
  }
}
