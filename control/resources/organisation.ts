import type { Selectable } from 'kysely'
import Type, { type Static } from 'typebox'
import { problem } from '../http/errors.ts'
import { type Route, route } from '../http/route.ts'
import { input, timestamp } from '../http/schema.ts'
import { newId } from '../ids.ts'
import { newSecret } from '../secrets.ts'
import type { Db, Store } from '../store.ts'
import type { OrganisationTable } from '../tables.ts'
import type { Tenant } from '../tenancy.ts'

const pci = {
  enabled: Type.Boolean({ description: 'Card-payment pauses may be used.' }),
  mask_dtmf: Type.Boolean({ description: 'During a pause, keys reach the payment line and nobody else.' }),
  max_seconds: Type.Integer({ minimum: 1, maximum: 3600, description: 'The longest pause, and the default.' }),
}

export const organisationSchema = Type.Object({
  id: Type.String(),
  object: Type.Literal('organisation'),
  livemode: Type.Boolean(),
  name: Type.String(),
  timezone: Type.String(),
  pci: Type.Object(pci),
  stream_signing_secret: Type.String({ description: 'Verifies the signature of media stream upgrades in this mode.' }),
  created: timestamp(),
  updated: timestamp(),
})

const change = input({
  name: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
  timezone: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'A name of the IANA database.' })),
  pci: Type.Optional(
    input({
      enabled: Type.Optional(pci.enabled),
      mask_dtmf: Type.Optional(pci.mask_dtmf),
      max_seconds: Type.Optional(pci.max_seconds),
    }),
  ),
})

export function organisationRoutes(deps: { store: Store; now: () => Date }): Route[] {
  const { store, now } = deps
  return [
    route({
      method: 'GET',
      path: '/organisation',
      id: 'getOrganisation',
      summary: "Retrieve the key's organisation",
      tag: 'Organisation',
      scope: 'organisation:read',
      status: 200,
      reply: organisationSchema,
      handler: async context => toOrganisation(await organisationRow(store.db, context), context),
    }),
    route({
      method: 'PATCH',
      path: '/organisation',
      id: 'updateOrganisation',
      summary: 'Change the organisation',
      description: 'Changes what is sent. Settings hold for both modes.',
      tag: 'Organisation',
      scope: 'organisation:write',
      body: change,
      status: 200,
      reply: organisationSchema,
      handler: async (context, { body }) => {
        if (body.timezone !== undefined && !isTimezone(body.timezone)) {
          return problem('parameter_invalid', `There is no time zone ${body.timezone}.`, { param: 'timezone' })
        }
        const values = { ...toColumns(body), updated: now().toISOString() }
        await store.db.updateTable('organisations').set(values).where('id', '=', context.organisationId).execute()
        return toOrganisation(await organisationRow(store.db, context), context)
      },
    }),
  ]
}

/** What other resources may know of the organisation that a tenant is. */
export interface OrganisationSettings {
  name: string
  timezone: string
  pci: { enabled: boolean; maskDtmf: boolean; maxSeconds: number }
  /** `whsec_…` of the tenant's mode. */
  streamSigningSecret: string
}

export async function organisationSettings(db: Db, tenant: Tenant): Promise<OrganisationSettings> {
  const row = await organisationRow(db, tenant)
  return {
    name: row.name,
    timezone: row.timezone,
    pci: { enabled: row.pci_enabled === 1, maskDtmf: row.pci_mask_dtmf === 1, maxSeconds: row.pci_max_seconds },
    streamSigningSecret: tenant.livemode ? row.live_stream_secret : row.test_stream_secret,
  }
}

/** Stores a new organisation with the settings that all begin with; returns its ID. */
export async function insertOrganisation(
  db: Db,
  organisation: { name: string; pciEnabled: boolean; now: Date },
): Promise<string> {
  const id = newId('organisation')
  const at = organisation.now.toISOString()
  await db
    .insertInto('organisations')
    .values({
      id,
      name: organisation.name,
      timezone: 'UTC',
      pci_enabled: organisation.pciEnabled ? 1 : 0,
      pci_mask_dtmf: 1,
      pci_max_seconds: 300,
      live_stream_secret: newSigningSecret(),
      test_stream_secret: newSigningSecret(),
      created: at,
      updated: at,
    })
    .execute()
  return id
}

/** Standard Webhooks: `whsec_` and the base64 of the key. */
const newSigningSecret = (): string => `whsec_${Buffer.from(newSecret('').slice(1), 'base64url').toString('base64')}`

const organisationRow = (db: Db, tenant: Tenant): Promise<Selectable<OrganisationTable>> =>
  db.selectFrom('organisations').selectAll().where('id', '=', tenant.organisationId).executeTakeFirstOrThrow()

function toColumns(body: Static<typeof change>): Partial<OrganisationTable> {
  const flag = (value: boolean | undefined): number | undefined => (value === undefined ? undefined : Number(value))
  return {
    name: body.name,
    timezone: body.timezone,
    pci_enabled: flag(body.pci?.enabled),
    pci_mask_dtmf: flag(body.pci?.mask_dtmf),
    pci_max_seconds: body.pci?.max_seconds,
  }
}

function isTimezone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}

const toOrganisation = (row: Selectable<OrganisationTable>, tenant: Tenant): Static<typeof organisationSchema> => ({
  id: row.id,
  object: 'organisation',
  livemode: tenant.livemode,
  name: row.name,
  timezone: row.timezone,
  pci: { enabled: row.pci_enabled === 1, mask_dtmf: row.pci_mask_dtmf === 1, max_seconds: row.pci_max_seconds },
  stream_signing_secret: tenant.livemode ? row.live_stream_secret : row.test_stream_secret,
  created: row.created,
  updated: row.updated,
})
