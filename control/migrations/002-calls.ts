import type { Migration } from 'kysely'

/** Calls, participants, streams, recordings, rooms, routes, numbers and connections. */
export const calls: Migration = {
  async up(): Promise<void> {},
}
