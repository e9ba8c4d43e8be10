import type { Static } from 'typebox'
import type { Context } from '../http/context.ts'
import { conflict, type Problem } from '../http/errors.ts'
import type { NounParts } from '../http/noun.ts'
import { listRoute, plainOf, retrieveRoute } from '../http/plain-resource.ts'
import { operations, type Route } from '../http/route.ts'
import { forgetWith } from '../http/wire/known-keys.ts'
import { endStreamsOfAll } from '../http/wire/open-streams.ts'
import { appendEvent } from '../kernel/events/log.ts'
import { newSecret } from '../kernel/secrets.ts'
import { rowBy } from '../kernel/store/compiled.ts'
import type { Trx } from '../kernel/store/store.ts'
import type { PartnerOrganisationRow } from '../kernel/store/tables.ts'
import { forTenant, ownedBy } from '../kernel/tenancy.ts'
import { apiKeyWithSecret, insertApiKey, toApiKey } from '../organisation/api-key-routes.ts'
import { insertOrganisation } from '../organisation/routes.ts'
import {
  DEFAULT_LIMITS,
  limitsOf,
  type PartnerOrganisation,
  partnerOrganisationSchema,
  toPartnerOrganisation,
} from '../usage/client.ts'
import { changeBody, createBody } from './schema.ts'

const api = operations('Partners', 'partners')

const PATH = '/partner/organisations'

/** Routes of the organisations that a partner has created and manages. */
export function partnerRoutes(deps: NounParts): Route[] {
  const plain = plainOf({
    store: deps.store,
    table: 'partner_organisations',
    path: PATH,
    api,
    reply: partnerOrganisationSchema,
    toObject: toPartnerOrganisation,
  })
  return [
    api.post({
      path: PATH,
      id: 'createPartnerOrganisation',
      summary: "Create a client's organisation",
      description:
        'An organisation like any other, managed by yours: you create its keys, set its limits, suspend it and hand it over. Its objects are visible with its own keys, and with yours if the request has its ID in the header `Service-Account`. 409 if another organisation manages yours.',
      body: createBody,
      status: 201,
      errors: [409],
      reply: partnerOrganisationSchema,
      handler: (context, { body }) => create(deps, context, body),
    }),
    listRoute(plain),
    retrieveRoute(plain),
    api.patch({
      path: `${PATH}/:id`,
      id: 'updatePartnerOrganisation',
      summary: "Change the name or the limits of a client's organisation",
      description: 'Updates the fields sent. Limits take effect within a second on every node.',
      body: changeBody,
      reply: partnerOrganisationSchema,
      handler: (context, { params, body }) => change(deps, context, params.id, body),
    }),
    ...([true, false] as const).map(suspended =>
      api.post({
        path: `${PATH}/:id/${suspended ? 'suspend' : 'resume'}`,
        id: suspended ? 'suspendPartnerOrganisation' : 'resumePartnerOrganisation',
        summary: suspended ? "Suspend a client's organisation" : "Resume a client's organisation",
        description: suspended
          ? 'Its requests are answered 403 `organisation_suspended` and new calls are refused, on other nodes within a second; its event streams end. Running calls continue. 409 if it is already suspended.'
          : 'Its keys and calls work again. 409 if it is not suspended.',
        errors: [409],
        reply: partnerOrganisationSchema,
        handler: (context, { params }) => suspend(deps, context, params.id, suspended),
      }),
    ),
    api.post({
      path: `${PATH}/:id/hand_over`,
      id: 'handOverPartnerOrganisation',
      summary: 'Hand an organisation over to its client',
      description:
        'From now on it is independent, without your limits. All its keys in this mode are revoked. The key in the answer is for the client, who can create others with it.',
      reply: apiKeyWithSecret,
      errors: [409],
      handler: (context, { params }) => handOver(deps, context, params.id),
    }),
  ]
}

