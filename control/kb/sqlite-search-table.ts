import { type Kysely, sql } from 'kysely'

/** The full-text table that `sqlite-search.ts` reads and writes; apart from it, because migrations import nothing of the store. */
export async function createSearchTable(db: Kysely<unknown>): Promise<void> {
  await sql`create virtual table kb_search using fts5(
    tenant, document, passage unindexed, text, tokenize = 'porter unicode61 remove_diacritics 2'
  )`.execute(db)
}
