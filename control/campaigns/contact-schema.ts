import Type, { type Static } from 'typebox'
import { ANSWERED_BY } from '../calls/answering/schema.ts'
import { listParameters } from '../http/list.ts'
import { apiObject, filterText, idParams, input, metadata, nullable, oneOf, timestamp } from '../kernel/schema.ts'
import { showRow } from '../kernel/show-row.ts'
import { ATTEMPT_RESULTS } from './outcomes.ts'
import { CONTACT_STATUSES } from './states.ts'
import type { AttemptRow, ContactRow } from './tables.ts'

/** Maximum number of contacts in one request. */
const MAX_CONTACTS = 5000

export const MAX_NAME = 200
/** Maximum number of metadata pairs of a contact, and maximum lengths of key and value [characters]. */
export const MAX_METADATA = { pairs: 48, key: 40, value: 500 }

const name = Type.String({ maxLength: MAX_NAME })
const timezone = Type.String({ minLength: 1, maxLength: 64, description: 'IANA name, for example Europe/Paris.' })
/** A campaign's call adds two pairs, and together they must not exceed what a call may have. */
const ownMetadata = {
  ...metadata,
  maxProperties: MAX_METADATA.pairs,
  description: "Up to 48 pairs of your own. The contact's calls get them too.",
}

export const contactSchema = apiObject('campaign_contact', {
  campaign_id: Type.String(),
  phone: Type.String({ description: 'E.164.' }),
  name,
  timezone: nullable(timezone),
  metadata: ownMetadata,
  status: oneOf([...CONTACT_STATUSES], {
    description:
      'completed: somebody was reached, or a message was left. failed: nobody was reached, and no attempt is left. excluded: it must not be called.',
  }),
  attempts: Type.Integer(),
  next_attempt_at: nullable(timestamp('Not before then.')),
  last_attempt_at: nullable(timestamp()),
  last_result: nullable(oneOf([...ATTEMPT_RESULTS])),
  call_id: nullable(Type.String({ description: 'The call in progress.' })),
  claimed_by: nullable(
    Type.String({ description: 'The agent who is looking at it, until `claimed_until` (`preview`).' }),
  ),
  claimed_until: nullable(timestamp()),
  skip_reason: nullable(Type.String({ description: 'Why an agent skipped it.' })),
  created: timestamp(),
  updated: timestamp(),
})
export type CampaignContact = Static<typeof contactSchema>

const newContact = input({
  phone: Type.String({
    minLength: 1,
    maxLength: 50,
    description: "E.164, or the local form of the organisation's country.",
  }),
  name: Type.Optional(name),
  timezone: Type.Optional(timezone),
  not_before: Type.Optional(Type.String({ format: 'date-time', description: 'It is not called before this time.' })),
  metadata: Type.Optional(ownMetadata),
})
export type NewContact = Static<typeof newContact>

export const addBody = input({ contacts: Type.Array(newContact, { minItems: 1, maxItems: MAX_CONTACTS }) })

export const addedSchema = Type.Object({
  object: Type.Literal('campaign_contacts_added'),
  livemode: Type.Boolean(),
  campaign_id: Type.String(),
  added: Type.Integer(),
  duplicates: Type.Integer({ description: 'Contacts whose number is already in the campaign, or was sent twice.' }),
  errors: Type.Array(
    Type.Object({
      index: Type.Integer({ description: 'Index in `contacts`, from 0.' }),
      param: Type.String(),
      message: Type.String(),
    }),
    { description: 'Contacts that were not added.' },
  ),
})
export type ContactsAdded = Static<typeof addedSchema>

export const contactListQuery = input({
  ...listParameters,
  status: Type.Optional(oneOf([...CONTACT_STATUSES])),
  phone: filterText(50, 'E.164.'),
})

export const contactParams = Type.Object({ ...idParams.properties, contact_id: idParams.properties.id })

export const toContact = (row: ContactRow): CampaignContact => showRow(contactSchema, row)

export const attemptSchema = apiObject('campaign_attempt', {
  campaign_id: Type.String(),
  contact_id: Type.String(),
  phone: Type.String({
    description: 'E.164. Empty once the contact is deleted and a week has passed since the call.',
  }),
  from: nullable(Type.String({ description: 'From `caller_ids`; null: as the connection says.' })),
  number: Type.Integer({ description: 'The first attempt of a contact is 1.' }),
  call_id: Type.String(),
  user_id: nullable(Type.String({ description: 'The agent who requested it (`preview`).' })),
  result: nullable(oneOf([...ATTEMPT_RESULTS], { description: 'Null: in progress.' })),
  started_at: timestamp(),
  answered_at: nullable(timestamp()),
  answered_by: nullable(
    oneOf([...ANSWERED_BY], {
      description: 'Result of `answering_machine_detection`; null: not known, or no detection.',
    }),
  ),
  ended_at: nullable(timestamp()),
})
type CampaignAttempt = Static<typeof attemptSchema>

export const attemptListQuery = input({
  ...listParameters,
  result: Type.Optional(oneOf([...ATTEMPT_RESULTS])),
  contact_id: Type.Optional(Type.String({ maxLength: 200 })),
})

export const toAttempt = (row: AttemptRow): CampaignAttempt => showRow(attemptSchema, row, { from: row.from_number })
