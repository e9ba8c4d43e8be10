import { conflict, type Problem } from '../http/errors.ts'
import { type Exists, referenceProblem } from '../http/references.ts'
import type { Db } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import type { UserRow } from './tables.ts'

/** Why the member is invalid, or null. E-mail addresses and extensions must be unique. */
export async function memberProblem(db: Db, tenant: Tenant, row: UserRow, teamExists: Exists): Promise<Problem | null> {
  const team = { param: 'team_id', id: row.team_id, kind: 'team', exists: teamExists }
  const lost = await referenceProblem(db, tenant, [team])
  if (lost !== null) return lost
  const others = forTenant(db, tenant).select('users').select('id').where('id', '!=', row.id)
  const sameEmail = await others.where('email', '=', row.email).executeTakeFirst()
  if (sameEmail !== undefined) return conflict('email_taken', `A member already has this address: ${sameEmail.id}`)
  if (row.extension === null) return null
  const sameExtension = await others.where('extension', '=', row.extension).executeTakeFirst()
  if (sameExtension === undefined) return null
  return conflict('extension_taken', `A member already has this extension: ${sameExtension.id}`)
}
