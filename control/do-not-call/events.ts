import { type EventKind, eventKind as of } from '../kernel/events/catalog.ts'
import { CREATED } from '../kernel/events/sample-call.ts'
import { type DoNotCallNumber, doNotCallSchema } from './schema.ts'

const number: DoNotCallNumber = {
  object: 'do_not_call_number',
  id: 'dnc_01k90000000000000000000071',
  livemode: true,
  phone: '+15550100142',
  reason: 'Please do not call me again.',
  source: 'call',
  call_id: 'call_01k90000000000000000000001',
  import_id: null,
  expires_at: null,
  created: CREATED,
}

export const doNotCallEvents = {
  'do_not_call_number.created': of(doNotCallSchema, number),
  'do_not_call_number.deleted': of(doNotCallSchema, number),
} as const satisfies Record<string, EventKind>

declare module '../kernel/events/catalog.ts' {
  interface EventTypes extends Record<keyof typeof doNotCallEvents, true> {}
}
