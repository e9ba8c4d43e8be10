import type { Kysely, Migration } from 'kysely'
import { addColumns, addIndex } from '../columns.ts'

/** Credentials of callers over a connection, in addition to their address or instead of it. */
export const inboundCredentials: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await addColumns(db, 'connections', {
      inbound_auth: 'text?',
      inbound_username: 'text?',
      inbound_algorithm: 'text?',
      inbound_ha1_md5: 'text?',
      inbound_ha1_sha256: 'text?',
    })
    // A caller names its account and nothing else. NULLs are all different.
    await addIndex(db, 'connections_inbound_username', 'connections', ['inbound_username'], { isUnique: true })
  },
}
