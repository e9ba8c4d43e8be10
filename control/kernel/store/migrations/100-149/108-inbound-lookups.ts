import type { Kysely, Migration } from 'kysely'

/** For each INVITE: the routes by their `to`, and who has the number. */
export const inboundLookups: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createIndex('inbound_routes_to')
      .on('inbound_routes')
      .columns(['organisation_id', 'livemode', 'match_to'])
      .execute()
    await db.schema
      .createIndex('phone_numbers_everywhere')
      .on('phone_numbers')
      .columns(['number', 'livemode'])
      .execute()
  },
}
