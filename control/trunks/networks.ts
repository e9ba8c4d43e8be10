import { isIP } from 'node:net'
import type { Insertable } from 'kysely'
import { canonicalBlock } from '../../media/protocol.ts'
import { noteFact } from '../kernel/store/after-commit.ts'
import type { Db, Trx } from '../kernel/store/store.ts'
import type { TenantColumns } from '../kernel/store/tenant-columns.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import type { ConnectionTable } from './tables.ts'

type NewConnection = Omit<Insertable<ConnectionTable>, keyof TenantColumns>
type Source = Pick<NewConnection, 'id' | 'kind' | 'host' | 'allowed_ips'>

/** Type of the fact that a connection was created, changed or deleted. */
export const CONNECTION_CHANGED = 'connection changed'

/** The networks whose calls a connection accepts: its registrar's address, and `allowed_ips`. */
function networksOf({ kind, host, allowed_ips }: Source): string[] {
  const registrar = kind === 'registration' && isIP(host ?? '') !== 0 ? [host ?? ''] : []
  const blocks = [...registrar, ...(JSON.parse(allowed_ips) as string[])]
  return [...new Set(blocks.flatMap(block => canonicalBlock(block) ?? []))]
}

/** Writes a new connection and the networks by which INVITEs find it. */
export async function insertConnection(trx: Trx, tenant: Tenant, row: NewConnection): Promise<void> {
  await forTenant(trx, tenant).insert('connections', row)
  await insertNetworks(trx, tenant, row)
  await noteFact(trx, { type: CONNECTION_CHANGED, object: {}, tenant, at: row.updated })
}

/** Replaces the networks of a changed connection. */
export async function changeNetworks(trx: Trx, tenant: Tenant, row: Source & { updated: string }): Promise<void> {
  await forgetNetworks(trx, tenant, row)
  await insertNetworks(trx, tenant, row)
}

/** Deletes the networks of a connection that is changed or deleted. */
export async function forgetNetworks(
  trx: Trx,
  tenant: Tenant,
  { id, updated: at }: { id: string; updated: string },
): Promise<void> {
  await forTenant(trx, tenant).delete('connection_networks').where('connection_id', '=', id).execute()
  await noteFact(trx, { type: CONNECTION_CHANGED, object: {}, tenant, at })
}

async function insertNetworks(db: Db, tenant: Tenant, row: Source): Promise<void> {
  for (const network of networksOf(row)) {
    await forTenant(db, tenant).insert('connection_networks', { connection_id: row.id, network })
  }
}
