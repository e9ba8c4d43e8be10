import { isIP } from 'node:net'
import type { Insertable } from 'kysely'
import { canonicalBlock } from '../../media/protocol.ts'
import type { Db } from '../kernel/store/store.ts'
import type { TenantColumns } from '../kernel/store/tenant-columns.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import type { ConnectionTable } from './tables.ts'

type NewConnection = Omit<Insertable<ConnectionTable>, keyof TenantColumns>
type Source = Pick<NewConnection, 'id' | 'kind' | 'host' | 'allowed_ips'>

/** The networks whose calls a connection lets in: a registrar's own address, and those that are allowed. */
function networksOf({ kind, host, allowed_ips }: Source): string[] {
  const registrar = kind === 'registration' && isIP(host ?? '') !== 0 ? [host ?? ''] : []
  const blocks = [...registrar, ...(JSON.parse(allowed_ips) as string[])]
  return [...new Set(blocks.flatMap(block => canonicalBlock(block) ?? []))]
}

/** Writes a new connection, with what INVITEs are judged by. */
export async function insertConnection(db: Db, tenant: Tenant, row: NewConnection): Promise<void> {
  await forTenant(db, tenant).insert('connections', row)
  await insertNetworks(db, tenant, row)
}

/** The networks of a connection that has changed. */
export async function changeNetworks(db: Db, tenant: Tenant, row: Source): Promise<void> {
  await forgetNetworks(db, tenant, row.id)
  await insertNetworks(db, tenant, row)
}

export async function forgetNetworks(db: Db, tenant: Tenant, connectionId: string): Promise<void> {
  await forTenant(db, tenant).delete('connection_networks').where('connection_id', '=', connectionId).execute()
}

async function insertNetworks(db: Db, tenant: Tenant, row: Source): Promise<void> {
  for (const network of networksOf(row)) {
    await forTenant(db, tenant).insert('connection_networks', { connection_id: row.id, network })
  }
}
