import type { Kysely, Migration } from 'kysely'

export const nodeUrls: Migration = {
  up: (db: Kysely<unknown>) => db.schema.alterTable('nodes').addColumn('url', 'text').execute(),
}
