import Type, { type Static } from 'typebox'
import { input, nullable, oneOf, timestamp } from '../kernel/schema.ts'
import { showRow } from '../kernel/show-row.ts'
import type { DoNotCallRow } from '../trunks/tables.ts'

const reason = Type.String({ maxLength: 500, default: '', description: 'The reason, and who requested it.' })

export const doNotCallSchema = Type.Object({
  object: Type.Literal('do_not_call_number'),
  id: Type.String(),
  livemode: Type.Boolean(),
  phone: Type.String({
    description: 'Number that must not be called, E.164. With a trailing `*`: all numbers with this prefix.',
  }),
  reason: Type.String(),
  source: oneOf(['api', 'import', 'call'], { description: '`call`: the owner of the number asked for it in a call.' }),
  call_id: nullable(Type.String({ description: 'The call in which it was requested.' })),
  import_id: nullable(Type.String()),
  expires_at: nullable(timestamp('When the entry ends; null: never.')),
  created: timestamp(),
})
export type DoNotCallNumber = Static<typeof doNotCallSchema>

export const createBody = input({
  phone: Type.String({
    minLength: 1,
    maxLength: 50,
    description:
      "E.164, or the local form of the organisation's country. With a trailing `*`, in E.164 only: all numbers with this prefix, such as `+97250*`.",
  }),
  reason: Type.Optional(reason),
  expires_at: Type.Optional(nullable(timestamp('When the entry ends; null: never.'))),
})

const MAX_CHECKED = 500

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
      listed: Type.Boolean({ description: 'True: it must not be called.' }),
      number: nullable(doNotCallSchema),
    }),
    { description: 'In the order of `phones`.' },
  ),
})

export const toDoNotCallNumber = (row: DoNotCallRow): DoNotCallNumber => showRow(doNotCallSchema, row)
