import { DateTime } from 'luxon'
import type { Db } from '../../kernel/store/store.ts'
import type { Tenant } from '../../kernel/tenancy.ts'
import type { ChatModel } from '../../models/chat-model.ts'
import type { ModelProvider } from '../../models/openai-ask.ts'
import { openAiChat } from '../../models/openai-chat.ts'
import type { AssistantSettings } from '../assistant-settings.ts'
import { offlineModel } from './offline-model.ts'

/** How an assistant names the model that the operator has chosen. */
const OPERATORS_CHOICE = 'default'

export interface ModelParts {
  provider: (ModelProvider & { defaultModel: string }) | null
  db: Db
  now: () => Date
  /** The organisation's, of the IANA database. */
  timezoneOf: (db: Db, tenant: Tenant) => Promise<string>
}

/** The models that an assistant speaks by, in the order in which they are asked; without a provider, and in test mode, the offline one. */
export const chatModels =
  ({ provider, db, now, timezoneOf }: ModelParts) =>
  (tenant: Tenant, { model: settings, language }: Pick<AssistantSettings, 'model' | 'language'>): ChatModel[] => {
    if (!tenant.livemode || provider === null) {
      const localTime = async () => DateTime.fromJSDate(now(), { zone: await timezoneOf(db, tenant) })
      return [offlineModel({ language, localTime })]
    }
    return providerModels(provider, settings)
  }

/** The assistant's model at the operator's provider, and the one for when it fails. */
export function providerModels(
  provider: ModelProvider & { defaultModel: string },
  settings: AssistantSettings['model'],
): ChatModel[] {
  const named = (model: string): string => (model === OPERATORS_CHOICE ? provider.defaultModel : model)
  const names = [settings.model, ...(settings.fallback_model === null ? [] : [settings.fallback_model])]
  const { temperature, api } = settings
  return names.map(name => openAiChat(provider, { model: named(name), temperature, api }))
}
