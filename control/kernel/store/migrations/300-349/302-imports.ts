import type { Kysely, Migration } from 'kysely'
import { addIndex, createWith, objectTable, sharedTable } from '../columns.ts'

/** Imports, and the pieces of their files. */
export const imports: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await createWith(objectTable(db, 'imports'), {
      dry_run: 'integer',
      size_bytes: 'integer',
      rows_read: 'integer',
      rows_written: 'integer',
      rows_duplicate: 'integer',
      rows_failed: 'integer',
      error_pieces: 'integer',
      target: 'text',
      status: 'text',
      filename: 'text',
      reading: 'text',
      metadata: 'text',
      created: 'text',
      updated: 'text',
      target_id: 'text?',
      country: 'text?',
      failure: 'text?',
      told_at: 'text?',
      started_at: 'text?',
      finished_at: 'text?',
    })
    await addIndex(db, 'imports_of_organisation', 'imports', ['organisation_id', 'livemode', 'id'])
    const pieces = sharedTable(db, 'import_pieces')
    await createWith(pieces.addPrimaryKeyConstraint('import_pieces_key', ['import_id', 'file', 'position']), {
      import_id: 'text',
      file: 'text',
      position: 'integer',
      content: 'text',
    })
  },
}
