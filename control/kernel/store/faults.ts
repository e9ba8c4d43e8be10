/**
 * The meaning of a database error:
 * `conflict`: another transaction interfered; a retry may succeed.
 * `taken`: a row with this unique key exists already.
 * `outage`: the database cannot be reached or cannot write; the statement is not at fault.
 */
export type DatabaseFault = 'conflict' | 'taken' | 'outage'

/** Of a transaction in which PostgreSQL has a prepared statement no more: it is prepared anew when the transaction runs again. */
export const STATEMENT_LOST = 'statement_lost'

/** PostgreSQL's SQLSTATE (its manual, appendix A), SQLite's extended result codes (https://sqlite.org/rescode.html), Node's. */
const FAULTS: [RegExp, DatabaseFault][] = [
  [/^(40001|40P01|55P03|SQLITE_BUSY(_.*)?|statement_lost)$/, 'conflict'],
  [/^(23505|SQLITE_CONSTRAINT_(UNIQUE|PRIMARYKEY))$/, 'taken'],
  [/^(08...|53...|57P0.|25P03|58...|SQLITE_(FULL|IOERR.*|READONLY.*|CANTOPEN.*))$/, 'outage'],
  [/^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)$/, 'outage'],
  // When the log file is synced.
  [/^(ENOSPC|EDQUOT|EIO|EROFS)$/, 'outage'],
]

/** `pg` gives these no code. A server that is there ends a statement by itself before its answer could be waited for in vain. */
const LOST =
  /^(Connection terminated|Query read timeout|timeout exceeded when trying to connect|Client has encountered a connection error)/

/** The only place that classifies database errors; null: none of the above, so a bug. */
export function faultOf(error: unknown): DatabaseFault | null {
  if (!(error instanceof Error)) return null
  const code = 'code' in error ? String(error.code) : ''
  const known = FAULTS.find(([pattern]) => pattern.test(code))
  if (known !== undefined) return known[1]
  return LOST.test(error.message) ? 'outage' : null
}

/** It cannot write now, or there are too many writers. The requester has lost nothing. */
export function isStoreOutage(error: unknown): boolean {
  const fault = faultOf(error)
  return fault === 'outage' || fault === 'conflict'
}

/** Code of the error of a database that a newer version has migrated. */
export const IS_NEWER = 'IS_NEWER'
export const NEWER_ADVICE = 'start the newer version of Tandem that has used it, or restore a backup of this one'
