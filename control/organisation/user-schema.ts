import Type, { type Static } from 'typebox'
import { apiObject, nullable, oneOf, partialInput, timestamp } from '../kernel/schema.ts'
import { showRow } from '../kernel/show-row.ts'
import type { UserRow } from './tables.ts'

export const userRole = oneOf(['owner', 'admin', 'supervisor', 'agent'])

/** The fields of a member that can be set. */
const userFields = {
  name: Type.String({ maxLength: 200 }),
  team_id: nullable(Type.String({ maxLength: 200 })),
  extension: nullable(Type.String({ pattern: '^[0-9]{2,8}$', description: '2 to 8 digits, unique among members.' })),
  takes_seat: Type.Boolean({ description: 'Counts in `seats` of `GET /usage`, while active.' }),
}

/** The same where each may be left out. */
export const userSettings = partialInput({ role: userRole, ...userFields }).properties

/** Specification, "User". */
export const userSchema = apiObject('user', {
  name: userFields.name,
  email: Type.String(),
  email_verified: Type.Boolean(),
  role: userRole,
  status: oneOf(['active', 'deactivated', 'invited']),
  team_id: userFields.team_id,
  extension: userFields.extension,
  billing: Type.Boolean({ description: 'Responsible for billing: true for owners.' }),
  takes_seat: userFields.takes_seat,
  last_login: nullable(timestamp('When a softphone of the member last connected, or a phone last registered.')),
  created: timestamp(),
})
export type User = Static<typeof userSchema>

export const toUser = (row: UserRow): User => showRow(userSchema, row, { billing: row.role === 'owner' })
