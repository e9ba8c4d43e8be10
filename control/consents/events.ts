import { type EventKind, eventKind as of } from '../kernel/events/catalog.ts'
import { CREATED } from '../kernel/events/sample-call.ts'
import { type Consent, consentSchema } from './schema.ts'
import { NO_EVIDENCE } from './tables.ts'

const given: Consent = {
  id: 'cns_01k90000000000000000000072',
  object: 'consent',
  livemode: true,
  phone: '+15550100142',
  purpose: 'record',
  status: 'active',
  evidence: { ...NO_EVIDENCE, type: 'call', call_id: 'call_01k90000000000000000000001', offset_ms: 4200 },
  given_at: CREATED,
  expires_at: null,
  revoked_at: null,
  revocation: null,
  metadata: {},
  created: CREATED,
  updated: CREATED,
}

const revoked: Consent = {
  ...given,
  status: 'revoked',
  revoked_at: CREATED,
  revocation: { reason: 'Please do not record me.', call_id: null },
}

export const consentEvents = {
  'consent.created': of(consentSchema, given),
  'consent.revoked': of(consentSchema, revoked),
} as const satisfies Record<string, EventKind>

declare module '../kernel/events/catalog.ts' {
  interface EventTypes extends Record<keyof typeof consentEvents, true> {}
}
