import Type, { type Static } from 'typebox'
import type { Context } from '../http/context.ts'
import { invalid, type Problem } from '../http/errors.ts'
import type { NounParts } from '../http/noun.ts'
import { operations, type Route } from '../http/route.ts'
import { input, timestamp } from '../kernel/schema.ts'
import { usageOf, usageQuery, usageRange, usageSchema } from '../organisation/usage-routes.ts'
import { METERS, type Meter } from '../usage/tables.ts'
import { clientOf } from './key-routes.ts'

const api = operations('Partners', 'partners')

const meters = Object.keys(METERS) as Meter[]
const none = Object.fromEntries(meters.map(meter => [meter, 0])) as Record<Meter, number>

const rolledUp = Type.Object({
  object: Type.Literal('partner_usage'),
  livemode: Type.Boolean(),
  from: timestamp(),
  to: timestamp('End of the time, exclusive.'),
  organisations: Type.Integer({ description: 'The organisations: those that you manage now.' }),
  meters: Type.Object(
    Object.fromEntries(meters.map(meter => [meter, Type.Integer()])) as Record<Meter, Type.TInteger>,
    { description: 'Totals of their ledgers for what began in that time (`GET /usage/entries`).' },
  ),
})

const range = input(usageRange)

/** Routes of the usage of a partner's organisations: of one by day, or of all together. */
export const partnerUsageRoutes = (deps: NounParts): Route[] => [
  api.get({
    path: '/partner/organisations/:id/usage',
    id: 'getPartnerOrganisationUsage',
    summary: "Retrieve the usage of a client's organisation",
    description: 'The same as its own `GET /usage`, in the mode of your key.',
    query: usageQuery,
    reply: usageSchema,
    handler: async (context, { params, query }) => {
      const client = await clientOf(deps.store.db, context, params.id)
      return 'problem' in client ? client : usageOf(deps, client, query)
    },
  }),
  api.get({
    path: '/partner/usage',
    id: 'getPartnerUsage',
    summary: 'Retrieve the usage of all clients together',
    query: range,
    reply: rolledUp,
    handler: (context, { query }) => rollUp(deps, context, query),
  }),
]

async function rollUp(
  { store: { db }, now }: NounParts,
  { organisationId, livemode }: Context,
  asked: Static<typeof range>,
): Promise<Static<typeof rolledUp> | Problem> {
  const to = asked.to === undefined ? now().toISOString() : new Date(asked.to).toISOString()
  const from = asked.from === undefined ? `${to.slice(0, 7)}-01T00:00:00.000Z` : new Date(asked.from).toISOString()
  if (to <= from) return invalid('to', 'to must be after from.')
  const clients = db
    .selectFrom('partner_organisations')
    .where('partner_organisations.organisation_id', '=', organisationId)
    .where('partner_organisations.livemode', '=', livemode ? 1 : 0)
  const counted = await clients.select(({ fn }) => fn.countAll<number | string>().as('n')).executeTakeFirst()
  const sums = await clients
    .innerJoin('usage_entries', 'usage_entries.organisation_id', 'partner_organisations.id')
    .select('usage_entries.meter')
    .select(({ fn }) => fn.sum<number | string>('usage_entries.quantity').as('quantity'))
    .where('usage_entries.livemode', '=', livemode ? 1 : 0)
    .where('usage_entries.at', '>=', from)
    .where('usage_entries.at', '<', to)
    .groupBy('usage_entries.meter')
    .execute()
  const used = Object.fromEntries(sums.map(({ meter, quantity }) => [meter, Number(quantity)]))
  const organisations = Number(counted?.n ?? 0)
  return { object: 'partner_usage', livemode, from, to, organisations, meters: { ...none, ...used } }
}
