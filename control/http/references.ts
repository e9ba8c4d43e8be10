import type { Db } from '../kernel/store/store.ts'
import { forTenant, type TableWithId, type Tenant } from '../kernel/tenancy.ts'
import { invalid, type Problem, problem } from './errors.ts'

/**
 * Whether the tenant has an object with this ID that may be referenced, or why it may not ("is archived"). `app.ts` passes it in,
 * because a resource imports no other.
 */
export type Exists = (db: Db, tenant: Tenant, id: string) => Promise<boolean | string>

/** Whether a row of this table has the ID. */
export const existsIn =
  (table: TableWithId): Exists =>
  async (db, tenant, id) =>
    (await forTenant(db, tenant).find(table, id)) !== undefined

/** An ID in a request, with its parameter. Null and undefined reference nothing. */
interface Reference {
  param: string
  id: string | null | undefined
  kind: string
  exists: Exists
}

/** 400 for the first ID that does not exist for this tenant. Those of `before` are not looked for: they may be gone since. */
export async function referenceProblem(
  db: Db,
  tenant: Tenant,
  references: Reference[],
  before: Reference[] = [],
): Promise<Problem | null> {
  const known = new Set(before.map(({ id }) => id))
  for (const { param, id, kind, exists } of references.filter(one => !known.has(one.id))) {
    const there = id === null || id === undefined || (await exists(db, tenant, id))
    if (there === true) continue
    return invalid(param, there === false ? `No such ${kind}: ${id}` : `The ${kind} ${there}: ${id}`)
  }
  return null
}

/** The references in a list, each with its index. */
export const listReferences = (param: string, ids: readonly string[], kind: string, exists: Exists): Reference[] =>
  ids.map((id, i) => ({ param: `${param}[${i}]`, id, kind, exists }))

/** A user of an object, as listed in `details.used_by`. */
export interface User {
  object: string
  id: string
  name?: string
}

/** The users of the object with this ID. */
export type UsesOf = (db: Db, tenant: Tenant, id: string) => Promise<User[]>

/** 409 while the object is used. */
export function usedProblem(kind: string, users: User[]): Problem | null {
  if (users.length === 0) return null
  return problem('resource_conflict', `The ${kind} is in use.`, { details: { reason: 'in_use', used_by: users } })
}
