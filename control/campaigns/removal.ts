import { sql } from 'kysely'
import { conflict, type Problem } from '../http/errors.ts'
import type { Trx } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import { WEEK_MS } from './allowed.ts'
import { reserve } from './preview/claims.ts'
import { ON_CALL } from './states.ts'

/** Maximum number of attempts whose number one transaction deletes. */
const BATCH = 500

/**
 * Deletes a contact and the events about it. Its attempts remain as figures, and lose the number once no caps count them any more. Null:
 * deleted; undefined: there was none.
 */
export async function removeContact(
  trx: Trx,
  tenant: Tenant,
  id: string,
  at: string,
): Promise<Problem | null | undefined> {
  const scoped = forTenant(trx, tenant)
  const contact = await scoped.find('campaign_contacts', id)
  if (contact === undefined) return undefined
  if (ON_CALL.includes(contact.status)) return conflict('contact_on_call', 'The contact is on a call.')
  await scoped.delete('campaign_contacts').where('id', '=', id).execute()
  await scoped.delete('events').where('object_id', '=', id).execute()
  const { claimed_by: userId, claimed_until: until } = contact
  // Whoever had it once may be calling another one by now.
  if (userId !== null && until !== null && until > at) await reserve(trx, tenant, userId, at)
  const attempts = await scoped
    .select('campaign_attempts')
    .select(['id', 'started_at'])
    // The index begins with the number.
    .where('phone', '=', contact.phone)
    .where('contact_id', '=', id)
    .execute()
  for (const { id, started_at } of attempts) {
    const forget_at = new Date(Date.parse(started_at) + WEEK_MS).toISOString()
    await scoped.change('campaign_attempts', id, forget_at <= at ? { phone: '' } : { forget_at })
  }
  return null
}

/** Deletes numbers of deleted contacts that no cap counts any more. @returns in how many attempts */
export async function forgetNumbers(trx: Trx, at: string): Promise<number> {
  const due = trx.selectFrom('campaign_attempts').select('id').where('forget_at', '<=', at).limit(BATCH)
  const ids = (await due.execute()).map(({ id }) => id)
  if (ids.length === 0) return 0
  await trx.updateTable('campaign_attempts').set({ phone: '', forget_at: null }).where('id', 'in', ids).execute()
  return ids.length
}

/** Contacts of an organisation's campaigns that ended before `until`. */
export async function contactsOver(
  trx: Trx,
  { organisationId, until, limit }: { organisationId: string; until: string; limit: number },
): Promise<{ id: string; organisation_id: string; livemode: number }[]> {
  const over = trx
    .selectFrom('campaigns')
    .select('id')
    .where('organisation_id', '=', organisationId)
    .where('status', 'in', ['stopped', 'completed', 'archived'])
    // A campaign that was archived as a draft has no `ended_at`.
    .where(sql<string>`coalesce(ended_at, updated)`, '<', until)
  return trx
    .selectFrom('campaign_contacts')
    .select(['id', 'organisation_id', 'livemode'])
    .where('campaign_id', 'in', over)
    .where('status', 'not in', ON_CALL)
    .limit(limit)
    .execute()
}
