import Type, { type Static } from 'typebox'
import { input, nullable, oneOf, timestamp } from '../kernel/schema.ts'
import { showRow } from '../kernel/show-row.ts'
import type { DoNotCallRow } from '../trunks/tables.ts'

const reason = Type.String({ maxLength: 500, default: '', description: 'Why, and who has said so.' })

export const doNotCallSchema = Type.Object({
  object: Type.Literal('do_not_call_number'),
  id: Type.String(),
  livemode: Type.Boolean(),
  phone: Type.String({
    description: 'Number that is not called, E.164; with `*` at its end all numbers that begin so.',
  }),
  reason: Type.String(),
  source: oneOf(['api', 'import', 'call'], { description: '`call`: its owner has said so in a call.' }),
  call_id: nullable(Type.String({ description: 'The call in which it was said.' })),
  import_id: nullable(Type.String()),
  expires_at: nullable(timestamp('Then it is taken off the list; null: never.')),
  created: timestamp(),
})
export type DoNotCallNumber = Static<typeof doNotCallSchema>

export const createBody = input({
  phone: Type.String({
    minLength: 1,
    maxLength: 50,
    description:
      "E.164, or the local form of the organisation's country. With `*` at its end, in E.164 only, all numbers that begin so: `+97250*`.",
  }),
  reason: Type.Optional(reason),
  expires_at: Type.Optional(nullable(timestamp('Then it is taken off the list; null: never.'))),
})

export const MAX_CHECKED = 500

export const checkBody = input({
  phones: Type.Array(Type.String({ minLength: 1, maxLength: 50 }), {
    minItems: 1,
    maxItems: MAX_CHECKED,
    description: "Each in E.164 or in the local form of the organisation's country.",
  }),
})

export const checkReply = Type.Object({
  object: Type.Literal('do_not_call_check'),
  livemode: Type.Boolean(),
  results: Type.Array(
    Type.Object({
      phone: Type.String({ description: 'E.164.' }),
      listed: Type.Boolean({ description: 'It is not called.' }),
      number: nullable(doNotCallSchema),
    }),
    { description: 'In the order of `phones`.' },
  ),
})

export const toDoNotCallNumber = (row: DoNotCallRow): DoNotCallNumber => showRow(doNotCallSchema, row)
