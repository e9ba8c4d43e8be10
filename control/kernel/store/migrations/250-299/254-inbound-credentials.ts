import type { Kysely, Migration } from 'kysely'

/** Credentials of callers over a connection, in addition to their address or instead of it. */
export const inboundCredentials: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const name of [
      'inbound_auth',
      'inbound_username',
      'inbound_algorithm',
      'inbound_ha1_md5',
      'inbound_ha1_sha256',
    ]) {
      await db.schema.alterTable('connections').addColumn(name, 'text').execute()
    }
    // A caller names its account and nothing else. NULLs are all different.
    await db.schema
      .createIndex('connections_inbound_username')
      .on('connections')
      .column('inbound_username')
      .unique()
      .execute()
  },
}
