import { type EventKind, eventKind as of } from '../kernel/events/catalog.ts'
import { CALL_ID, CREATED } from '../kernel/events/sample-call.ts'
import { type Callback, callbackSchema } from './schema-callback.ts'

const callback: Callback = {
  object: 'callback',
  id: 'cb_01k9000000000000000000000c',
  livemode: false,
  phone: '+15550100123',
  name: 'Alice',
  status: 'pending',
  source: 'api',
  site_id: null,
  due_at: CREATED,
  window_end: null,
  priority: 5,
  route: 'agent_queue',
  queue_id: 'q_01k9000000000000000000000b',
  agent_id: null,
  assistant_id: null,
  attempts: 0,
  max_attempts: 3,
  last_attempt_at: null,
  last_result: null,
  call_id: null,
  origin_call_id: null,
  notes: '',
  summary: null,
  sla_at: '2026-11-01T10:00:00.000Z',
  merged_requests: 0,
  context: { web: null },
  metadata: { order: '42' },
  completed_at: null,
  created: CREATED,
  updated: CREATED,
}

export const callbackEvents = {
  'callback.created': of(callbackSchema, callback),
  'callback.merged': of(callbackSchema, { ...callback, merged_requests: 1 }),
  'callback.offered': of(callbackSchema, { ...callback, status: 'offered' }),
  'callback.dialing': of(callbackSchema, {
    ...callback,
    status: 'dialing',
    attempts: 1,
    last_attempt_at: CREATED,
    call_id: CALL_ID,
  }),
  'callback.connected': of(callbackSchema, {
    ...callback,
    status: 'connected',
    attempts: 1,
    last_attempt_at: CREATED,
    last_result: 'answered',
    call_id: CALL_ID,
  }),
  'callback.attempt_failed': of(callbackSchema, {
    ...callback,
    attempts: 1,
    last_attempt_at: CREATED,
    last_result: 'no-answer',
  }),
  'callback.sla_missed': of(callbackSchema, callback),
  'callback.failed': of(callbackSchema, {
    ...callback,
    status: 'failed',
    attempts: 3,
    last_attempt_at: CREATED,
    last_result: 'busy',
  }),
  'callback.completed': of(callbackSchema, {
    ...callback,
    status: 'completed',
    last_result: 'done-manually',
    notes: '[2026-11-01T09:30:00.000Z, Front desk] Came to the shop.',
    completed_at: '2026-11-01T09:30:00.000Z',
  }),
  'callback.cancelled': of(callbackSchema, { ...callback, status: 'cancelled' }),
  'callback.expired': of(callbackSchema, { ...callback, status: 'expired' }),
} as const satisfies Record<string, EventKind>

declare module '../kernel/events/catalog.ts' {
  interface EventTypes extends Record<keyof typeof callbackEvents, true> {}
}
