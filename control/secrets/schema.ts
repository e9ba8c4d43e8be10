import Type, { type Static } from 'typebox'
import type { User } from '../http/references.ts'
import { apiObject, input, metadata, metadataChange, nullable, partialInput, timestamp } from '../kernel/schema.ts'
import { showRow } from '../kernel/show-row.ts'
import type { SecretRow } from './tables.ts'

const name = Type.String({
  pattern: '^[A-Za-z][A-Za-z0-9_]{0,63}$',
  examples: ['SHOP_KEY'],
  description: 'Tools refer to it as `{{secret:NAME}}`. It cannot be changed.',
})
const description = Type.String({ maxLength: 500, description: 'Label for people.' })
/** A shorter one could not be distinguished from other words in a response. */
const value = Type.String({
  pattern: '^[ -~]{8,4096}$',
  examples: ['key-of-the-shop-9f2c'],
  description: 'Write-only. Printable ASCII, as headers require.',
})

export const secretSchema = apiObject('secret', {
  name,
  description,
  version: Type.Integer({ description: 'Incremented by each rotation.' }),
  used_by: Type.Array(Type.Object({ object: Type.String(), id: Type.String(), name: Type.String() }), {
    description: 'The tools that use it.',
  }),
  metadata,
  rotated_at: nullable(timestamp()),
  created: timestamp(),
  updated: timestamp(),
})
export type Secret = Static<typeof secretSchema>

export const createBody = input({
  name,
  value,
  description: Type.Optional(description),
  metadata: Type.Optional(metadata),
})
export const changeBody = partialInput({ description, metadata: metadataChange })
export const rotateBody = input({ value })

export const toSecret = (row: SecretRow, users: readonly User[]): Secret =>
  showRow(secretSchema, row, { used_by: users.map(({ object, id, name = '' }) => ({ object, id, name })) })
