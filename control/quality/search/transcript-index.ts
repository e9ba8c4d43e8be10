import { PostgresAdapter, type RawBuilder, sql } from 'kysely'
import type { Db, Trx } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import { lexeme, markOf, nameOf, phrase, plain, wordsOf } from '../../knowledge/words.ts'

/**
 * With `221-quality.ts` the only place that uses full-text search of transcripts: SQLite's FTS5, PostgreSQL's text search. Tenant and call
 * are indexed as words, so that only the tenant's own segments are read.
 */

const isServer = (db: Db): boolean => db.getExecutor().adapter instanceof PostgresAdapter

const plainWords = (text: string): string => wordsOf(plain(text)).join(' ')

/** Indexes the words of a call, replacing an earlier index. */
export async function indexTranscript(trx: Trx, tenant: Tenant, callId: string): Promise<void> {
  await forgetTranscript(trx, tenant, callId)
  const rows = forTenant(trx, tenant).select('transcript_segments').select(['id', 'text'])
  for (const { id, text } of await rows.where('call_id', '=', callId).execute()) {
    const own = sql`array_to_tsvector(array[${markOf(tenant)}::text])`
    const row = isServer(trx)
      ? sql`insert into transcript_search (tenant, call, segment, words) values (
          ${nameOf(tenant)}, ${callId}, ${id}, to_tsvector('kb_words', ${plainWords(text)}) || ${own})`
      : sql`insert into transcript_search (tenant, call, segment, text) values (${nameOf(tenant)}, ${callId}, ${id}, ${text.normalize('NFC')})`
    await row.execute(trx)
  }
}

export async function forgetTranscript(trx: Trx, tenant: Tenant, callId: string): Promise<void> {
  const match = `tenant : ${phrase(nameOf(tenant))} AND call : ${phrase(callId)}`
  const rows = isServer(trx)
    ? sql`delete from transcript_search where tenant = ${nameOf(tenant)} and call = ${callId}`
    : sql`delete from transcript_search where rowid in (
        select rowid from transcript_search where transcript_search match ${match} and call = ${callId})`
  await rows.execute(trx)
}

/** IDs of the segments that contain all parts: a word in any form, or several words in sequence. Needs at least one part. */
export function segmentsWith(db: Db, tenant: Tenant, parts: readonly string[]): RawBuilder<string> {
  if (!isServer(db)) {
    const all = parts.map(part => `text : ${phrase(part.normalize('NFC'))}`).join(' AND ')
    const match = `tenant : ${phrase(nameOf(tenant))} AND ${all}`
    return sql`(select segment from transcript_search
      where transcript_search match ${match} and tenant = ${nameOf(tenant)})`
  }
  const all = sql.join(
    parts.map(part => sql`phraseto_tsquery('kb_words', ${plainWords(part)})`),
    sql` && `,
  )
  return sql`(select segment from transcript_search
    where words @@ (${lexeme(markOf(tenant))}::tsquery && ${all}) and tenant = ${nameOf(tenant)})`
}
