import type { Trx } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'

/** The settings of assistants and copilot profiles that list documents. */
interface Settings {
  kb_document_ids?: string[]
  kb?: { document_ids: string[] }
}

/**
 * Removes a deleted document from the lists of assistants and copilot profiles. The last ID in a list stays: an empty list means all
 * documents, and an assistant limited to one must not answer from all others.
 */
export async function forgetDocument(trx: Trx, tenant: Tenant, id: string, at: string): Promise<void> {
  const scoped = forTenant(trx, tenant)
  const named = `%${JSON.stringify(id)}%`
  const assistants = await scoped
    .select('assistants')
    .select(['id', 'settings'])
    .where('settings', 'like', named)
    .execute()
  for (const { id: assistantId, settings } of assistants) {
    const left = without(settings, id)
    if (left === null) continue
    await scoped.change('assistants', assistantId, { settings: left, updated: at })
  }
  const profiles = await scoped
    .select('copilot_profiles')
    .select(['id', 'settings', 'version'])
    .where('settings', 'like', named)
    .execute()
  for (const { id: profileId, settings, version } of profiles) {
    const left = without(settings, id)
    if (left === null) continue
    const change = { settings: left, version: version + 1, updated: at }
    await scoped.change('copilot_profiles', profileId, change)
  }
}

/** The settings without the document; null: nothing to change. */
function without(json: string, id: string): string | null {
  const settings: Settings = JSON.parse(json)
  const left = (ids: string[]): string[] => (ids.length > 1 ? ids.filter(other => other !== id) : ids)
  const changed: Settings = {
    ...settings,
    ...(settings.kb_document_ids && { kb_document_ids: left(settings.kb_document_ids) }),
    ...(settings.kb && { kb: { ...settings.kb, document_ids: left(settings.kb.document_ids) } }),
  }
  const text = JSON.stringify(changed)
  return text === JSON.stringify(settings) ? null : text
}