async function create(
  { now }: NounParts,
  context: Context,
  { name, limits }: Static<typeof createBody>,
): Promise<PartnerOrganisation | Problem> {
  const at = now()
  return context.transaction(async trx => {
    // The limits of its plan would not apply to the organisations that it creates.
    if ((await rowBy(trx, 'partner_organisations', { id: context.organisationId })) !== undefined) {
      return conflict(
        'run_by_partner',
        'An organisation that another one manages cannot create organisations. It must be handed over first.',
      )
    }
    const id = await insertOrganisation(trx, { name, pciEnabled: false, now: at })
    const row = {
      id,
      name,
      suspended: 0,
      limits: JSON.stringify({ ...DEFAULT_LIMITS, ...limits }),
      limits_reached: null,
      created: at.toISOString(),
      updated: at.toISOString(),
    }
    await forTenant(trx, context).insert('partner_organisations', row)
    const full = { ...row, ...ownedBy(context) }
    return tell(trx, context, 'created', full, row.created)
  })
}

const change = (
  { store, now }: NounParts,
  context: Context,
  id: string,
  { name, limits }: Static<typeof changeBody>,
): Promise<PartnerOrganisation | Problem> =>
  context.withRow('partner_organisations', 'partner_organisation', id, async (trx, row) => {
    const changed = {
      name: name ?? row.name,
      limits: JSON.stringify({ ...limitsOf(row), ...limits }),
      updated: now().toISOString(),
    }
    await forTenant(trx, context).change('partner_organisations', id, changed)
    // What it calls itself, also in its mails.
    await trx.updateTable('organisations').set({ name: changed.name }).where('id', '=', id).execute()
    forgetWith(trx, store, id)
    return toPartnerOrganisation({ ...row, ...changed })
  })

const suspend = (
  { store, now }: NounParts,
  context: Context,
  id: string,
  isOn: boolean,
): Promise<PartnerOrganisation | Problem> =>
  context.withRow('partner_organisations', 'partner_organisation', id, async (trx, row) => {
    if ((row.suspended === 1) === isOn) {
      return conflict(
        isOn ? 'suspended' : 'not_suspended',
        `The organisation is ${isOn ? 'already' : 'not'} suspended.`,
      )
    }
    const changed = { suspended: isOn ? 1 : 0, updated: now().toISOString() }
    await forTenant(trx, context).change('partner_organisations', id, changed)
    forgetWith(trx, store, id)
    if (isOn) await endStreamsOfAll(trx, id)
    return tell(trx, context, isOn ? 'suspended' : 'resumed', { ...row, ...changed }, changed.updated)
  })

const handOver = ({ store, now }: NounParts, context: Context, id: string) =>
  context.withRow('partner_organisations', 'partner_organisation', id, async (trx, row) => {
    if (row.suspended === 1) return conflict('suspended', 'The organisation is suspended: resume it first.')
    const client = { organisationId: id, livemode: context.livemode }
    await endStreamsOfAll(trx, id)
    await forTenant(trx, client).delete('api_keys').execute()
    await forTenant(trx, context).delete('partner_organisations').where('id', '=', id).execute()
    forgetWith(trx, store, id)
    const secret = newSecret(context.livemode ? 'sk_live' : 'sk_test')
    const key = { name: 'Handed over', secret, scopes: null, expiresAt: null, now: now() }
    const made = await forTenant(trx, client).find('api_keys', await insertApiKey(trx, client, key))
    await tell(trx, context, 'handed_over', row, now().toISOString())
    return { ...toApiKey(made!), secret }
  })

async function tell(
  trx: Trx,
  context: Context,
  what: 'created' | 'suspended' | 'resumed' | 'handed_over',
  row: PartnerOrganisationRow,
  at: string,
): Promise<PartnerOrganisation> {
  const object = toPartnerOrganisation(row)
  await appendEvent(trx, context, { type: `partner.organisation.${what}`, at, object })
  return object
}
