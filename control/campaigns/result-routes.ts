import Type from 'typebox'
import { missing } from '../http/errors.ts'
import { listOf, pageOf } from '../http/list.ts'
import type { NounParts } from '../http/noun.ts'
import { operations, type Route } from '../http/route.ts'
import { CSV_START, csvRecord } from '../kernel/csv.ts'
import { paged } from '../kernel/paged.ts'
import type { Db } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import { attemptListQuery, attemptSchema, toAttempt } from './contact-schema.ts'
import { campaignStats, statsSchema } from './stats.ts'

const api = operations('Campaigns', 'campaigns')

const CSV = 'text/csv; charset=utf-8'
/** Rows that an export reads per query. */
const PAGE = 500

/** Routes of the results of a campaign's calls. */
export function campaignResultRoutes({ store, now }: NounParts): Route[] {
  const isThere = async (tenant: Tenant, id: string) =>
    (await forTenant(store.db, tenant).find('campaigns', id)) !== undefined
  return [
    api.get({
      path: '/campaigns/:id/attempts',
      id: 'listCampaignAttempts',
      summary: 'List the attempts of a campaign',
      description: 'Each call of a contact, with its result.',
      query: attemptListQuery,
      reply: listOf(attemptSchema),
      handler: async (context, { params: { id }, query }) => {
        if (!(await isThere(context, id))) return missing('campaign', id)
        const where = { campaign_id: id, result: query.result, contact_id: query.contact_id }
        const rows = { db: store.db, tenant: context, table: 'campaign_attempts', where } as const
        return pageOf(rows, query, `/v1/campaigns/${id}/attempts`, toAttempt)
      },
    }),
    api.get({
      path: '/campaigns/:id/stats',
      id: 'getCampaignStats',
      summary: 'Retrieve the live figures of a campaign',
      reply: statsSchema,
      handler: async (context, { params: { id } }) => {
        const row = await forTenant(store.db, context).find('campaigns', id)
        return row === undefined ? missing('campaign', id) : campaignStats(store.db, context, row, now())
      },
    }),
    api.get({
      path: '/campaigns/:id/results',
      id: 'exportCampaignResults',
      summary: 'Download the contacts of a campaign with their results as CSV',
      description: 'One line per contact, in the order they were added.',
      reply: Type.String({ format: 'binary' }),
      rawType: 'text/csv',
      handler: async (context, { params: { id } }) => {
        if (!(await isThere(context, id))) return missing('campaign', id)
        const raw = paged(lines(store.db, context, id))
        return { raw, status: 200, headers: { 'Content-Type': CSV } }
      },
    }),
  ]
}

const COLUMNS = [
  'contact_id',
  'phone',
  'name',
  'status',
  'attempts',
  'last_result',
  'last_attempt_at',
  'next_attempt_at',
  'skip_reason',
  'metadata',
] as const

/** Reads page by page, so that a million contacts need little memory. */
async function* lines(db: Db, tenant: Tenant, campaignId: string): AsyncGenerator<string> {
  yield CSV_START + csvRecord([...COLUMNS])
  for (let after = ''; ; ) {
    const rows = await forTenant(db, tenant)
      .select('campaign_contacts')
      .selectAll()
      .where('campaign_id', '=', campaignId)
      .where('id', '>', after)
      .orderBy('id')
      .limit(PAGE)
      .execute()
    const cells = rows.map(row => COLUMNS.map(column => (column === 'contact_id' ? row.id : String(row[column] ?? ''))))
    if (cells.length > 0) yield cells.map(csvRecord).join('')
    if (rows.length < PAGE) return
    after = rows.at(-1)?.id ?? ''
  }
}
