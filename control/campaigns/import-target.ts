import { isSandboxNumber } from '../calls/sandbox.ts'
import { missing } from '../http/errors.ts'
import { timeOf } from '../imports/cells.ts'
import { fault, importTarget } from '../imports/target.ts'
import { phoneForm, readPhone } from '../kernel/phone.ts'
import { forTenant } from '../kernel/tenancy.ts'
import { MAX_METADATA, MAX_NAME, type NewContact } from './contact-schema.ts'
import { insertContacts, newContactRow } from './contacts.ts'
import { timezoneProblem } from './settings.ts'
import { archivedProblem } from './states.ts'

/** Imports rows as contacts of the campaign `target_id`; other columns become metadata. A number that the campaign has is left unchanged. */
export const campaignContactTarget = importTarget<NewContact>({
  columns: {
    phone: { description: 'Number to call.', isRequired: true },
    name: { description: 'Name of the contact.' },
    timezone: { description: 'IANA name, for example Europe/Paris.' },
    not_before: { description: 'ISO 8601: it is not called before this time.' },
  },
  async problemOf(db, tenant, targetId) {
    const campaign = await forTenant(db, tenant).find('campaigns', targetId)
    return campaign === undefined ? missing('campaign', targetId) : archivedProblem(campaign.status)
  },
  check(cells, { country, livemode, others }) {
    const phone = readPhone(cells.phone ?? '', country)
    if (phone === null) return fault('phone', `It is not ${phoneForm(country)}.`)
    if (!livemode && !isSandboxNumber(phone)) return fault('phone', 'A test key reaches sandbox numbers only.')
    const { name = '', timezone } = cells
    if (name.length > MAX_NAME) return fault('name', `It has more than ${MAX_NAME} characters.`)
    const noZone = timezone === undefined ? null : timezoneProblem(timezone, 'timezone')
    if (noZone !== null) return fault('timezone', noZone.message)
    const notBefore = timeOf(cells.not_before)
    if (notBefore === 'invalid') return fault('not_before', 'It is not a time.')
    const pairs = Object.entries(others)
    if (pairs.length > MAX_METADATA.pairs)
      return fault(null, `The row has more than ${MAX_METADATA.pairs} other cells.`)
    for (const [column, value] of pairs) {
      if (column.length > MAX_METADATA.key)
        return fault(column, `The name of the column has more than ${MAX_METADATA.key} characters.`)
      if (value.length > MAX_METADATA.value) return fault(column, `It has more than ${MAX_METADATA.value} characters.`)
    }
    const row: NewContact = { phone, name, metadata: others }
    if (timezone !== undefined) row.timezone = timezone
    if (notBefore !== null) row.not_before = notBefore
    return { key: phone, row }
  },
  async write(trx, contacts, { tenant, targetId, at }) {
    const rows = contacts.map(contact => newContactRow(tenant, targetId!, { contact, phone: contact.phone, at }))
    const fresh = new Set(await insertContacts(trx, rows))
    return contacts.map(({ phone }) => fresh.has(phone))
  },
})
