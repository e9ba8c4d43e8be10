import type { Db } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import type { Vault } from '../kernel/vault.ts'

/** Values by the names of their secrets; names without a secret are missing. Read for each use, so nothing uses a rotated value. */
export type SecretReader = (tenant: Tenant, names: readonly string[]) => Promise<ReadonlyMap<string, string>>

export const secretReader =
  (db: Db, vault: Vault): SecretReader =>
  async (tenant, names) => {
    if (names.length === 0) return new Map()
    const rows = await forTenant(db, tenant)
      .select('secrets')
      .select(['id', 'name', 'value'])
      .where('name', 'in', names)
      .execute()
    return new Map(rows.map(({ id, name, value }) => [name, vault.open(value, id)]))
  }

/** Which of these names belong to secrets. */
export async function knownSecrets(db: Db, tenant: Tenant, names: readonly string[]): Promise<ReadonlySet<string>> {
  if (names.length === 0) return new Set()
  const rows = await forTenant(db, tenant).select('secrets').select('name').where('name', 'in', names).execute()
  return new Set(rows.map(({ name }) => name))
}
