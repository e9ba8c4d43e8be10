import Type, { type Static } from 'typebox'
import type { Context } from '../http/context.ts'
import { type Problem, problem } from '../http/errors.ts'
import { listOf, listParameters, pageOf } from '../http/list.ts'
import { deleteRoute, type Plain, retrieveRoute } from '../http/plain-resource.ts'
import { type Route, route } from '../http/route.ts'
import { newId } from '../kernel/ids.ts'
import { input, timestamp } from '../kernel/schema.ts'
import type { Store, Trx } from '../kernel/store/store.ts'
import { forTenant } from '../kernel/tenancy.ts'
import type { DoNotCallRow } from '../trunks/tables.ts'
import type { BookingDeps } from './booking.ts'
import { readPhone } from './callback.ts'
import { cancelCallbackTo } from './store.ts'

export interface DoNotCallDeps extends BookingDeps {
  store: Store
}

const doNotCallSchema = Type.Object({
  object: Type.Literal('do_not_call_number'),
  id: Type.String(),
  livemode: Type.Boolean(),
  phone: Type.String({ description: 'Number that is not called, E.164.' }),
  reason: Type.String(),
  created: timestamp(),
})
type DoNotCallNumber = Static<typeof doNotCallSchema>

const createBody = input({
  phone: Type.String({
    minLength: 1,
    maxLength: 50,
    description: "E.164, or the local form of the organisation's country.",
  }),
  reason: Type.Optional(Type.String({ maxLength: 500, default: '', description: 'Why, and who has said so.' })),
})

const listQuery = Type.Object(
  {
    ...listParameters,
    phone: Type.Optional(Type.String({ maxLength: 50, description: 'E.164: whether it is listed.' })),
  },
  { additionalProperties: false },
)

/** The do-not-call list: its numbers are neither called nor booked for a callback. */
export function doNotCallRoutes(deps: DoNotCallDeps): Route[] {
  const { store } = deps
  const plain: Plain<'do_not_call', typeof doNotCallSchema> = {
    store,
    table: 'do_not_call',
    object: 'do_not_call_number',
    path: '/do_not_call',
    tag: 'Callbacks',
    reply: doNotCallSchema,
    area: 'callbacks',
    toObject,
  }
  return [
    route({
      method: 'POST',
      path: plain.path,
      id: 'createDoNotCallNumber',
      summary: 'Put a number on the do-not-call list',
      description:
        'Its callback is cancelled, unless it is on a call. From now on calls and callbacks to it answer 403. A number that is listed already is answered as it is.',
      tag: plain.tag,
      scope: 'callbacks:write',
      body: createBody,
      status: 200,
      reply: doNotCallSchema,
      errors: [409],
      handler: (context, { body }) => context.transaction(trx => list(deps, trx, context, body)),
    }),
    route({
      method: 'GET',
      path: plain.path,
      id: 'listDoNotCallNumbers',
      summary: 'List the numbers of the do-not-call list',
      tag: plain.tag,
      scope: 'callbacks:read',
      query: listQuery,
      status: 200,
      reply: listOf(doNotCallSchema),
      handler: (context, { query }) => {
        const rows = { db: store.db, tenant: context, table: 'do_not_call', where: { phone: query.phone } } as const
        return pageOf(rows, query, '/v1/do_not_call', toObject)
      },
    }),
    retrieveRoute(plain),
    deleteRoute(plain, { description: 'The number can be called again; callbacks that were cancelled stay so.' }),
  ]
}

async function list(
  deps: DoNotCallDeps,
  trx: Trx,
  context: Context,
  { phone: text, reason = '' }: Static<typeof createBody>,
): Promise<DoNotCallNumber | Problem> {
  const { country } = await deps.settings(trx, context)
  const phone = readPhone(text, country)
  if (phone === null) {
    const form = country === null ? 'a number in E.164' : `a number in E.164 or in the local form of ${country}`
    return problem('parameter_invalid', `phone is not ${form}.`, { param: 'phone' })
  }
  const scoped = forTenant(trx, context)
  const listed = await scoped.select('do_not_call').selectAll().where('phone', '=', phone).executeTakeFirst()
  if (listed !== undefined) return toObject(listed)
  const created = deps.now().toISOString()
  const row = { id: newId('do_not_call_number'), phone, reason, created }
  await scoped.insert('do_not_call', row)
  await cancelCallbackTo(trx, context, { phone, at: created, request: context })
  return toObject({ ...row, livemode: context.livemode ? 1 : 0 })
}

const toObject = (row: Omit<DoNotCallRow, 'organisation_id'>): DoNotCallNumber => ({
  object: 'do_not_call_number',
  id: row.id,
  livemode: row.livemode === 1,
  phone: row.phone,
  reason: row.reason,
  created: row.created,
})
