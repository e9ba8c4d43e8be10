import { type Kysely, type Migration, sql } from 'kysely'
import { addIndex, createWith, objectTable } from '../columns.ts'

/** A call can be paused by more than one: each pause is a row by the leg or room that it stands on. */
export const capturePauses: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await createWith(objectTable(db, 'capture_pauses'), {
      call_id: 'text',
      reason: 'text?',
      paused_at: 'text?',
      resumes_at: 'text?',
      destination_participant_id: 'text?',
    })
    await addIndex(db, 'capture_pauses_call', 'capture_pauses', ['call_id'])
    // A session's pause stands on its room, which has its ID; a call's on the party that the call is of.
    await sql`
      insert into capture_pauses
        (id, organisation_id, livemode, call_id, reason, paused_at, resumes_at, destination_participant_id)
      select
        coalesce(
          (select min(p.id) from participants p where p.call_id = c.call_id and p.ring_id is null),
          c.call_id
        ),
        c.organisation_id, c.livemode, c.call_id, c.reason, c.paused_at, c.resumes_at, c.destination_participant_id
      from call_pauses c
    `.execute(db)
    await db.schema.dropTable('call_pauses').execute()
  },
}
