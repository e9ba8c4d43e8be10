import type { Kysely, Migration } from 'kysely'

export const nodeSip: Migration = {
  up: (db: Kysely<unknown>) => db.schema.alterTable('nodes').addColumn('sip', 'text').execute(),
}
