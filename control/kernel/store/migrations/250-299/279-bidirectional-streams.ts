import type { Migration } from 'kysely'
import { addColumns } from '../columns.ts'

/** Streams whose receiver is heard in the call: which they are, and what came of them. */
export const bidirectionalStreams: Migration = {
  up: db =>
    addColumns(db, 'media_streams', {
      mode: { default: 'fork' },
      frames_received: { default: 0 },
      frames_refused: { default: 0 },
    }),
}
