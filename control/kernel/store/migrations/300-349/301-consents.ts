import { type Kysely, type Migration, sql } from 'kysely'
import { addIndex, objectTable } from '../columns.ts'

/** Who has agreed to what, and which consents an organisation requires. */
export const consents: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    let table = objectTable(db, 'consents')
    for (const name of ['phone', 'purpose', 'evidence', 'given_at', 'metadata', 'created', 'updated']) {
      table = table.addColumn(name, 'text', column => column.notNull())
    }
    for (const name of ['standing', 'expires_at', 'replaced_at', 'revoked_at', 'revoked_reason', 'revoked_call_id']) {
      table = table.addColumn(name, 'text')
    }
    await table.execute()
    await addIndex(db, 'consents_standing', 'consents', ['organisation_id', 'livemode', 'standing'], { isUnique: true })
    await addIndex(db, 'consents_by_id', 'consents', ['organisation_id', 'livemode', 'id'])
    await addIndex(db, 'consents_by_phone', 'consents', ['organisation_id', 'livemode', 'phone', 'id'])
    await sql`alter table organisations add column require_consent text`.execute(db)
  },
}
