import Type, { type Static } from 'typebox'
import { nullable, oneOf, timestamp } from '../kernel/schema.ts'
import type { AgentState } from './tables.ts'

export const AGENT_STATES = ['available', 'busy', 'wrap_up', 'away', 'offline'] as const satisfies AgentState[]

/** Specification, "AgentStatus". */
export const agentStatusSchema = Type.Object({
  object: Type.Literal('agent_status'),
  livemode: Type.Boolean(),
  user_id: Type.String(),
  status: oneOf<AgentState[]>([...AGENT_STATES]),
  since: timestamp(),
  ringing: Type.Boolean({ description: "The agent's phone is ringing." }),
  queue_ids: Type.Array(Type.String(), { description: 'Queues that the user answers, directly or through the team.' }),
  call: nullable(
    Type.Object({
      call_id: Type.String(),
      direction: Type.String(),
      queue_id: nullable(Type.String()),
      started: timestamp(),
    }),
  ),
  wrap_up_until: nullable(timestamp()),
})

export type AgentStatus = Static<typeof agentStatusSchema>
