import { type Kysely, type Migration, sql } from 'kysely'
import { addIndex, createWith, objectTable } from '../columns.ts'

/** Who has agreed to what, and which consents an organisation requires. */
export const consents: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await createWith(objectTable(db, 'consents'), {
      phone: 'text',
      purpose: 'text',
      evidence: 'text',
      given_at: 'text',
      metadata: 'text',
      created: 'text',
      updated: 'text',
      standing: 'text?',
      expires_at: 'text?',
      replaced_at: 'text?',
      revoked_at: 'text?',
      revoked_reason: 'text?',
      revoked_call_id: 'text?',
    })
    await addIndex(db, 'consents_standing', 'consents', ['organisation_id', 'livemode', 'standing'], { isUnique: true })
    await addIndex(db, 'consents_by_id', 'consents', ['organisation_id', 'livemode', 'id'])
    await addIndex(db, 'consents_by_phone', 'consents', ['organisation_id', 'livemode', 'phone', 'id'])
    await sql`alter table organisations add column require_consent text`.execute(db)
  },
}
