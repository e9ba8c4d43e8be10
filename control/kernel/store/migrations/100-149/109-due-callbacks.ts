import type { Kysely, Migration } from 'kysely'
import { addIndex } from '../columns.ts'

const PENDING = ['organisation_id', 'livemode', 'status']

/** Whether a callback is due, and which is the next of a queue or an agent, is read off an index. */
export const dueCallbacks: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    const added = {
      callbacks_due: ['due_at'],
      callbacks_due_of_queue: ['route', 'queue_id', 'priority desc', 'due_at'],
      callbacks_due_of_agent: ['route', 'agent_id', 'priority desc', 'due_at'],
    }
    for (const [name, columns] of Object.entries(added)) {
      await addIndex(db, name, 'callbacks', [...PENDING, ...columns])
    }
  },
}
