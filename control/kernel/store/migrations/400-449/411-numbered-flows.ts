import type { Kysely, Migration } from 'kysely'

/** Which phone a registration is of, and which of its ways to us (RFC 5626). */
export const numberedFlows: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('sip_registrations').addColumn('instance', 'text').execute()
    await db.schema.alterTable('sip_registrations').addColumn('reg_id', 'integer').execute()
  },
}
