import Type, { type Static } from 'typebox'
import { nullable, oneOf, timestamp } from '../kernel/schema.ts'
import type { UserRow } from './tables.ts'

export const userRole = oneOf(['owner', 'admin', 'supervisor', 'agent'])

/** What can be set of a member. */
export const userFields = {
  name: Type.String({ maxLength: 200 }),
  team_id: nullable(Type.String({ maxLength: 200 })),
  extension: nullable(Type.String({ pattern: '^[0-9]{2,8}$', description: '2 to 8 digits, of one member only.' })),
  takes_seat: Type.Boolean({ description: 'Counts in `seats` of `GET /usage`, while active.' }),
}

/** Specification, "User". */
export const userSchema = Type.Object({
  id: Type.String(),
  object: Type.Literal('user'),
  livemode: Type.Boolean(),
  name: userFields.name,
  email: Type.String(),
  email_verified: Type.Boolean(),
  role: userRole,
  status: oneOf(['active', 'deactivated', 'invited']),
  team_id: userFields.team_id,
  extension: userFields.extension,
  billing: Type.Boolean({ description: 'Has to do with the bills: the owners do.' }),
  takes_seat: userFields.takes_seat,
  last_login: nullable(timestamp('When a softphone of the member last connected, or a phone registered anew.')),
  created: timestamp(),
})
export type User = Static<typeof userSchema>

export const toUser = (row: UserRow): User => ({
  id: row.id,
  object: 'user',
  livemode: row.livemode === 1,
  name: row.name,
  email: row.email,
  email_verified: row.email_verified === 1,
  role: row.role,
  status: row.status,
  team_id: row.team_id,
  extension: row.extension,
  billing: row.role === 'owner',
  takes_seat: row.takes_seat === 1,
  last_login: row.last_login,
  created: row.created,
})
