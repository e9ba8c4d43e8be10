import Type, { type Static } from 'typebox'
import { input, nullable, partialInput, timestamp } from '../kernel/schema.ts'
import type { PartnerOrganisationRow } from '../kernel/store/tables.ts'
import { DEFAULT_LIMITS, limitsOf } from '../usage/allowance.ts'

const limits = {
  requests_per_second: nullable(
    Type.Integer({
      minimum: 1,
      maximum: 1000,
      description:
        'Of all its keys together, over all nodes; so many at once as in three seconds. Null: only those of each key.',
    }),
  ),
  concurrent_calls: nullable(
    Type.Integer({ minimum: 0, maximum: 100_000, description: 'In this mode. Null: no limit.' }),
  ),
  call_minutes_per_month: nullable(
    Type.Integer({
      minimum: 0,
      maximum: 1e9,
      description: 'Of calls that have ended, by months of UTC. Null: no limit.',
    }),
  ),
}
const name = Type.String({ minLength: 1, maxLength: 200 })

export const partnerOrganisationSchema = Type.Object({
  id: Type.String(),
  object: Type.Literal('partner_organisation'),
  livemode: Type.Boolean(),
  name,
  suspended: Type.Boolean({ description: 'Its requests and its calls are refused: `organisation_suspended`.' }),
  limits: Type.Object(limits, { description: 'What its plan allows.' }),
  created: timestamp(),
  updated: timestamp(),
})
export type PartnerOrganisation = Static<typeof partnerOrganisationSchema>

export const createBody = input({ name, limits: Type.Optional(partialInput(limits)) })
export const changeBody = input({ name: Type.Optional(name), limits: Type.Optional(partialInput(limits)) })

export const toPartnerOrganisation = (row: PartnerOrganisationRow): PartnerOrganisation => ({
  id: row.id,
  object: 'partner_organisation',
  livemode: row.livemode === 1,
  name: row.name,
  suspended: row.suspended === 1,
  limits: { ...DEFAULT_LIMITS, ...limitsOf(row) },
  created: row.created,
  updated: row.updated,
})
