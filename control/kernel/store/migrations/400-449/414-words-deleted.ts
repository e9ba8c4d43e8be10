import { type Kysely, type Migration, PostgresAdapter, sql } from 'kysely'

/** Words of what is deleted leave SQLite's search indexes at once (https://sqlite.org/fts5.html §6.9), those of what was deleted before leave now. */
export const wordsDeleted: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    if (db.getExecutor().adapter instanceof PostgresAdapter) return
    for (const table of [sql.table('kb_search'), sql.table('transcript_search')]) {
      await sql`insert into ${table} (${table}, rank) values ('secure-delete', 1)`.execute(db)
      await sql`insert into ${table} (${table}) values ('optimize')`.execute(db)
    }
  },
}
