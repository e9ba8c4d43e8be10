import { timeOf } from '../imports/cells.ts'
import { fault, importTarget } from '../imports/target.ts'
import { phoneForm, readPhone } from '../kernel/phone.ts'
import { noteFact } from '../kernel/store/after-commit.ts'
import { forTenant } from '../kernel/tenancy.ts'
import { type Given, newConsent, standingOf } from './standing.ts'
import { NO_EVIDENCE, PURPOSES } from './tables.ts'

const MAX_TEXT = 2000

/** Imports rows as consents. One that is valid already is a duplicate; one that has expired is replaced. */
export const consentTarget = importTarget<Omit<Given, 'evidence'> & { text: string | null; url: string | null }>({
  columns: {
    phone: { description: 'Number of the person who consents.', isRequired: true },
    purpose: { description: `${PURPOSES.join(', ')}.`, isRequired: true },
    given_at: { description: 'ISO 8601; default: now.' },
    expires_at: { description: 'ISO 8601.' },
    text: { description: 'The words of the consent.' },
    url: { description: 'Address of the form.' },
  },
  check(cells, { country, at }) {
    const phone = readPhone(cells.phone ?? '', country)
    if (phone === null) return fault('phone', `It is not ${phoneForm(country)}.`)
    const purpose = PURPOSES.find(known => known === cells.purpose?.toLowerCase())
    if (purpose === undefined) return fault('purpose', `It is none of ${PURPOSES.join(', ')}.`)
    const given_at = timeOf(cells.given_at) ?? at
    if (given_at === 'invalid' || given_at > at) return fault('given_at', 'It is not a time in the past.')
    const expires_at = timeOf(cells.expires_at)
    if (expires_at === 'invalid' || (expires_at !== null && expires_at <= at)) {
      return fault('expires_at', 'It is not a time in the future.')
    }
    const { text = null, url = null } = cells
    for (const column of ['text', 'url'] as const) {
      if ((cells[column]?.length ?? 0) > MAX_TEXT) return fault(column, `It has more than ${MAX_TEXT} characters.`)
    }
    return { key: standingOf({ phone, purpose }), row: { phone, purpose, given_at, expires_at, text, url } }
  },
  async write(trx, rows, { tenant, importId, at }) {
    const standings = rows.map(standingOf)
    const expired = forTenant(trx, tenant).update('consents').set({ standing: null, replaced_at: at, updated: at })
    await expired.where('standing', 'in', standings).where('expires_at', '<=', at).execute()
    const values = rows.map(({ text, url, ...given }) =>
      newConsent(
        tenant,
        { ...given, evidence: { ...NO_EVIDENCE, type: 'import', import_id: importId, text, url } },
        at,
      ),
    )
    const written = await trx
      .insertInto('consents')
      .values(values)
      .onConflict(conflict => conflict.columns(['organisation_id', 'livemode', 'standing']).doNothing())
      .returning('standing')
      .execute()
    const fresh = new Set(written.map(({ standing }) => standing))
    const recorded = rows.filter(row => row.purpose === 'record' && fresh.has(standingOf(row)))
    const object = { phones: recorded.map(({ phone }) => phone) }
    // One fact for all rows, by which running calls start what was waiting for consent.
    if (recorded.length > 0) await noteFact(trx, { type: 'consent.imported', object, tenant, at })
    return standings.map(standing => fresh.has(standing))
  },
})
