import type { Kysely, Migration } from 'kysely'
import { addIndex } from '../columns.ts'

/** For each INVITE: the routes by their `to`, and who has the number. */
export const inboundLookups: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await addIndex(db, 'inbound_routes_to', 'inbound_routes', ['organisation_id', 'livemode', 'match_to'])
    await addIndex(db, 'phone_numbers_everywhere', 'phone_numbers', ['number', 'livemode'])
  },
}
