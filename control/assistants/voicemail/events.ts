import { type EventKind, eventKind as of } from '../../kernel/events/catalog.ts'
import { ANSWERED, CALL_ID } from '../../kernel/events/sample-call.ts'
import { type Voicemail, voicemailSchema } from '../voicemail-schema.ts'

const voicemail: Voicemail = {
  id: 'vm_01k9000000000000000000001e',
  object: 'voicemail',
  livemode: false,
  call_id: CALL_ID,
  queue_id: 'q_01k9000000000000000000000b',
  user_id: null,
  from: '+15550100100',
  status: 'ready',
  duration_ms: 12_000,
  created: ANSWERED,
}

export const voicemailEvents = {
  'voicemail.created': of(voicemailSchema, voicemail),
} as const satisfies Record<string, EventKind>

declare module '../../kernel/events/catalog.ts' {
  interface EventTypes extends Record<keyof typeof voicemailEvents, true> {}
}
