import Type, { type Static } from 'typebox'
import type { Context } from '../http/context.ts'
import { invalid, isProblem, type Problem } from '../http/errors.ts'
import { listParameters } from '../http/list.ts'
import { deleteRoute, listRoute, plainOf, retrieveRoute } from '../http/plain-resource.ts'
import { operations, type Route } from '../http/route.ts'
import { CSV_START, csvRecord } from '../kernel/csv.ts'
import { appendEvent } from '../kernel/events/log.ts'
import { paged } from '../kernel/paged.ts'
import { phoneForm, readPhone } from '../kernel/phone.ts'
import { filterText, input, oneOf } from '../kernel/schema.ts'
import type { Db, Store } from '../kernel/store/store.ts'
import type { Tenant } from '../kernel/tenancy.ts'
import { listedAs } from '../trunks/do-not-call.ts'
import { listNumber, wholeList } from './list.ts'
import { checkBody, checkReply, createBody, doNotCallSchema, toDoNotCallNumber } from './schema.ts'

const api = operations('Do-not-call list', 'callbacks')

interface DoNotCallDeps {
  store: Store
  now: () => Date
  settings: (db: Db, tenant: Tenant) => Promise<{ country: string | null }>
}

const listQuery = input({
  ...listParameters,
  phone: filterText(50, 'E.164: finds the entry of exactly this number.'),
  source: Type.Optional(oneOf(['api', 'import', 'call'])),
})

/** The do-not-call list: its numbers are neither called nor booked for a callback. */
export function doNotCallRoutes(deps: DoNotCallDeps): Route[] {
  const { store, now } = deps
  const plain = plainOf({ store, table: 'do_not_call', api, reply: doNotCallSchema, toObject: toDoNotCallNumber })
  return [
    api.post({
      path: plain.path,
      id: 'createDoNotCallNumber',
      summary: 'Put a number on the do-not-call list',
      description:
        'An open callback to it is cancelled, unless it is on a call. From now on, calls and callbacks to it answer 403. If the number is already listed, the existing entry is returned, and only a later `expires_at` changes it.',
      body: createBody,
      reply: doNotCallSchema,
      errors: [409],
      handler: (context, { body }) => put(deps, context, body),
    }),
    api.post({
      path: `${plain.path}/check`,
      id: 'checkDoNotCallNumbers',
      summary: 'Check which numbers are on the do-not-call list',
      description: 'Whether each is listed by itself or by a pattern. Nothing is changed.',
      scope: 'callbacks:read',
      body: checkBody,
      reply: checkReply,
      handler: (context, { body }) => check(deps, context, body.phones),
    }),
    listRoute(plain, { summary: 'List the numbers of the do-not-call list', query: listQuery }),
    api.get({
      path: `${plain.path}/export`,
      id: 'exportDoNotCallNumbers',
      summary: 'Download the do-not-call list',
      description: 'The whole list as CSV (RFC 4180, UTF-8), oldest first.',
      reply: Type.String(),
      rawType: 'text/csv',
      handler: async context => ({
        raw: paged(csvOf(store.db, context)),
        status: 200,
        headers: {
          'content-type': 'text/csv; charset=utf-8',
          'content-disposition': 'attachment; filename="do-not-call.csv"',
        },
      }),
    }),
    retrieveRoute(plain),
    deleteRoute(plain, {
      description: 'The number can be called again. Cancelled callbacks stay cancelled.',
      before: async (trx, context, row) => {
        const object = toDoNotCallNumber(row)
        const at = now().toISOString()
        await appendEvent(trx, context, { type: 'do_not_call_number.deleted', at, object })
        return null
      },
    }),
  ]
}

const PATTERN = /^\+[1-9][0-9]{0,13}\*$/

/** A number in E.164, or a pattern as it is. */
export const readListed = (text: string, country: string | null): string | null =>
  text.trim().endsWith('*') ? (PATTERN.exec(text.trim())?.[0] ?? null) : readPhone(text, country)

async function put({ store, now, settings }: DoNotCallDeps, context: Context, body: Static<typeof createBody>) {
  const { country } = await settings(store.db, context)
  const phone = readListed(body.phone, country)
  if (phone === null) {
    return invalid('phone', `phone is neither ${phoneForm(country)}, nor a prefix in E.164 that ends in \`*\`.`)
  }
  const at = now().toISOString()
  const expires_at = body.expires_at == null ? null : new Date(body.expires_at).toISOString()
  if (expires_at !== null && expires_at <= at) return invalid('expires_at', 'expires_at has passed.')
  return context.transaction(async trx => {
    const listing = { phone, reason: body.reason ?? '', expires_at }
    return toDoNotCallNumber(await listNumber(trx, context, listing, { at, source: 'api' }))
  })
}

async function check(
  { store, settings }: DoNotCallDeps,
  context: Context,
  texts: string[],
): Promise<Static<typeof checkReply> | Problem> {
  const { country } = await settings(store.db, context)
  const phones = texts.map((text, i) => {
    const message = `phones[${i}] is not ${phoneForm(country)}.`
    return readPhone(text, country) ?? invalid(`phones[${i}]`, message)
  })
  const results = []
  for (const phone of phones) {
    if (isProblem(phone)) return phone
    const row = await listedAs(store.db, context, phone as string)
    const number = row === undefined ? null : toDoNotCallNumber(row)
    results.push({ phone: phone as string, listed: number !== null, number })
  }
  return { object: 'do_not_call_check', livemode: context.livemode, results }
}

async function* csvOf(db: Db, tenant: Tenant): AsyncGenerator<string> {
  yield CSV_START + csvRecord(['phone', 'reason', 'source', 'call_id', 'import_id', 'expires_at', 'created'])
  for await (const rows of wholeList(db, tenant)) {
    yield rows
      .map(row => [row.phone, row.reason, row.source, row.call_id, row.import_id, row.expires_at, row.created])
      .map(cells => csvRecord(cells.map(cell => cell ?? '')))
      .join('')
  }
}
