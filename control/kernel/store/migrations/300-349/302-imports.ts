import type { Kysely, Migration } from 'kysely'
import { addIndex } from '../columns.ts'

/** Imports, and the pieces of their files. */
export const imports: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    let table = db.schema
      .createTable('imports')
      .addColumn('id', 'text', column => column.primaryKey())
      .addColumn('organisation_id', 'text', column => column.notNull().references('organisations.id'))
    for (const name of ['livemode', 'dry_run', 'size_bytes', 'rows_read', 'rows_written', 'rows_duplicate'] as const) {
      table = table.addColumn(name, 'integer', column => column.notNull())
    }
    table = table.addColumn('rows_failed', 'integer', column => column.notNull())
    table = table.addColumn('error_pieces', 'integer', column => column.notNull())
    for (const name of ['target', 'status', 'filename', 'reading', 'metadata', 'created', 'updated']) {
      table = table.addColumn(name, 'text', column => column.notNull())
    }
    for (const name of ['target_id', 'country', 'failure', 'told_at', 'started_at', 'finished_at']) {
      table = table.addColumn(name, 'text')
    }
    await table.execute()
    const columns = ['organisation_id', 'livemode', 'id']
    await addIndex(db, 'imports_of_organisation', 'imports', columns)
    await db.schema
      .createTable('import_pieces')
      .addColumn('import_id', 'text', column => column.notNull())
      .addColumn('file', 'text', column => column.notNull())
      .addColumn('position', 'integer', column => column.notNull())
      .addColumn('content', 'text', column => column.notNull())
      .addPrimaryKeyConstraint('import_pieces_key', ['import_id', 'file', 'position'])
      .execute()
  },
}
