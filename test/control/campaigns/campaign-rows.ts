import { addContacts } from '../../../control/campaigns/contacts.ts'
import { type CampaignSettings, DEFAULT_SETTINGS } from '../../../control/campaigns/schema.ts'
import type { AttemptRow } from '../../../control/campaigns/tables.ts'
import { newId } from '../../../control/kernel/ids.ts'
import type { Store } from '../../../control/kernel/store/store.ts'
import { forTenant, type Tenant } from '../../../control/kernel/tenancy.ts'
import { addOrganisation } from '../../../control/wiring/first-start.ts'
import { trunkRow } from '../trunk-row.ts'

/** A running campaign over these numbers, with a trunk, for tests whose processes have no API. */
export async function addCampaign(
  store: Store,
  phones: readonly string[],
  settings: Partial<CampaignSettings> = {},
  trunk: { max_calls?: number } = {},
): Promise<{
  tenant: Tenant
  attempts: () => Promise<AttemptRow[]>
  finished: () => Promise<number>
  add: (phones: readonly string[]) => Promise<void>
}> {
  const now = new Date()
  const at = now.toISOString()
  const { organisationId } = await store.transaction(trx =>
    addOrganisation(trx, { name: 'Ours', pciEnabled: false, now }),
  )
  const tenant = { organisationId, livemode: true }
  const scoped = forTenant(store.db, tenant)
  const dates = { created: at, updated: at }
  await scoped.insert('connections', { ...trunkRow(at), id: newId('connection'), ...trunk } as never)
  const all: CampaignSettings = { ...DEFAULT_SETTINGS, assistant_id: 'asst_1', allowed_hours: null, ...settings }
  const id = newId('campaign')
  await scoped.insert('campaigns', {
    ...{ id, name: 'Reminders', status: 'running', settings: JSON.stringify(all), metadata: '{}' },
    ...{ next_call_ms: 0, calls_begun: 0, started_at: at, ended_at: null, ...dates },
  })
  const deps = { now: () => now, countryOf: async () => null }
  const add = async (phones: readonly string[]): Promise<void> => {
    const contacts = phones.map(phone => ({ phone }))
    await store.transaction(trx => addContacts(deps, trx, tenant, { campaignId: id, contacts }))
  }
  await add(phones)
  return {
    ...{ tenant, add },
    attempts: () => scoped.select('campaign_attempts').selectAll().orderBy('id').execute(),
    finished: async () => {
      const over = scoped.select('campaign_contacts').select('id').where('status', 'in', ['completed', 'failed'])
      return (await over.execute()).length
    },
  }
}

export const numbers = (count: number): string[] =>
  Array.from({ length: count }, (_, i) => `+1415555${String(1000 + i)}`)
