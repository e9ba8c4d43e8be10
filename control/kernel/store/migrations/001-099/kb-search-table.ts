import { type Kysely, PostgresAdapter, sql } from 'kysely'

/**
 * The full-text table of each kind of database, which `sqlite-search.ts` and `postgres-search.ts` read and write; apart from
 * them, because migrations import nothing of the store.
 */
export async function createSearchTable(db: Kysely<unknown>): Promise<void> {
  const statements = db.getExecutor().adapter instanceof PostgresAdapter ? POSTGRES : SQLITE
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const SQLITE = [
  `create virtual table kb_search using fts5(
    tenant, document, passage unindexed, text, tokenize = 'porter unicode61 remove_diacritics 2'
  )`,
]

/** Stems as English does, as SQLite's porter; no stop words, for there a question counts all of its words. */
const POSTGRES = [
  `create text search dictionary kb_stem (template = snowball, language = 'english')`,
  'create text search configuration kb_words (copy = simple)',
  `alter text search configuration kb_words
    alter mapping for asciiword, word, numword, int, uint, float, sfloat with kb_stem`,
  `create table kb_search (
    tenant text collate "C" not null,
    document text collate "C" not null,
    passage text collate "C" primary key,
    words tsvector not null
  )`,
  'create index kb_search_words on kb_search using gin (words)',
  'create index kb_search_document on kb_search (tenant, document)',
]
