import type { Kysely, Migration } from 'kysely'
import { addColumns, addIndex } from '../columns.ts'

/** The source of a do-not-call number, and its expiry. */
export const doNotCallSources: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await addColumns(db, 'do_not_call', {
      source: { default: 'api' },
      call_id: 'text?',
      import_id: 'text?',
      expires_at: 'text?',
    })
    await addIndex(db, 'do_not_call_expiring', 'do_not_call', ['expires_at'], { skipsNull: true })
  },
}
