import type { Selectable, Updateable } from 'kysely'
import { isSupportedCountry } from 'libphonenumber-js'
import Type, { type Static } from 'typebox'
import { captureFields, captureOf, changedCapture } from '../capture-settings/settings.ts'
import type { StreamsProblem } from '../capture-settings/streams-problem.ts'
import { invalid, isProblem, type Problem } from '../http/errors.ts'
import { operations, type Route } from '../http/route.ts'
import { newId } from '../kernel/ids.ts'
import { apiObject, input, nullable, objectName, oneOf, partialInput, timestamp } from '../kernel/schema.ts'
import { newSecret } from '../kernel/secrets.ts'
import { showRow } from '../kernel/show-row.ts'
import { type Place, rowOf } from '../kernel/store/compiled.ts'
import type { Db, Store } from '../kernel/store/store.ts'
import type { OrganisationTable } from '../kernel/store/tables.ts'
import type { Tenant } from '../kernel/tenancy.ts'
import type { BusinessHours, OpeningHours } from './business-hours.ts'
import {
  businessHours,
  type CallbackSettings,
  callbackSettings,
  changedHours,
  DEFAULT_CALLBACK_SETTINGS,
} from './hours-schema.ts'
import type { PciOf, PciSettings } from './pci.ts'
import {
  addedQueuesProblem,
  changedQuality,
  qualityChange,
  qualityFields,
  qualityOf,
  qualityProblem,
} from './quality.ts'
import { redactionFields, redactionOf, redactionProblem } from './redaction/settings.ts'
import { retentionOf } from './retention.ts'

const api = operations('Organisation', 'organisation')

const pci = {
  enabled: Type.Boolean({ description: 'Card-payment pauses are allowed.' }),
  mask_dtmf: Type.Boolean({
    description:
      'During a pause, keys reach only the payment line. All others hear voices without the frequencies of keypads.',
  }),
  max_seconds: Type.Integer({ minimum: 1, maximum: 3600, description: 'Maximum length of a pause, and the default.' }),
  payment_numbers_only: Type.Boolean({
    description:
      'During a pause, keys reach only payment numbers (`payment_line`); flows connect paying callers only to these.',
  }),
}

const country = nullable(
  Type.String({ pattern: '^[A-Z]{2}$', description: 'Country of local phone numbers; null: E.164 only.' }),
)

const days = (of: string) =>
  nullable(Type.Integer({ minimum: 1, maximum: 36_500, description: `${of}. Days; null: kept until deleted.` }))
const retention = {
  recordings_days: days('Recordings'),
  transcripts_days: days('Transcripts, turns of assistants and flows, what copilots heard, and texts of phones'),
  voicemails_days: days('Voicemails'),
  calls_days: days('Calls, from their end; callbacks, from when they were closed; and all events'),
  summaries_days: days('Summaries'),
  evaluations_days: days('Evaluations'),
  campaign_contacts_days: days('Contacts of campaigns, since their campaign was stopped, completed or archived'),
}

const requireConsent = Type.Array(oneOf(['call', 'record']), {
  uniqueItems: true,
  maxItems: 2,
  description:
    'What requires a valid consent (`/consents`). `call`: POST /calls and campaigns to a number. `record`: recordings, transcripts and streams (docs/contacts.md).',
})

const organisationSchema = apiObject('organisation', {
  name: Type.String(),
  timezone: Type.String(),
  country,
  business_hours: nullable(Type.Object(businessHours, { description: 'Null: always open.' })),
  callbacks: Type.Object(callbackSettings),
  pci: Type.Object(pci),
  ...captureFields,
  retention: Type.Object(retention, {
    description: 'How long records of calls, and contacts of campaigns, are kept before they are deleted.',
  }),
  redaction: Type.Object(redactionFields, {
    description: 'What is removed from speech before it is stored, sent anywhere or shown to a model.',
  }),
  ...qualityFields,
  require_consent: requireConsent,
  encrypt_recordings: Type.Boolean({ description: 'Recordings and voicemails are encrypted on disk.' }),
  stream_signing_secret: Type.String({
    description: 'Secret for verifying the signature of media stream upgrades in this mode.',
  }),
  created: timestamp(),
  updated: timestamp(),
})

const change = input({
  name: Type.Optional(objectName()),
  timezone: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'IANA time zone.' })),
  country: Type.Optional(country),
  business_hours: Type.Optional(nullable(partialInput(businessHours))),
  callbacks: Type.Optional(partialInput(callbackSettings)),
  pci: Type.Optional(partialInput(pci)),
  ...partialInput(captureFields).properties,
  retention: Type.Optional(partialInput(retention)),
  redaction: Type.Optional(partialInput(redactionFields)),
  ...qualityChange,
  require_consent: Type.Optional(requireConsent),
  encrypt_recordings: Type.Optional(Type.Boolean()),
})

