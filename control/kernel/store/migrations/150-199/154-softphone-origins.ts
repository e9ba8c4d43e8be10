import type { Migration } from 'kysely'
import { addColumns } from '../columns.ts'

/** The website that a softphone was opened from is where its next token works. */
export const softphoneOrigins: Migration = {
  up: db => addColumns(db, 'browser_sessions', { origin: 'text?' }),
}
