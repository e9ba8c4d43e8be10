import { sql } from 'kysely'
import type { Tenant } from '../kernel/tenancy.ts'
import type { Found, PassageSearch } from './search.ts'
import { nameOf, phrase, questionWords } from './words.ts'

/**
 * With `kb-search-table.ts` the only place that uses SQLite's FTS5 (https://sqlite.org/fts5.html). Tenant and document are indexed columns of
 * weight 0, so that a search reads only the tenant's own passages, and a document's passages are found without a scan.
 */
const WEIGHTS = '0, 0, 0, 1'
/** How many passages are scored for each one in the result. */
const CANDIDATES_PER_RESULT = 5

export const sqliteSearch: PassageSearch = {
  async add(trx, tenant, documentId, passages) {
    for (const { id, text } of passages) {
      await sql`insert into kb_search (tenant, document, passage, text)
        values (${nameOf(tenant)}, ${documentId}, ${id}, ${text.normalize('NFC')})`.execute(trx)
    }
  },
  async remove(trx, tenant, documentId, limit) {
    const match = `tenant : ${phrase(nameOf(tenant))} AND document : ${phrase(documentId)}`
    const { rows } = await sql<{ rowid: number }>`
      select rowid from kb_search where kb_search match ${match} and document = ${documentId} limit ${limit}`.execute(
      trx,
    )
    for (const { rowid } of rows) await sql`delete from kb_search where rowid = ${rowid}`.execute(trx)
    return rows.length
  },
  async find(db, tenant, question, { documentIds, limit }) {
    const words = questionWords(question)
    if (words.length === 0) return []
    const within = ofTenant(tenant, documentIds)
    const match = `${within} AND text : (${words.map(phrase).join(' OR ')})`
    const { rows } = await sql<{ rowid: number; passage: string }>`
      select rowid, passage from kb_search where kb_search match ${match} and tenant = ${nameOf(tenant)}
        and exists (select 1 from kb_passages where id = passage)
      order by bm25(kb_search, ${sql.raw(WEIGHTS)}) limit ${sql.lit(limit * CANDIDATES_PER_RESULT)}`.execute(db)
    const counts = new Map(rows.map(({ rowid }) => [rowid, 0]))
    for (const word of words) {
      const having = await sql<{ rowid: number }>`
        select rowid from kb_search where kb_search match ${`${within} AND text : ${phrase(word)}`}`.execute(db)
      for (const { rowid } of having.rows) {
        const count = counts.get(rowid)
        if (count !== undefined) counts.set(rowid, count + 1)
      }
    }
    return rows
      .map(({ rowid, passage }): Found => ({ passageId: passage, score: (counts.get(rowid) ?? 0) / words.length }))
      .sort((a, b) => b.score - a.score)
      .slice(0, limit)
  },
}

const ofTenant = (tenant: Tenant, documentIds: string[]): string => {
  const own = `tenant : ${phrase(nameOf(tenant))}`
  return documentIds.length === 0 ? own : `${own} AND document : (${documentIds.map(phrase).join(' OR ')})`
}
