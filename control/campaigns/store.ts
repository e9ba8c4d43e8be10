import type { UsesOf } from '../http/references.ts'
import { appendEvent } from '../kernel/events/log.ts'
import type { Db, Trx } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import { toContact } from './contact-schema.ts'
import { settingsOf, toCampaign } from './schema.ts'
import { ON_CALL } from './states.ts'
import type { CampaignRow, ContactRow } from './tables.ts'

type Told = 'started' | 'paused' | 'resumed' | 'stopped' | 'completed' | 'archived'

/** Writes a campaign's new status, and the event if `told` is given. */
export async function moveCampaign(
  trx: Trx,
  tenant: Tenant,
  row: CampaignRow,
  change: Pick<CampaignRow, 'status' | 'updated'> & Partial<CampaignRow>,
  { told }: { told?: Told | undefined } = {},
): Promise<CampaignRow> {
  await forTenant(trx, tenant).change('campaigns', row.id, change)
  const changed = { ...row, ...change }
  if (told !== undefined) {
    await appendEvent(trx, tenant, {
      type: `campaign.${told}`,
      at: change.updated,
      object: toCampaign(changed),
      before: toCampaign(row),
    })
  }
  return changed
}

/** Changes a contact, and writes an event once it is finished. */
export async function moveContact(
  trx: Trx,
  tenant: Tenant,
  row: ContactRow,
  change: Partial<ContactRow> & { updated: string },
): Promise<void> {
  await forTenant(trx, tenant).change('campaign_contacts', row.id, change)
  const changed = { ...row, ...change }
  if (!['completed', 'failed', 'excluded'].includes(changed.status)) return
  const event = { type: 'campaign.contact.finished' as const, at: change.updated, object: toContact(changed) }
  await appendEvent(trx, tenant, { ...event, before: toContact(row) })
}

/** How many contacts are being called. */
export async function onCall(db: Db, tenant: Tenant, campaignId: string): Promise<number> {
  const rows = forTenant(db, tenant)
    .select('campaign_contacts')
    .select(eb => eb.fn.countAll().as('count'))
    .where('campaign_id', '=', campaignId)
    .where('status', 'in', ON_CALL)
  return Number((await rows.executeTakeFirstOrThrow()).count)
}

/** Campaigns that are not archived and use the object with this ID. */
export const campaignsUsing: UsesOf = async (db, tenant, id) => {
  const rows = forTenant(db, tenant).select('campaigns').selectAll().where('status', '!=', 'archived')
  const users = (await rows.orderBy('id').execute()).filter(row => {
    const { assistant_id, flow_id, queue_id, answering_machine_detection: answering } = settingsOf(row)
    return [assistant_id, flow_id, queue_id, answering?.message?.audio_asset_id].includes(id)
  })
  return users.map(row => ({ object: 'campaign', id: row.id, name: row.name }))
}
