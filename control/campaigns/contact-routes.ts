import type { Context } from '../http/context.ts'
import { missing } from '../http/errors.ts'
import { listOf, pageOf } from '../http/list.ts'
import { operations, type Route } from '../http/route.ts'
import { deletedObject } from '../kernel/schema.ts'
import type { Db, Store, Trx } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import { addBody, addedSchema, contactListQuery, contactParams, contactSchema, toContact } from './contact-schema.ts'
import { addContacts, type ContactDeps } from './contacts.ts'
import { removeContact } from './removal.ts'
import { archivedProblem } from './states.ts'
import type { ContactRow } from './tables.ts'

const api = operations('Campaigns', 'campaigns')

export function campaignContactRoutes(deps: ContactDeps & { store: Store }): Route[] {
  const { store } = deps
  return [
    api.post({
      path: '/campaigns/:id/contacts',
      id: 'addCampaignContacts',
      summary: 'Add contacts to a campaign',
      description:
        'A campaign has each number once. A number that is already there counts as a duplicate, and its contact is unchanged. `errors` lists contacts that cannot be added; the others are added.',
      body: addBody,
      reply: addedSchema,
      errors: [409],
      handler: (context, { params, body }) =>
        context.withRow('campaigns', 'campaign', params.id, async (trx, campaign) => {
          const refused = archivedProblem(campaign.status)
          return refused ?? addContacts(deps, trx, context, { campaignId: campaign.id, contacts: body.contacts })
        }),
    }),
    api.get({
      path: '/campaigns/:id/contacts',
      id: 'listCampaignContacts',
      summary: 'List the contacts of a campaign',
      query: contactListQuery,
      reply: listOf(contactSchema),
      handler: async (context, { params: { id }, query }) => {
        if ((await forTenant(store.db, context).find('campaigns', id)) === undefined) return missing('campaign', id)
        const where = { campaign_id: id, status: query.status, phone: query.phone }
        const rows = { db: store.db, tenant: context, table: 'campaign_contacts', where } as const
        return pageOf(rows, query, `/v1/campaigns/${id}/contacts`, toContact)
      },
    }),
    api.get({
      path: '/campaigns/:id/contacts/:contact_id',
      id: 'getCampaignContact',
      summary: 'Retrieve a contact of a campaign',
      params: contactParams,
      reply: contactSchema,
      handler: async (context, { params }) => {
        const row = await contactOf(store.db, context, params)
        return row === undefined ? missing('campaign_contact', params.contact_id) : toContact(row)
      },
    }),
    api.delete({
      path: '/campaigns/:id/contacts/:contact_id',
      id: 'removeCampaignContact',
      summary: 'Remove a contact from a campaign',
      description:
        'It is not called any more. Its data and events are deleted. Its attempts stay; their number is removed once no `caps` count them (a week after the call). 409 while it is on a call.',
      params: contactParams,
      reply: deletedObject('campaign_contact'),
      errors: [409],
      handler: (context, { params }) => context.transaction(trx => remove(deps, trx, context, params)),
    }),
  ]
}

async function contactOf(
  db: Db,
  tenant: Tenant,
  { id, contact_id }: { id: string; contact_id: string },
): Promise<ContactRow | undefined> {
  const row = await forTenant(db, tenant).find('campaign_contacts', contact_id)
  return row?.campaign_id === id ? row : undefined
}

async function remove(
  { now }: Pick<ContactDeps, 'now'>,
  trx: Trx,
  context: Context,
  params: { id: string; contact_id: string },
) {
  const row = await contactOf(trx, context, params)
  if (row === undefined) return missing('campaign_contact', params.contact_id)
  const refused = await removeContact(trx, context, row.id, now().toISOString())
  if (refused != null) return refused
  const object = 'campaign_contact' as const
  return { object, id: row.id, deleted: true as const, livemode: context.livemode }
}