export function organisationRoutes(deps: { store: Store; now: () => Date; streamsProblem: StreamsProblem }): Route[] {
  const { store, now } = deps
  return [
    api.get({
      path: '/organisation',
      id: 'getOrganisation',
      summary: "Retrieve the key's organisation",
      reply: organisationSchema,
      handler: async context => toOrganisation(await organisationRow(store.db, context), context),
    }),
    api.patch({
      path: '/organisation',
      id: 'updateOrganisation',
      summary: 'Change the organisation',
      description: 'Updates the fields sent. Settings apply to both modes.',
      body: change,
      reply: organisationSchema,
      handler: async (context, { body }) => {
        const unfit = await deps.streamsProblem(body.streams)
        if (unfit !== null) return unfit
        const unsafe = redactionProblem(body.redaction) ?? qualityProblem(body)
        if (unsafe !== null) return unsafe
        if (body.timezone !== undefined && !isTimezone(body.timezone)) {
          return invalid('timezone', `There is no time zone ${body.timezone}.`)
        }
        if (typeof body.country === 'string' && !isSupportedCountry(body.country)) {
          return invalid('country', `There is no country ${body.country}.`)
        }
        return store.transaction(async trx => {
          const row = await organisationRow(trx, context)
          const documents = (await addedQueuesProblem(trx, context, row.quality, body)) ?? toDocuments(row, body)
          if (isProblem(documents)) return documents
          const values = { ...toColumns(body), ...documents, updated: now().toISOString() }
          await trx.updateTable('organisations').set(values).where('id', '=', context.organisationId).execute()
          const name = body.name ?? row.name
          await trx.updateTable('partner_organisations').set({ name }).where('id', '=', row.id).execute()
          return toOrganisation(await organisationRow(trx, context), context)
        })
      },
    }),
  ]
}

/** The organisation's data that other resources may use. */
interface OrganisationSettings {
  name: string
  timezone: string
  pci: PciSettings
  /** `whsec_…` of the tenant's mode. */
  streamSigningSecret: string
  country: string | null
  businessHours: BusinessHours
  callbacks: CallbackSettings
}

export const pciSettings: PciOf = async (db, tenant) => (await organisationSettings(db, tenant)).pci

export async function organisationSettings(db: Db, tenant: Tenant): Promise<OrganisationSettings> {
  const row = await organisationRow(db, tenant)
  return {
    name: row.name,
    timezone: row.timezone,
    pci: {
      enabled: row.pci_enabled === 1,
      maskDtmf: row.pci_mask_dtmf === 1,
      maxSeconds: row.pci_max_seconds,
      numbersOnly: row.pci_numbers_only === 1,
    },
    streamSigningSecret: tenant.livemode ? row.live_stream_secret : row.test_stream_secret,
    country: row.country,
    businessHours: { hours: hoursOf(row), timezone: row.timezone },
    callbacks: callbacksOf(row),
  }
}

type Row = Selectable<OrganisationTable>

const hoursOf = (row: Row): OpeningHours | null => (row.business_hours === null ? null : JSON.parse(row.business_hours))

const callbacksOf = (row: Row): CallbackSettings => ({
  ...DEFAULT_CALLBACK_SETTINGS,
  ...(row.callbacks === null ? {} : JSON.parse(row.callbacks)),
})

/** The columns that hold JSON, as far as a change touches them. */
function toDocuments(row: Row, body: Static<typeof change>): Partial<Row> | Problem {
  const documents: Partial<Row> = {
    capture: changedCapture(row.capture, body),
    quality: changedQuality(row.quality, body),
    ...(body.redaction && { redaction: JSON.stringify({ ...redactionOf(row.redaction), ...body.redaction }) }),
    ...(body.retention && { retention: JSON.stringify({ ...retentionOf(row.retention), ...body.retention }) }),
  }
  if (body.callbacks !== undefined) documents.callbacks = JSON.stringify({ ...callbacksOf(row), ...body.callbacks })
  if (body.business_hours === undefined) return documents
  const hours = changedHours(hoursOf(row), body.business_hours)
  if (isProblem(hours)) return hours
  return { ...documents, business_hours: hours === null ? null : JSON.stringify(hours) }
}

/** Stores a new organisation with default settings; returns its ID. */
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
      capture: null,
      retention: null,
      live_stream_secret: newSigningSecret(),
      test_stream_secret: newSigningSecret(),
      created: at,
      updated: at,
    })
    .execute()
  return id
}

/** A secret in the form of Standard Webhooks: `whsec_` and the base64 of the key. */
const newSigningSecret = (): string => `whsec_${Buffer.from(newSecret('').slice(1), 'base64url').toString('base64')}`

async function organisationRow(db: Db, { organisationId: id }: Tenant): Promise<Row> {
  const build = (place: Place) => db.selectFrom('organisations').selectAll().where('id', '=', place('id'))
  const row = await rowOf(db, 'organisation', build, { id })
  if (row === undefined) throw new Error(`no such organisation: ${id}`)
  return row
}

function toColumns(body: Static<typeof change>): Updateable<OrganisationTable> {
  const flag = (value: boolean | undefined): number | undefined => (value === undefined ? undefined : Number(value))
  return {
    name: body.name,
    timezone: body.timezone,
    country: body.country,
    ...(body.require_consent && { require_consent: JSON.stringify(body.require_consent) }),
    encrypt_recordings: flag(body.encrypt_recordings),
    pci_enabled: flag(body.pci?.enabled),
    pci_mask_dtmf: flag(body.pci?.mask_dtmf),
    pci_max_seconds: body.pci?.max_seconds,
    pci_numbers_only: flag(body.pci?.payment_numbers_only),
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

const toOrganisation = (row: Row, tenant: Tenant): Static<typeof organisationSchema> =>
  showRow(organisationSchema, row, {
    livemode: tenant.livemode,
    business_hours: hoursOf(row),
    callbacks: callbacksOf(row),
    pci: {
      enabled: row.pci_enabled === 1,
      mask_dtmf: row.pci_mask_dtmf === 1,
      max_seconds: row.pci_max_seconds,
      payment_numbers_only: row.pci_numbers_only === 1,
    },
    ...captureOf(row.capture),
    retention: retentionOf(row.retention),
    redaction: redactionOf(row.redaction),
    ...qualityOf(row.quality),
    require_consent: row.require_consent === null ? [] : JSON.parse(row.require_consent),
    stream_signing_secret: tenant.livemode ? row.live_stream_secret : row.test_stream_secret,
  })
