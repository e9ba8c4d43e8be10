import type { Kysely, Migration } from 'kysely'

export const whyUnreached: Migration = {
  up: (db: Kysely<unknown>) => db.schema.alterTable('media_streams').addColumn('ended_detail', 'text').execute(),
}
