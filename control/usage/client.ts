import Type, { type Static } from 'typebox'
import { apiObject, nullable, objectName, timestamp } from '../kernel/schema.ts'
import { showRow } from '../kernel/show-row.ts'
import type { PartnerOrganisationRow } from '../kernel/store/tables.ts'

/** Limits of a plan; null: no limit. */
export const limitSchemas = {
  requests_per_second: nullable(
    Type.Integer({
      minimum: 1,
      maximum: 1000,
      description:
        "For all its keys together, over all nodes; bursts of up to three seconds' worth. Null: only the limit of each key.",
    }),
  ),
  concurrent_calls: nullable(
    Type.Integer({ minimum: 0, maximum: 100_000, description: 'In this mode. Null: no limit.' }),
  ),
  call_minutes_per_month: nullable(
    Type.Integer({
      minimum: 0,
      maximum: 1e9,
      description: 'Minutes of calls that have ended, by UTC month. Null: no limit.',
    }),
  ),
}
const limitsSchema = Type.Object(limitSchemas, { description: 'Limits of its plan.' })
export type Limits = Static<typeof limitsSchema>

export const DEFAULT_LIMITS: Limits = {
  requests_per_second: null,
  concurrent_calls: null,
  call_minutes_per_month: null,
}

export const limitsOf = ({ limits }: Pick<PartnerOrganisationRow, 'limits'>): Limits => JSON.parse(limits)

/** Limits of calls. */
export type CallLimit = 'concurrent_calls' | 'call_minutes_per_month'
type Reached = Record<CallLimit, string | null>
const NONE_REACHED: Reached = { concurrent_calls: null, call_minutes_per_month: null }

export const reachedBy = ({ limits_reached }: Pick<PartnerOrganisationRow, 'limits_reached'>): Reached =>
  limits_reached === null ? NONE_REACHED : JSON.parse(limits_reached)

export const partnerOrganisationSchema = apiObject('partner_organisation', {
  name: objectName(),
  suspended: Type.Boolean({ description: 'Its requests and calls are refused: `organisation_suspended`.' }),
  limits: limitsSchema,
  limits_reached: Type.Object(
    { concurrent_calls: nullable(timestamp()), call_minutes_per_month: nullable(timestamp()) },
    { description: 'When these limits last prevented a call, to the hour. Null: never.' },
  ),
  created: timestamp(),
  updated: timestamp(),
})
export type PartnerOrganisation = Static<typeof partnerOrganisationSchema>

export const toPartnerOrganisation = (row: PartnerOrganisationRow): PartnerOrganisation =>
  showRow(partnerOrganisationSchema, row, {
    limits: { ...DEFAULT_LIMITS, ...limitsOf(row) },
    limits_reached: reachedBy(row),
  })
