import { type EventKind, eventKind as of } from '../kernel/events/catalog.ts'
import { CREATED } from '../kernel/events/sample-call.ts'
import { type PartnerOrganisation, partnerOrganisationSchema } from '../usage/client.ts'

const organisation: PartnerOrganisation = {
  id: 'org_01k90000000000000000000001',
  object: 'partner_organisation',
  livemode: true,
  name: 'Client',
  suspended: false,
  limits: { requests_per_second: 20, concurrent_calls: 10, call_minutes_per_month: null },
  limits_reached: { concurrent_calls: null, call_minutes_per_month: null },
  created: CREATED,
  updated: CREATED,
}

export const partnerEvents = {
  'partner.organisation.created': of(partnerOrganisationSchema, organisation),
  'partner.organisation.suspended': of(partnerOrganisationSchema, { ...organisation, suspended: true }),
  'partner.organisation.resumed': of(partnerOrganisationSchema, organisation),
  'partner.organisation.limit_reached': of(partnerOrganisationSchema, {
    ...organisation,
    limits_reached: { concurrent_calls: CREATED, call_minutes_per_month: null },
  }),
  'partner.organisation.handed_over': of(partnerOrganisationSchema, organisation),
} as const satisfies Record<string, EventKind>

declare module '../kernel/events/catalog.ts' {
  interface EventTypes extends Record<keyof typeof partnerEvents, true> {}
}
