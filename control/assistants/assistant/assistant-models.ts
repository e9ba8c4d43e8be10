import { DateTime } from 'luxon'
import type { Db } from '../../kernel/store/store.ts'
import type { Tenant } from '../../kernel/tenancy.ts'
import type { Models } from '../../models/choice.ts'
import type { ChatModel } from '../../models/model.ts'
import type { AssistantSettings } from '../schema.ts'
import { offlineModel } from './offline-model.ts'

interface ModelParts {
  models: Models
  db: Db
  now: () => Date
  /** IANA name of the organisation's time zone. */
  timezoneOf: (db: Db, tenant: Tenant) => Promise<string>
}

/** The models of an assistant, in the order in which they are tried. Without a provider, and in test mode, that is the offline one. */
export const assistantModels =
  ({ models, db, now, timezoneOf }: ModelParts) =>
  (tenant: Tenant, { model, language }: Pick<AssistantSettings, 'model' | 'language'>): ChatModel[] => {
    const chosen = models.for(tenant, model)
    if (chosen.length > 0) return chosen
    const localTime = async () => DateTime.fromJSDate(now(), { zone: await timezoneOf(db, tenant) })
    return [offlineModel({ language, localTime })]
  }
