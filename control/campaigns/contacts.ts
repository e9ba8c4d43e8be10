import { outsideProblem } from '../calls/dial.ts'
import type { Problem } from '../http/errors.ts'
import { newId } from '../kernel/ids.ts'
import { readPhone } from '../kernel/phone.ts'
import type { Db, Trx } from '../kernel/store/store.ts'
import { ownedBy, type Tenant } from '../kernel/tenancy.ts'
import type { ContactsAdded, NewContact } from './contact-schema.ts'
import { timezoneProblem } from './settings.ts'
import type { ContactRow } from './tables.ts'

export interface ContactDeps {
  now: () => Date
  countryOf: (db: Db, tenant: Tenant) => Promise<string | null>
}

/** Rows per statement, since databases limit the number of parameters. */
const BATCH = 500

/** Adds all valid contacts. A number that the campaign already has is left unchanged. */
export async function addContacts(
  deps: ContactDeps,
  trx: Trx,
  tenant: Tenant,
  { campaignId, contacts }: { campaignId: string; contacts: readonly NewContact[] },
): Promise<ContactsAdded> {
  const country = await deps.countryOf(trx, tenant)
  const at = deps.now().toISOString()
  const errors: ContactsAdded['errors'] = []
  const rows = new Map<string, ContactRow>()
  let duplicates = 0
  for (const [index, contact] of contacts.entries()) {
    const phone = readPhone(contact.phone, country)
    const refused = await contactProblem(trx, tenant, { contact, phone, country })
    if (refused !== null || phone === null) {
      errors.push({ index, param: refused?.param ?? 'phone', message: refused?.message ?? '' })
    } else if (rows.has(phone)) duplicates++
    else rows.set(phone, newContactRow(tenant, campaignId, { contact, phone, at }))
  }
  let added = 0
  const all = [...rows.values()]
  for (let from = 0; from < all.length; from += BATCH)
    added += (await insertContacts(trx, all.slice(from, from + BATCH))).length
  duplicates += all.length - added
  return {
    object: 'campaign_contacts_added',
    livemode: tenant.livemode,
    campaign_id: campaignId,
    added,
    duplicates,
    errors,
  }
}

/** Why a contact is invalid. One on the do-not-call list is accepted: it is excluded when its turn comes, if it is still listed. */
async function contactProblem(
  trx: Trx,
  tenant: Tenant,
  { contact, phone, country }: { contact: NewContact; phone: string | null; country: string | null },
): Promise<Pick<Problem, 'message' | 'param'> | null> {
  if (phone === null) {
    const local = country === null ? '' : `, nor in the local form of ${country}`
    return { message: `phone is not a number in E.164 (+15551234567)${local}.`, param: 'phone' }
  }
  if (!tenant.livemode) {
    const outside = await outsideProblem(trx, tenant, phone)
    if (outside?.problem === 'parameter_invalid') return { message: outside.message, param: 'phone' }
  }
  return contact.timezone === undefined ? null : timezoneProblem(contact.timezone, 'timezone')
}

/** @returns the numbers that the campaign did not have yet */
export async function insertContacts(trx: Trx, rows: readonly ContactRow[]): Promise<string[]> {
  const insert = trx.insertInto('campaign_contacts').values([...rows])
  const written = insert.onConflict(conflict => conflict.columns(['campaign_id', 'phone']).doNothing())
  return (await written.returning('phone').execute()).map(({ phone }) => phone)
}

export function newContactRow(
  tenant: Tenant,
  campaignId: string,
  { contact, phone, at }: { contact: NewContact; phone: string; at: string },
): ContactRow {
  const notBefore = contact.not_before === undefined ? at : new Date(contact.not_before).toISOString()
  return {
    id: newId('campaign_contact'),
    ...ownedBy(tenant),
    campaign_id: campaignId,
    phone,
    name: contact.name ?? '',
    timezone: contact.timezone ?? null,
    metadata: JSON.stringify(contact.metadata ?? {}),
    status: 'pending',
    attempts: 0,
    next_attempt_at: notBefore > at ? notBefore : at,
    last_attempt_at: null,
    last_result: null,
    call_id: null,
    claimed_by: null,
    claimed_until: null,
    skip_reason: null,
    created: at,
    updated: at,
  }
}
