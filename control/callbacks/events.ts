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

export const CALLBACK_SAMPLES = {
  callback,
  mergedCallback: { ...callback, merged_requests: 1 },
  offeredCallback: { ...callback, status: 'offered' },
  dialingCallback: { ...callback, status: 'dialing', attempts: 1, last_attempt_at: CREATED, call_id: CALL_ID },
  connectedCallback: {
    ...callback,
    status: 'connected',
    attempts: 1,
    last_attempt_at: CREATED,
    last_result: 'answered',
    call_id: CALL_ID,
  },
  retriedCallback: { ...callback, attempts: 1, last_attempt_at: CREATED, last_result: 'no-answer' },
  failedCallback: { ...callback, status: 'failed', attempts: 3, last_attempt_at: CREATED, last_result: 'busy' },
  completedCallback: {
    ...callback,
    status: 'completed',
    last_result: 'done-manually',
    notes: '[2026-11-01T09:30:00.000Z, Front desk] Came to the shop.',
    completed_at: '2026-11-01T09:30:00.000Z',
  },
  cancelledCallback: { ...callback, status: 'cancelled' },
  expiredCallback: { ...callback, status: 'expired' },
} as const satisfies Record<string, object>

/** The events of this noun (`docs` shows them from here). */
export const callbackEvents = {
  'callback.created': of(callbackSchema, CALLBACK_SAMPLES.callback),
  'callback.merged': of(callbackSchema, CALLBACK_SAMPLES.mergedCallback),
  'callback.offered': of(callbackSchema, CALLBACK_SAMPLES.offeredCallback),
  'callback.dialing': of(callbackSchema, CALLBACK_SAMPLES.dialingCallback),
  'callback.connected': of(callbackSchema, CALLBACK_SAMPLES.connectedCallback),
  'callback.attempt_failed': of(callbackSchema, CALLBACK_SAMPLES.retriedCallback),
  'callback.sla_missed': of(callbackSchema, CALLBACK_SAMPLES.callback),
  'callback.failed': of(callbackSchema, CALLBACK_SAMPLES.failedCallback),
  'callback.completed': of(callbackSchema, CALLBACK_SAMPLES.completedCallback),
  'callback.cancelled': of(callbackSchema, CALLBACK_SAMPLES.cancelledCallback),
  'callback.expired': of(callbackSchema, CALLBACK_SAMPLES.expiredCallback),
} as const satisfies Record<string, EventKind>

declare module '../kernel/events/catalog.ts' {
  interface EventTypes extends Record<keyof typeof callbackEvents, true> {}
}
