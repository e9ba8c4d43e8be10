import { isIP } from 'node:net'
import type { Kysely, Migration } from 'kysely'
import { canonicalBlock } from '../../../../../media/protocol.ts'
import { addIndex, tenantTable } from '../columns.ts'

interface Before {
  connections: {
    id: string
    organisation_id: string
    livemode: number
    kind: string
    host: string | null
    allowed_ips: string
  }
  connection_networks: { organisation_id: string; livemode: number; connection_id: string; network: string }
}

/** An index finds the connections that a caller may use, for each INVITE. */
export const connectionNetworks: Migration = {
  async up(db: Kysely<Before>): Promise<void> {
    await tenantTable(db, 'connection_networks')
      .addColumn('connection_id', 'text', column => column.notNull())
      .addColumn('network', 'text', column => column.notNull())
      .addPrimaryKeyConstraint('connection_networks_pk', ['connection_id', 'network'])
      .execute()
    await addIndex(db, 'connection_networks_network', 'connection_networks', ['network', 'livemode'])
    const rows = await db.selectFrom('connections').selectAll().execute()
    for (const { id, organisation_id, livemode, kind, host, allowed_ips } of rows) {
      const named = kind === 'registration' && isIP(host ?? '') !== 0 ? [host ?? ''] : []
      const blocks = [...named, ...(JSON.parse(allowed_ips) as string[])].flatMap(block => canonicalBlock(block) ?? [])
      for (const network of new Set(blocks)) {
        const row = { organisation_id, livemode, connection_id: id, network }
        await db.insertInto('connection_networks').values(row).execute()
      }
    }
  },
}
