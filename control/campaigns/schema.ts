import Type, { type Static } from 'typebox'
import { PURPOSES } from '../consents/tables.ts'
import { listParameters } from '../http/list.ts'
import { storedSettings } from '../http/merge.ts'
import {
  apiObject,
  input,
  metadata,
  metadataChange,
  nullable,
  objectName,
  oneOf,
  partialInput,
  timestamp,
} from '../kernel/schema.ts'
import { showRow } from '../kernel/show-row.ts'
import { businessHours } from '../organisation/hours-schema.ts'
import { campaignAnswering, campaignAnsweringInput } from './answering.ts'
import { RETRIED, type RetriedResult } from './outcomes.ts'
import { CAMPAIGN_STATUSES } from './states.ts'
import type { CampaignRow } from './tables.ts'

const name = objectName()
const reference = (description: string) => nullable(Type.String({ maxLength: 200, description }))
const cap = (description: string) => nullable(Type.Integer({ minimum: 1, maximum: 1_000_000, description }))

const minutes = nullable(Type.Integer({ minimum: 1, maximum: 43_200 }))
const retry = Object.fromEntries(RETRIED.map(result => [result, minutes])) as Record<RetriedResult, typeof minutes>

const caps = {
  per_number_per_day: cap('Calls to one number within 24 hours, by all campaigns of the organisation.'),
  per_number_per_week: cap('Calls to one number within seven days, by all campaigns of the organisation.'),
  per_day: cap('Calls of this campaign within 24 hours.'),
}

const plain = {
  assistant_id: reference(
    'The assistant that talks with whoever answers. A campaign has exactly one of assistant, flow and queue.',
  ),
  flow_id: reference('The flow that leads calls once they are answered, in its published version.'),
  queue_id: reference('The queue whose agents talk with whoever answers, as `mode` says.'),
  mode: oneOf(['progressive', 'predictive', 'preview'], {
    description:
      'How agents get calls. progressive: one call for each free agent. predictive: more calls, since few are answered, within `abandoned_limit_pct`. preview: an agent sees a contact first, and then calls or skips it.',
  }),
  abandoned_limit_pct: Type.Number({
    minimum: 0,
    maximum: 10,
    description:
      'How many of the calls answered within 24 hours may find no agent [%]. A predictive campaign stays below this.',
  }),
  claim_seconds: Type.Integer({
    minimum: 10,
    maximum: 3600,
    description: 'For `preview`: how long a contact is reserved for the agent who is looking at it.',
  }),
  timezone: nullable(
    Type.String({
      minLength: 1,
      maxLength: 64,
      description: "IANA time zone of contacts that have none of their own; null: the organisation's.",
    }),
  ),
  caller_ids: Type.Array(Type.String({ pattern: '^\\+[1-9][0-9]{1,14}$' }), {
    maxItems: 200,
    uniqueItems: true,
    description: 'Phone numbers of the organisation to call from, in turn; empty: as the connection says.',
  }),
  local_presence: Type.Boolean({
    description:
      'Calls from the number of `caller_ids` that is in the called country and most like the called number. Without one of that country, any in turn.',
  }),
  require_consents: Type.Array(oneOf([...PURPOSES]), {
    maxItems: PURPOSES.length,
    uniqueItems: true,
    description:
      'Consents that a contact must have given, in addition to those the organisation requires. Contacts without them are excluded.',
  }),
  max_attempts: Type.Integer({ minimum: 1, maximum: 20 }),
  ring_timeout_s: Type.Integer({ minimum: 5, maximum: 180 }),
  max_concurrent: Type.Integer({ minimum: 1, maximum: 1000, description: 'Concurrent calls.' }),
  calls_per_second: Type.Number({ minimum: 0.1, maximum: 50 }),
}
const hoursDescription = 'When contacts may be called, each in its own time zone; null: at any time.'
const retryDescription = 'Minutes until the next attempt, by the result of the last one; null: no further attempt.'

const settings = {
  ...plain,
  answering_machine_detection: nullable(campaignAnswering),
  allowed_hours: nullable(Type.Object(businessHours, { description: hoursDescription })),
  retry_minutes: Type.Object(retry, { description: retryDescription }),
  caps: Type.Object(caps),
}
const settingsSchema = Type.Object(settings)
export type CampaignSettings = Static<typeof settingsSchema>

export const DEFAULT_SETTINGS: CampaignSettings = {
  assistant_id: null,
  flow_id: null,
  queue_id: null,
  mode: 'progressive',
  abandoned_limit_pct: 3,
  claim_seconds: 120,
  timezone: null,
  caller_ids: [],
  local_presence: false,
  require_consents: [],
  max_attempts: 3,
  ring_timeout_s: 30,
  max_concurrent: 10,
  calls_per_second: 1,
  answering_machine_detection: null,
  allowed_hours: {
    weekly: (['monday', 'tuesday', 'wednesday', 'thursday', 'friday'] as const).map(day => ({
      day,
      open: '09:00',
      close: '20:00',
    })),
    holidays: [],
  },
  retry_minutes: { abandoned: 1440, machine: null, busy: 15, no_answer: 120, rejected: null, failed: 60 },
  caps: { per_number_per_day: 3, per_number_per_week: null, per_day: null },
}

export const campaignSchema = apiObject('campaign', {
  name,
  status: oneOf([...CAMPAIGN_STATUSES]),
  ...settings,
  metadata,
  started_at: nullable(timestamp()),
  ended_at: nullable(timestamp('When it was stopped, or had called every contact.')),
  created: timestamp(),
  updated: timestamp(),
})
export type Campaign = Static<typeof campaignSchema>

const sent = {
  ...partialInput(plain).properties,
  answering_machine_detection: Type.Optional(nullable(campaignAnsweringInput)),
  allowed_hours: Type.Optional(nullable(partialInput(businessHours))),
  retry_minutes: Type.Optional(partialInput(retry)),
  caps: Type.Optional(partialInput(caps)),
  metadata: Type.Optional(metadata),
}
export const createBody = input({ name, ...sent })
export const changeBody = input({ name: Type.Optional(name), ...sent, metadata: Type.Optional(metadataChange) })

export const campaignListQuery = input({ ...listParameters, status: Type.Optional(oneOf([...CAMPAIGN_STATUSES])) })

export const settingsOf = (row: Pick<CampaignRow, 'settings'>): CampaignSettings =>
  storedSettings(DEFAULT_SETTINGS, row.settings)

export const toCampaign = (row: CampaignRow): Campaign => showRow(campaignSchema, row, { ...settingsOf(row) })
