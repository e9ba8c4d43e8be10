import { type EventKind, eventKind as of } from '../kernel/events/catalog.ts'
import { CREATED } from '../kernel/events/sample-call.ts'
import { type Message, messageSchema } from './schema.ts'

const received: Message = {
  id: 'msg_01k90000000000000000000001',
  object: 'message',
  livemode: false,
  direction: 'inbound',
  from_user_id: 'usr_01k9000000000000000000000a',
  to_user_id: null,
  to: '1004',
  text: 'Lunch at one?',
  status: 'received',
  sip_code: null,
  created: CREATED,
}
const sent: Message = {
  ...received,
  ...{ direction: 'outbound', from_user_id: null, to_user_id: received.from_user_id, to: null },
}

export const messageEvents = {
  'message.received': of(messageSchema, received),
  'message.delivered': of(messageSchema, { ...sent, status: 'delivered', sip_code: 200 }),
  'message.failed': of(messageSchema, { ...sent, status: 'failed', sip_code: 408 }),
} as const satisfies Record<string, EventKind>

declare module '../kernel/events/catalog.ts' {
  interface EventTypes extends Record<keyof typeof messageEvents, true> {}
}
