import Type, { type Static } from 'typebox'
import { storedSettings } from '../http/merge.ts'
import { apiObject, input, nullable, objectName, oneOf, partialInput, timestamp } from '../kernel/schema.ts'
import { showRow } from '../kernel/show-row.ts'
import type { SiteRow } from './tables.ts'

const shown = (description: string) => oneOf(['hidden', 'optional', 'required'], { description })

const fields = {
  name: shown("The visitor's name."),
  message: shown('Subject of the request; it becomes a note of the callback.'),
}
const plain = {
  origins: Type.Array(Type.String({ minLength: 1, maxLength: 300 }), {
    minItems: 1,
    maxItems: 20,
    description: 'Websites that may show the form: scheme, host and port; http for localhost only.',
  }),
  language: nullable(
    oneOf(['en', 'he'], { description: "Language of the form's own texts; null: that of the page, else `en`." }),
  ),
}
const name = objectName()
const active = Type.Boolean({ description: 'A site that is switched off accepts no requests.' })
const queueId = nullable(
  Type.String({
    maxLength: 200,
    description: "The queue whose `callbacks` settings apply; null: the organisation's settings.",
  }),
)

export const siteSchema = apiObject('site', {
  name,
  active,
  queue_id: queueId,
  ...plain,
  fields: Type.Object(fields, { description: 'What the form asks besides the phone number.' }),
  script_url: Type.String({
    description: "Script that shows the form on a page, loaded with this site's ID as `data-site`.",
  }),
  created: timestamp(),
  updated: timestamp(),
})
export type Site = Static<typeof siteSchema>
type SiteSettings = Pick<Site, 'origins' | 'language' | 'fields'>

export const DEFAULT_SETTINGS: SiteSettings = {
  origins: [],
  language: null,
  fields: { name: 'optional', message: 'optional' },
}

export const createBody = input({
  name,
  origins: plain.origins,
  ...partialInput({ active, queue_id: queueId, language: plain.language, fields: partialInput(fields) }).properties,
})
export const changeBody = partialInput({ name, active, queue_id: queueId, ...plain, fields: partialInput(fields) })

export const settingsOf = (row: Pick<SiteRow, 'settings'>): SiteSettings =>
  storedSettings(DEFAULT_SETTINGS, row.settings)

export const toSite = (row: SiteRow, publicUrl: string): Site =>
  showRow(siteSchema, row, { ...settingsOf(row), script_url: `${publicUrl}/sites/form.js` })

/** What the form's script sends. */
export const requestBody = input({
  phone: Type.String({ minLength: 1, maxLength: 50 }),
  name: Type.Optional(Type.String({ maxLength: 200 })),
  message: Type.Optional(Type.String({ maxLength: 2000 })),
  /** An invisible field: whoever fills it in is a bot. */
  website: Type.Optional(Type.String({ maxLength: 200 })),
  page: Type.String({ minLength: 1, maxLength: 2000 }),
  language: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9-]{1,35}$' })),
  challenge: Type.String({ minLength: 1, maxLength: 500 }),
  solution: Type.Integer({ minimum: 0, maximum: 2_147_483_647 }),
})
export type SiteRequest = Static<typeof requestBody>
