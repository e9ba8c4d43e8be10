import { timeOf } from '../imports/cells.ts'
import { fault, importTarget } from '../imports/target.ts'
import { phoneForm } from '../kernel/phone.ts'
import { type Listing, putOnList } from './list.ts'
import { readListed } from './routes.ts'

const MAX_REASON = 500

/** Imports rows as numbers on the do-not-call list. */
export const doNotCallTarget = importTarget<Listing>({
  columns: {
    phone: { description: 'A number, or a prefix that ends in `*`.', isRequired: true },
    reason: { description: 'The reason.' },
    expires_at: { description: 'ISO 8601.' },
  },
  check({ phone: text = '', reason = '', expires_at }, { country, at }) {
    const phone = readListed(text, country)
    if (phone === null) return fault('phone', `It is not ${phoneForm(country)}.`)
    if (reason.length > MAX_REASON) return fault('reason', `It has more than ${MAX_REASON} characters.`)
    const until = timeOf(expires_at)
    if (until === 'invalid' || (until !== null && until <= at))
      return fault('expires_at', 'It is not a time in the future.')
    return { key: phone, row: { phone, reason, expires_at: until } }
  },
  async write(trx, rows, { tenant, importId, at }) {
    const fresh = await putOnList(trx, tenant, rows, { at, source: 'import', importId })
    const phones = new Set(fresh.map(({ phone }) => phone))
    return rows.map(({ phone }) => phones.has(phone))
  },
})
