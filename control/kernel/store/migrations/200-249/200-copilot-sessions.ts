import type { Kysely, Migration } from 'kysely'
import { addIndex, createWith, objectTable } from '../columns.ts'

/** The copilot for an agent's call: its knowledge, its messages, and input that it has not handled yet. */
export const copilotSessions: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await createWith(objectTable(db, 'copilot_sessions'), {
      call_id: 'text',
      participant_id: 'text',
      user_id: 'text?',
      queue_id: 'text?',
      node_id: 'text?',
      profile_id: 'text',
      profile_version: 'integer',
      settings: 'text',
      flow_id: 'text?',
      flow_version: 'integer?',
      script: 'text?',
      status: 'text',
      hearing: 'text',
      hearing_reason: 'text?',
      state: 'text',
      deep: 'text?',
      created: 'text',
      ended_at: 'text?',
    })
    await createWith(objectTable(db, 'copilot_messages'), {
      session_id: 'text',
      seq: 'integer',
      type: 'text',
      path: 'text',
      at: 'text',
      utterance_ids: 'text',
      latency_ms: 'integer?',
      replaces: 'text?',
      withdraws: 'text?',
      body: 'text',
    })
    await createWith(objectTable(db, 'copilot_inputs'), {
      session_id: 'text',
      body: 'text',
    })
    await addIndex(db, 'copilot_sessions_call', 'copilot_sessions', ['call_id'])
    await addIndex(db, 'copilot_sessions_status', 'copilot_sessions', ['status'])
    await addIndex(db, 'copilot_messages_session', 'copilot_messages', ['session_id', 'seq'], { isUnique: true })
    await addIndex(db, 'copilot_inputs_session', 'copilot_inputs', ['session_id', 'id'])
  },
}
