import Type, { type Static } from 'typebox'
import type { Context } from '../http/context.ts'
import { conflict, invalid, type Problem } from '../http/errors.ts'
import { listOf, listParameters, page } from '../http/list.ts'
import { plainOf, retrieveRoute } from '../http/plain-resource.ts'
import { type Exists, referenceProblem } from '../http/references.ts'
import { operations, type Route } from '../http/route.ts'
import { phoneForm, readPhone } from '../kernel/phone.ts'
import { filterText, input, oneOf } from '../kernel/schema.ts'
import type { Db, Store } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import {
  type Consent,
  consentSchema,
  createBody,
  purpose,
  revokeBody,
  STATUSES,
  statusOf,
  toConsent,
} from './schema.ts'
import { giveConsent, revokeConsent } from './standing.ts'
import { NO_EVIDENCE } from './tables.ts'

const api = operations('Consents', 'contacts')

interface ConsentDeps {
  store: Store
  now: () => Date
  settings: (db: Db, tenant: Tenant) => Promise<{ country: string | null }>
  callExists: Exists
}

const listQuery = input({
  ...listParameters,
  phone: filterText(50, 'E.164.'),
  purpose: Type.Optional(purpose),
  status: Type.Optional(oneOf([...STATUSES])),
})

/** Routes of consents. Records are never deleted, since they prove that something was allowed. */
export function consentRoutes(deps: ConsentDeps): Route[] {
  const { store, now } = deps
  const plain = plainOf({ store, table: 'consents', api, reply: consentSchema, toObject: row => toConsent(row, now()) })
  return [
    api.post({
      path: plain.path,
      id: 'createConsent',
      summary: 'Record a consent',
      description:
        'An earlier consent of the same number for the same purpose becomes `replaced`. Fields that are not sent get their defaults.',
      body: createBody,
      status: 201,
      errors: [409],
      reply: consentSchema,
      handler: (context, { body }) => create(deps, context, body),
    }),
    api.get({
      path: plain.path,
      id: 'listConsents',
      summary: 'List consents',
      query: listQuery,
      reply: listOf(consentSchema),
      handler: (context, { query }) => {
        const rows = matching(store.db, context, query, now().toISOString())
        return page(rows, query, '/v1/consents', row => toConsent(row, now()))
      },
    }),
    retrieveRoute(plain),
    api.post({
      path: '/consents/:id/revoke',
      id: 'revokeConsent',
      summary: 'Revoke a consent',
      description:
        'It is invalid from now on. A `record` consent: what is kept of a running call because of it ends. 409 if it is not valid.',
      body: revokeBody,
      errors: [409],
      reply: consentSchema,
      handler: (context, { params, body }) => revoke(deps, context, params.id, body),
    }),
  ]
}

function matching(
  db: Db,
  tenant: Tenant,
  { phone, purpose, status }: Pick<Static<typeof listQuery>, 'phone' | 'purpose' | 'status'>,
  at: string,
) {
  let rows = forTenant(db, tenant).select('consents').selectAll()
  if (phone !== undefined) rows = rows.where('phone', '=', phone)
  if (purpose !== undefined) rows = rows.where('purpose', '=', purpose)
  if (status === 'revoked') rows = rows.where('revoked_at', 'is not', null)
  if (status === 'replaced') rows = rows.where('replaced_at', 'is not', null)
  if (status === 'active' || status === 'expired') rows = rows.where('standing', 'is not', null)
  if (status === 'expired') rows = rows.where('expires_at', '<=', at)
  if (status === 'active') rows = rows.where(eb => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', at)]))
  return rows
}

async function create(
  deps: ConsentDeps,
  context: Context,
  body: Static<typeof createBody>,
): Promise<Consent | Problem> {
  const { store, now, settings, callExists } = deps
  const { country } = await settings(store.db, context)
  const phone = readPhone(body.phone, country)
  if (phone === null) return invalid('phone', `phone is not ${phoneForm(country)}.`)
  const { evidence } = body
  const unproven = evidenceProblem(evidence)
  if (unproven !== null) return unproven
  const call = { param: 'evidence.call_id', id: evidence.call_id, kind: 'call', exists: callExists }
  const unknown = await referenceProblem(store.db, context, [call])
  if (unknown !== null) return unknown
  const at = now().toISOString()
  const given_at = body.given_at === undefined ? at : new Date(body.given_at).toISOString()
  if (given_at > at) return invalid('given_at', 'given_at is in the future.')
  const expires_at = body.expires_at == null ? null : new Date(body.expires_at).toISOString()
  if (expires_at !== null && expires_at <= at) return invalid('expires_at', 'expires_at has passed.')
  const given = {
    ...{ phone, given_at, expires_at, purpose: body.purpose, metadata: body.metadata ?? {} },
    evidence: { ...NO_EVIDENCE, ...evidence },
  }
  return context.transaction(async trx => toConsent(await giveConsent(trx, context, given, { at }), new Date(at)))
}

function evidenceProblem({ type, call_id, offset_ms, url, text }: Static<typeof createBody>['evidence']) {
  const unfit = (param: string, message: string) => invalid(`evidence.${param}`, message)
  if (type === 'call') return call_id === undefined ? unfit('call_id', 'A call as evidence needs its ID.') : null
  if (call_id !== undefined) return unfit('call_id', `Evidence of type ${type} has no call.`)
  if (offset_ms !== undefined) return unfit('offset_ms', `Evidence of type ${type} has no offset_ms.`)
  return url === undefined && text === undefined ? unfit('url', `A ${type} as evidence needs url or text.`) : null
}

async function revoke(
  { store, now, callExists }: ConsentDeps,
  context: Context,
  id: string,
  { reason = '', call_id }: Static<typeof revokeBody>,
): Promise<Consent | Problem> {
  const call = { param: 'call_id', id: call_id, kind: 'call', exists: callExists }
  const unknown = await referenceProblem(store.db, context, [call])
  if (unknown !== null) return unknown
  return context.withRow('consents', 'consent', id, async (trx, row) => {
    const status = statusOf(row, now())
    if (status !== 'active') return conflict('consent_closed', `The consent is ${status}.`)
    const at = now().toISOString()
    const revoked = await revokeConsent(trx, context, row, { at, reason, callId: call_id ?? null })
    return toConsent(revoked, new Date(at))
  })
}
