import type { Kysely, Migration } from 'kysely'
import { addIndex, createWith, objectTable } from '../columns.ts'

/** What leads calls, what happened to it, what it did, and the messages that callers left. */
export const programs: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await createWith(objectTable(db, 'call_programs'), {
      leg_id: 'text',
      kind: 'text',
      flow_id: 'text?',
      flow_version: 'integer?',
      assistant_id: 'text?',
      status: 'text',
      state: 'text?',
      child_leg: 'text?',
      end_reason: 'text?',
      hops: 'integer',
      created: 'text',
      ended_at: 'text?',
    })
    await createWith(objectTable(db, 'call_inputs'), {
      call_id: 'text',
      body: 'text',
    })
    await createWith(objectTable(db, 'call_steps'), {
      call_id: 'text',
      kind: 'text',
      entry: 'text',
      timing: 'text?',
      at: 'text',
    })
    await createWith(objectTable(db, 'voicemails'), {
      call_id: 'text',
      queue_id: 'text?',
      user_id: 'text?',
      from_address: 'text',
      status: 'text',
      file: 'text?',
      duration_ms: 'integer?',
      created: 'text',
    })
    await addIndex(db, 'call_programs_leg', 'call_programs', ['leg_id'])
    await addIndex(db, 'call_programs_child', 'call_programs', ['child_leg'])
    await addIndex(db, 'call_programs_status', 'call_programs', ['status'])
    await addIndex(db, 'call_inputs_call', 'call_inputs', ['call_id', 'id'])
    await addIndex(db, 'call_steps_call', 'call_steps', ['call_id', 'id'])
    await addIndex(db, 'voicemails_tenant', 'voicemails', ['organisation_id', 'livemode', 'id'])
  },
}
