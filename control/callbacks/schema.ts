import Type from 'typebox'
import { listParameters } from '../http/list.ts'
import { filterText, input, metadata, metadataChange, nullable, oneOf, partialInput } from '../kernel/schema.ts'
import { callbackRoute } from './schema-callback.ts'
import { CALLBACK_STATUSES } from './tables.ts'

const reference = (description: string) => Type.String({ maxLength: 200, description })
const time = (description: string) => Type.String({ format: 'date-time', description })

const note = Type.String({ minLength: 1, maxLength: 4000, description: 'Added to the notes.' })
const windowEnd = time('Do not call after this time.')

/** Fields of a callback that can be set when it is created, and later. */
const always = partialInput({
  due_at: time('Earliest time; moved into business hours; at most 90 days ahead.'),
  max_attempts: Type.Integer({ minimum: 1, maximum: 20 }),
  metadata,
  name: Type.String({ maxLength: 200 }),
  note,
  priority: Type.Integer({ minimum: 1, maximum: 10, description: '1 (low) to 10 (urgent).' }),
  route: callbackRoute,
}).properties

export const createBody = input({
  phone: Type.String({
    minLength: 1,
    maxLength: 50,
    description: "E.164, or the local form of the organisation's country.",
  }),
  agent_id: Type.Optional(reference("Member's user ID; makes the route `agent`.")),
  assistant_id: Type.Optional(reference('Makes the route `assistant`.')),
  call_id: Type.Optional(reference('Originating call; one callback per call.')),
  ...always,
  queue_id: Type.Optional(reference('For route `agent_queue`; absent: any free agent.')),
  window_end: Type.Optional(windowEnd),
})

export const changeBody = input({
  agent_id: Type.Optional(nullable(reference('`usr_…`; makes the route `agent`'))),
  assistant_id: Type.Optional(nullable(reference('`asst_…`; makes the route `assistant`'))),
  ...always,
  metadata: Type.Optional(metadataChange),
  queue_id: Type.Optional(nullable(reference('`q_…`'))),
  window_end: Type.Optional(nullable(windowEnd)),
})

export const completeBody = input({ note: Type.Optional(note) })

export const callbackListQuery = input({
  ...listParameters,
  status: Type.Optional(oneOf([...CALLBACK_STATUSES])),
  phone: filterText(50, 'E.164: only callbacks to this number.'),
  source: filterText(50, 'Only callbacks from this source, for example `web`.'),
  site_id: filterText(200, 'Only callbacks of this website form.'),
})
