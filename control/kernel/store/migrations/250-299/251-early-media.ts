import type { Kysely, Migration } from 'kysely'
import { addColumns } from '../columns.ts'

/** Calls that ring before they are answered: as a route says it, and what is known of each leg until then. */
export const earlyMedia: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await addColumns(db, 'inbound_routes', { answer: 'text?' })
    await addColumns(db, 'participants', { unanswered: 'text?', answered_then: 'text?', early: { default: 0 } })
    await addColumns(db, 'connections', { reliable_provisional: { default: 'when_required' } })
  },
}
