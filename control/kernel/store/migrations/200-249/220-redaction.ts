import type { Migration } from 'kysely'
import { addColumns } from '../columns.ts'

/** What an organisation does not want to keep of calls' words. */
export const redaction: Migration = {
  up: db => addColumns(db, 'organisations', { redaction: 'text?' }),
}
