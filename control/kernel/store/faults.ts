/**
 * The meaning of a database error:
 * `conflict`: another transaction interfered; a retry may succeed.
 * `taken`: a row with this unique key exists already.
 * `outage`: the database cannot be reached or cannot write; the statement is not at fault.
 */
type DatabaseFault = 'conflict' | 'taken' | 'outage'

/** Code of our error when a transaction failed because PostgreSQL had lost a prepared statement: running the transaction again succeeds. */
export const STATEMENT_LOST = 'statement_lost'

/** By PostgreSQL's SQLSTATE (its manual, appendix A), SQLite's extended result code (https://sqlite.org/rescode.html), or Node's error code. */
const FAULTS: [RegExp, DatabaseFault][] = [
  [/^(40001|40P01|55P03|SQLITE_BUSY(_.*)?|statement_lost)$/, 'conflict'],
  [/^(23505|SQLITE_CONSTRAINT_(UNIQUE|PRIMARYKEY))$/, 'taken'],
  [/^(08...|53...|57P0.|25P03|58...|SQLITE_(FULL|IOERR.*|READONLY.*|CANTOPEN.*))$/, 'outage'],
  [/^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)$/, 'outage'],
  // From the sync of SQLite's log file.
  [/^(ENOSPC|EDQUOT|EIO|EROFS)$/, 'outage'],
]

/** Messages of errors to which `pg` gives no code. A read time-out means that the server is gone: a live one cancels a slow statement earlier. */
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

/** Whether the database cannot write now, or has too many writers. Nothing was written, and the request can be repeated. */
export function isStoreOutage(error: unknown): boolean {
  const fault = faultOf(error)
  return fault === 'outage' || fault === 'conflict'
}

/** Code of the error of a database that a newer version has migrated. */
export const IS_NEWER = 'IS_NEWER'
/** What to do about a database that cannot be opened, by the code of the error. */
export const OPEN_ADVICE: Readonly<Record<string, string>> = {
  [IS_NEWER]: 'start the newer version of Tandem that has used it, or restore a backup of this one',
  SQLITE_FULL: 'free some space on its disk',
  SQLITE_BUSY: 'stop the program that has it open',
}
