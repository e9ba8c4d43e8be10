import type { Migration } from 'kysely'
import { addColumns } from '../columns.ts'

/** Which connections sign calls, and which judge the signatures of others (STIR/SHAKEN). */
export const signedCalls: Migration = {
  up: db => addColumns(db, 'connections', { sign_calls: { default: 0 }, verify_calls: { default: 'off' } }),
}
