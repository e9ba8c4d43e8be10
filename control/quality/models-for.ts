import type { Tenant } from '../kernel/tenancy.ts'
import type { Models } from '../models/choice.ts'
import type { ChatModel } from '../models/model.ts'
import type { Conversation } from './analysis/conversation.ts'

/** The models of the call's profile; none if its `deep_path` is off. */
export const modelsFor = (models: Models, tenant: Tenant, { profile }: Pick<Conversation, 'profile'>): ChatModel[] =>
  profile?.settings.model.deep_path === false ? [] : models.for(tenant, profile?.settings.model ?? null)
