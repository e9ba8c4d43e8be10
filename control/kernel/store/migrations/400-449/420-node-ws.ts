import type { Kysely, Migration } from 'kysely'

export const nodeWs: Migration = {
  up: (db: Kysely<unknown>) => db.schema.alterTable('nodes').addColumn('ws', 'text').execute(),
}
