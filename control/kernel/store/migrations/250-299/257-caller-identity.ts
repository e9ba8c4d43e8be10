import type { Kysely, Migration } from 'kysely'
import { addColumns } from '../columns.ts'

/** Caller identity besides From: what connections trust and send, and what calls show. */
export const callerIdentity: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await addColumns(db, 'connections', {
      trust_identity: { default: 0 },
      show_private_callers: { default: 0 },
      identity: { default: 'from' },
      redirect_headers: { default: 'diversion' },
    })
    await addColumns(db, 'calls', { identity: 'text?', redirected_from: { default: '[]' } })
  },
}
