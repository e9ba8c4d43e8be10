import type { ModelProvider } from '../../flows/openai-ask.ts'
import type { PassageSearch } from '../../kb/search.ts'
import type { Db } from '../../store.ts'
import { forTenant, type Tenant } from '../../tenancy.ts'
import type { AssistantSettings } from '../assistant-settings.ts'
import type { ChatModel } from './chat-model.ts'
import { offlineModel, tellingWords } from './offline-model.ts'
import { openAiChat } from './openai-chat.ts'

/** How an assistant names the model that the operator has chosen. */
const OPERATORS_CHOICE = 'default'
const PASSAGES = 4

/** The models that an assistant speaks by, in the order in which they are asked; without a provider, and in test mode, the offline one. */
export const chatModels =
  (provider: (ModelProvider & { defaultModel: string }) | null) =>
  (tenant: Tenant, { model: settings }: Pick<AssistantSettings, 'model'>): ChatModel[] => {
    if (!tenant.livemode || provider === null) return [offlineModel]
    const named = (model: string): string => (model === OPERATORS_CHOICE ? provider.defaultModel : model)
    const names = [settings.model, ...(settings.fallback_model === null ? [] : [settings.fallback_model])]
    const { temperature, api } = settings
    return names.map(name => openAiChat(provider, { model: named(name), temperature, api }))
  }

/** Finds passages by what a question is about. */
export const passageFinder =
  (search: PassageSearch) =>
  async (db: Db, tenant: Tenant, documentIds: string[], question: string): Promise<string[]> => {
    const words = tellingWords(question).join(' ')
    const found = await search.find(db, tenant, words, { documentIds, limit: PASSAGES })
    if (found.length === 0) return []
    const ids = found.map(({ passageId }) => passageId)
    const rows = await forTenant(db, tenant)
      .select('kb_passages')
      .select(['id', 'text'])
      .where('id', 'in', ids)
      .execute()
    const texts = new Map(rows.map(({ id, text }) => [id, text]))
    return ids.flatMap(id => texts.get(id) ?? [])
  }
