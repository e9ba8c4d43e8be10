import { type EventKind, eventKind as of } from '../kernel/events/catalog.ts'
import { CALL_ID, CREATED } from '../kernel/events/sample-call.ts'
import { type AgentStatus, agentStatusSchema } from './agent-schema.ts'
import { type QueueCall, queueCallSchema } from './call-schema.ts'
import { callTransferSample, callTransferSchema } from './transfers/schema.ts'

const queueCall: QueueCall = {
  object: 'queue_call',
  call_id: CALL_ID,
  livemode: false,
  queue_id: 'q_01k9000000000000000000000b',
  position: 2,
  joined_at: CREATED,
  wait_ms: 0,
  offered_to: null,
  outcome: null,
}

const agentStatus: AgentStatus = {
  object: 'agent_status',
  livemode: false,
  user_id: 'usr_01k9000000000000000000000a',
  status: 'available',
  since: CREATED,
  ringing: false,
  queue_ids: ['q_01k9000000000000000000000b'],
  call: null,
  wrap_up_until: null,
}

export const queueEvents = {
  'queue.call.joined': of(queueCallSchema, queueCall),
  'queue.call.offered': of(queueCallSchema, {
    ...queueCall,
    position: 1,
    wait_ms: 21_000,
    offered_to: 'usr_01k9000000000000000000000a',
  }),
  'queue.call.left': of(queueCallSchema, { ...queueCall, position: 0, wait_ms: 26_000, outcome: 'answered' }),
  'queue.call.overflowed': of(queueCallSchema, { ...queueCall, position: 0, wait_ms: 300_000, outcome: 'max_wait' }),
  'call.transfer.updated': of(callTransferSchema, callTransferSample),
  'agent.status.changed': of(agentStatusSchema, agentStatus),
} as const satisfies Record<string, EventKind>

declare module '../kernel/events/catalog.ts' {
  interface EventTypes extends Record<keyof typeof queueEvents, true> {}
}
