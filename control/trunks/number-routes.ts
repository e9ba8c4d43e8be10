import Type, { type Static } from 'typebox'
import type { Context } from '../http/context.ts'
import { conflict, invalid, isProblem, needed, type Problem, problem } from '../http/errors.ts'
import { changeRoute, deleteRoute, listRoute, plainOf, retrieveRoute } from '../http/plain-resource.ts'
import { operations, type Route } from '../http/route.ts'
import { appendEvent } from '../kernel/events/log.ts'
import { newId } from '../kernel/ids.ts'
import { input, nullable, partialInput } from '../kernel/schema.ts'
import { sentColumns } from '../kernel/show-row.ts'
import type { Db, Store, Trx } from '../kernel/store/store.ts'
import { forTenant, ownedBy, type Tenant } from '../kernel/tenancy.ts'
import { type PhoneNumber, phoneNumberSchema, toPhoneNumber } from './number-schema.ts'
import type { PhoneNumberRow } from './tables.ts'

const api = operations('Phone numbers', 'numbers')

const changeBody = partialInput({
  connection_id: nullable(Type.String({ maxLength: 200, description: 'Connection for calls from this number.' })),
  payment_line: Type.Boolean(),
})
const createBody = input({
  number: Type.Optional(
    Type.String({
      pattern: '^\\+[1-9][0-9]{1,14}$',
      description:
        'E.164. Required with a live key; with a test key, a sandbox number, or absent for the next free one.',
    }),
  ),
  ...changeBody.properties,
  payment_line: Type.Optional(Type.Boolean({ default: false })),
})

export function phoneNumberRoutes(deps: { store: Store; now: () => Date }): Route[] {
  const { store, now } = deps
  const plain = plainOf({ store, table: 'phone_numbers', api, reply: phoneNumberSchema, toObject: toPhoneNumber })
  return [
    api.post({
      path: '/phone_numbers',
      id: 'createPhoneNumber',
      summary: 'Add one of your phone numbers',
      description:
        'With a live key, a number that reaches you over a connection; with a test key, a sandbox number. 409 if it already exists.',
      body: createBody,
      status: 201,
      reply: phoneNumberSchema,
      errors: [409],
      handler: (context, { body }) => create(context, body, now().toISOString()),
    }),
    listRoute(plain),
    retrieveRoute(plain),
    changeRoute(plain, changeBody, (context, id, body) =>
      context.withRow('phone_numbers', 'phone_number', id, async (trx, row) => {
        const refused = await connectionProblem(trx, context, body.connection_id ?? null)
        if (refused !== null) return refused
        const change = { ...sentColumns(body), updated: now().toISOString() }
        await forTenant(trx, context).change('phone_numbers', row.id, change)
        return toPhoneNumber({ ...row, ...change })
      }),
    ),
    {
      ...deleteRoute(plain, {
        description: 'Not available with a live key yet.',
        before: async (trx, context, row) => {
          const event = { type: 'phone_number.deleted' as const, at: now().toISOString(), object: toPhoneNumber(row) }
          await appendEvent(trx, context, { ...event })
          return null
        },
      }),
      summary: 'Release a sandbox number',
      mode: 'test',
    },
  ]
}

/** `+1 500 555` and four digits; those below 0100 are destinations with built-in behaviour. */
const SANDBOX = /^\+1500555(?!00)[0-9]{4}$/
const SANDBOX_PREFIX = '+1500555'
const FIRST_SANDBOX = 100
const LAST_SANDBOX = 9999

/** The number to create: as requested or, in test mode, by default the next free sandbox number. */
async function chooseNumber(trx: Trx, context: Context, asked: string | undefined): Promise<string | Problem> {
  if (context.livemode) return asked ?? needed('number', 'Missing required parameter: number.')
  if (asked === undefined) return nextSandboxNumber(trx, context)
  if (SANDBOX.test(asked)) return asked
  const message =
    'A test key accepts only sandbox numbers, +15005550100 to +15005559999; omit the number for the next free one.'
  return invalid('number', message)
}

async function nextSandboxNumber(trx: Trx, context: Context): Promise<string | Problem> {
  const rows = await forTenant(trx, context).select('phone_numbers').select('number').execute()
  const taken = new Set(rows.map(row => row.number))
  for (let i = FIRST_SANDBOX; i <= LAST_SANDBOX; i++) {
    const number = SANDBOX_PREFIX + String(i).padStart(4, '0')
    if (!taken.has(number)) return number
  }
  return problem('plan_limit', 'All sandbox numbers are taken; release one.')
}

async function create(context: Context, body: Static<typeof createBody>, at: string): Promise<PhoneNumber | Problem> {
  return context.transaction(async trx => {
    const scoped = forTenant(trx, context)
    const refused = await connectionProblem(trx, context, body.connection_id ?? null)
    if (refused !== null) return refused
    const number = await chooseNumber(trx, context, body.number)
    if (isProblem(number)) return number
    const taken = await scoped.select('phone_numbers').select('id').where('number', '=', number).executeTakeFirst()
    if (taken !== undefined) return conflict('in_use', `The number already exists: ${taken.id}`)
    const row: PhoneNumberRow = {
      id: newId('phone_number'),
      ...ownedBy(context),
      number,
      connection_id: body.connection_id ?? null,
      payment_line: body.payment_line === true ? 1 : 0,
      created: at,
      updated: at,
    }
    await scoped.insert('phone_numbers', row)
    const object = toPhoneNumber(row)
    await appendEvent(trx, context, { type: 'phone_number.created', at, object })
    return object
  })
}

async function connectionProblem(db: Db, tenant: Tenant, id: string | null): Promise<Problem | null> {
  if (id === null || (await forTenant(db, tenant).find('connections', id)) !== undefined) return null
  return invalid('connection_id', `No such connection: ${id}`)
}
