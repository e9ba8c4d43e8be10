import { type RawBuilder, sql } from 'kysely'
import type { Found, PassageSearch } from './search.ts'
import { lexeme, markOf, nameOf, plain, questionWords, wordsOf } from './words.ts'

/**
 * With `kb-search-table.ts` the only place that uses PostgreSQL's text search (its manual, chapter 12). Texts are split into words here and
 * stemmed there. The tenant is a word of each passage, so that the index yields only the tenant's own passages.
 */
export const postgresSearch: PassageSearch = {
  async add(trx, tenant, documentId, passages) {
    const own = sql`array_to_tsvector(array[${markOf(tenant)}::text])`
    for (const { id, text } of passages) {
      const words = sql`to_tsvector('kb_words', ${wordsOf(plain(text)).join(' ')})`
      await sql`insert into kb_search (tenant, document, passage, words)
        values (${nameOf(tenant)}, ${documentId}, ${id}, ${words} || ${own})`.execute(trx)
    }
  },
  async remove(trx, tenant, documentId, limit) {
    const of = sql`tenant = ${nameOf(tenant)} and document = ${documentId}`
    const { numAffectedRows = 0n } = await sql`delete from kb_search where passage in (
      select passage from kb_search where ${of} limit ${limit})`.execute(trx)
    return Number(numAffectedRows)
  },
  async find(db, tenant, question, { documentIds, limit }) {
    const words = questionWords(plain(question)).map(word => sql`plainto_tsquery('kb_words', ${word})`)
    if (words.length === 0) return []
    const any = sql.join(words, sql` || `)
    const within = documentIds.length === 0 ? sql`` : sql`and document in (${sql.join(documentIds)})`
    const { rows } = await sql<{ passage: string; had: number }>`
      select passage, ${countOf(words)} as had from kb_search
      where words @@ (${lexeme(markOf(tenant))}::tsquery && (${any})) and tenant = ${nameOf(tenant)} ${within}
        and exists (select 1 from kb_passages where id = passage)
      order by had desc, ts_rank(words, ${any}, ${BY_LENGTH}) desc, passage limit ${limit}`.execute(db)
    return rows.map(({ passage, had }): Found => ({ passageId: passage, score: had / words.length }))
  },
}

/** Of two passages with equal matches, the shorter one: `ts_rank` divides by 1 + the logarithm of the length. */
const BY_LENGTH = 1

/** How many of these words a passage contains. */
const countOf = (words: RawBuilder<unknown>[]): RawBuilder<unknown> =>
  sql.join(
    words.map(word => sql`(words @@ ${word})::int`),
    sql` + `,
  )
