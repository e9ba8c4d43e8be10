import Type, { type Static } from 'typebox'
import { nullable, timestamp } from '../kernel/schema.ts'
import { showRow } from '../kernel/show-row.ts'
import type { QueueCallRow } from './tables.ts'

/** A call that waits in a queue, or has left it. */
export const queueCallSchema = Type.Object({
  object: Type.Literal('queue_call'),
  call_id: Type.String(),
  livemode: Type.Boolean(),
  queue_id: Type.String(),
  position: Type.Integer({ description: '1 is the next to be answered; 0: it has left the line.' }),
  joined_at: timestamp('Decides its position. Who is back because the device of the agent is gone keeps it.'),
  wait_ms: Type.Integer({ description: 'Waiting time, without that of talking before.' }),
  offered_to: nullable(Type.String({ description: 'The user whose phone is ringing for it.' })),
  outcome: nullable(
    Type.String({
      description:
        'Null while it waits; answered, abandoned, disabled, no_agents, max_wait, voicemail, callback, transferred, hung_up (by the API), failed (by our fault)',
    }),
  ),
})

export type QueueCall = Static<typeof queueCallSchema>

export const toQueueCall = (
  row: QueueCallRow,
  { position, waitMs, outcome = null }: { position: number; waitMs: number; outcome?: string | null },
): QueueCall => showRow(queueCallSchema, row, { call_id: row.id, position, wait_ms: waitMs, outcome })
