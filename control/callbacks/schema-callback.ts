import Type, { type Static } from 'typebox'
import { metadata, nullable, oneOf, timestamp } from '../kernel/schema.ts'
import { showRow } from '../kernel/show-row.ts'
import { CALLBACK_STATUSES, type CallbackRoute, type CallbackRow } from './tables.ts'

export const callbackRoute = oneOf<CallbackRoute[]>(['agent_queue', 'agent', 'assistant'])

const webContext = Type.Object(
  {
    page: Type.String({ description: 'Address of the page with the form.' }),
    language: nullable(Type.String({ description: 'Language of the form, or of the page.' })),
  },
  { description: 'Set for requests by a website form.' },
)

/** Specification, "Callback". */
export const callbackSchema = Type.Object({
  object: Type.Literal('callback'),
  id: Type.String(),
  livemode: Type.Boolean(),
  phone: Type.String({ description: 'Number to call back, E.164.' }),
  name: Type.String({ description: 'Name of the person, if known.' }),
  status: oneOf([...CALLBACK_STATUSES]),
  source: Type.String({
    description:
      'queue, ivr, flow, ai, web, manual, campaign, voicemail, api. `campaign`: it was asked for in a call of a campaign, by whomever.',
  }),
  site_id: nullable(Type.String({ description: 'Website form it came from.' })),
  due_at: timestamp('Earliest time to call back, in business hours.'),
  window_end: nullable(timestamp('Do not call after this; null: no limit.')),
  priority: Type.Integer({ description: '1 (low) to 10 (urgent); higher is returned sooner.' }),
  route: callbackRoute,
  queue_id: nullable(Type.String()),
  agent_id: nullable(Type.String()),
  assistant_id: nullable(Type.String()),
  attempts: Type.Integer({ description: 'Attempts made so far.' }),
  max_attempts: Type.Integer(),
  last_attempt_at: nullable(timestamp()),
  last_result: nullable(Type.String({ description: 'For example answered, no-answer, busy, done-manually.' })),
  call_id: nullable(Type.String({ description: 'The call that returned it.' })),
  origin_call_id: nullable(Type.String({ description: 'The call in which it was requested.' })),
  notes: Type.String({ description: 'Each note is stamped with its time and author.' }),
  summary: nullable(Type.String({ description: 'AI summary of the originating call.' })),
  sla_at: nullable(timestamp('When it should have been returned. After that, `callback.sla_missed` is sent.')),
  merged_requests: Type.Integer({ description: 'Later requests for the same number merged into this one.' }),
  context: Type.Object({ web: nullable(webContext) }),
  metadata,
  completed_at: nullable(timestamp()),
  created: timestamp(),
  updated: timestamp(),
})

export type Callback = Static<typeof callbackSchema>

export const toCallback = (row: CallbackRow): Callback =>
  showRow(callbackSchema, row, { context: { web: row.web_context === null ? null : JSON.parse(row.web_context) } })
