import { type EventKind, eventKind as of } from '../kernel/events/catalog.ts'
import { CREATED } from '../kernel/events/sample-call.ts'
import { type CampaignContact, contactSchema } from './contact-schema.ts'
import { type Campaign, campaignSchema, DEFAULT_SETTINGS } from './schema.ts'

const running: Campaign = {
  id: 'cmp_01k90000000000000000000001',
  object: 'campaign',
  livemode: true,
  name: 'Reminders',
  status: 'running',
  ...DEFAULT_SETTINGS,
  assistant_id: 'asst_01k9000000000000000000000a',
  metadata: {},
  started_at: CREATED,
  ended_at: null,
  created: CREATED,
  updated: CREATED,
}
const ended: Campaign = { ...running, ended_at: '2026-11-01T18:00:00.000Z' }

const contact: CampaignContact = {
  id: 'cct_01k90000000000000000000001',
  object: 'campaign_contact',
  livemode: true,
  campaign_id: running.id,
  phone: '+15550100123',
  name: 'Alice',
  timezone: 'America/New_York',
  metadata: { order: '42' },
  status: 'completed',
  attempts: 2,
  next_attempt_at: null,
  last_attempt_at: CREATED,
  last_result: 'answered',
  call_id: null,
  claimed_by: null,
  claimed_until: null,
  skip_reason: null,
  created: CREATED,
  updated: CREATED,
}

const claimed: CampaignContact = {
  ...contact,
  status: 'pending',
  claimed_by: 'usr_01k9000000000000000000000a',
  claimed_until: '2026-11-01T09:02:00.000Z',
}

export const campaignEvents = {
  'campaign.started': of(campaignSchema, running),
  'campaign.paused': of(campaignSchema, { ...running, status: 'paused' } satisfies Campaign),
  'campaign.resumed': of(campaignSchema, running),
  'campaign.stopped': of(campaignSchema, { ...ended, status: 'stopped' } satisfies Campaign),
  'campaign.completed': of(campaignSchema, { ...ended, status: 'completed' } satisfies Campaign),
  'campaign.archived': of(campaignSchema, { ...ended, status: 'archived' } satisfies Campaign),
  'campaign.contact.claimed': of(contactSchema, claimed),
  'campaign.contact.skipped': of(contactSchema, { ...contact, status: 'failed', last_result: 'skipped' }),
  'campaign.contact.finished': of(contactSchema, contact),
} as const satisfies Record<string, EventKind>

declare module '../kernel/events/catalog.ts' {
  interface EventTypes extends Record<keyof typeof campaignEvents, true> {}
}
