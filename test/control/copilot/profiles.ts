import { DEFAULT_SETTINGS } from '../../../control/copilot/profile.ts'
import type { ProfileSettings } from '../../../control/copilot/schema.ts'

const field = (key: string, label: string, more: Partial<ProfileSettings['fields'][number]> = {}) => ({
  ...{ key, label, type: 'text' as const, hint: '', options: [], pattern: '', required: false },
  ...more,
})

/** A profile with something of everything. */
export const PROFILE: ProfileSettings = {
  ...DEFAULT_SETTINGS,
  stages: [
    {
      key: 'open',
      label: 'Opening',
      goal: 'Know who calls',
      checklist: [
        { key: 'greet', label: 'Greet', ask: '', phrases: ['thank you for calling'], required: true },
        { key: 'verify', label: 'Verify', ask: '', phrases: ['account number'], required: true },
      ],
    },
    {
      key: 'need',
      label: 'Need',
      goal: '',
      checklist: [{ key: 'reason', label: 'Reason', ask: 'How can I help you today?', phrases: [], required: false }],
    },
    {
      key: 'close',
      label: 'Close',
      goal: '',
      checklist: [{ key: 'goodbye', label: 'Goodbye', ask: '', phrases: ['have a nice day'], required: false }],
    },
  ],
  objections: [
    {
      key: 'price',
      label: 'Too expensive',
      examples: ['That costs too much money', 'it is too expensive'],
      triggers: ['cheaper elsewhere'],
      response: 'It pays for itself.',
      follow_up: 'What is your budget?',
      kb_query: 'price',
    },
  ],
  fields: [
    field('phone', 'Phone number', { type: 'phone' }),
    field('email', 'Email', { type: 'email' }),
    field('name', 'Name', { type: 'name' }),
    field('seats', 'Number of seats', { type: 'number' }),
    field('plan', 'Plan', { type: 'choice', options: ['basic', 'premium', 'premium plus'] }),
    field('owner', 'Account owner', { type: 'boolean' }),
    field('visit', 'Visit', { type: 'date' }),
    field('at', 'Time', { type: 'time' }),
    field('budget', 'Budget', { type: 'money' }),
    field('street', 'Address', { type: 'address' }),
    field('order', 'Order', { pattern: '[A-Z]{2}[0-9]{4}' }),
  ],
  alerts: [
    {
      key: 'cancel',
      kind: 'phrase',
      label: 'Wants to cancel',
      message: '',
      notify_supervisor: true,
      phrases: ['cancel my contract'],
      severity: 'critical',
      threshold: 0,
    },
    {
      key: 'boss',
      kind: 'customer_asks_for_supervisor',
      label: 'Wants a supervisor',
      message: '',
      notify_supervisor: true,
      phrases: [],
      severity: 'warning',
      threshold: 0,
    },
    {
      key: 'mood',
      kind: 'sentiment',
      label: 'Angry',
      message: '',
      notify_supervisor: false,
      phrases: [],
      severity: 'warning',
      threshold: 0.5,
    },
    {
      key: 'quiet',
      kind: 'silence',
      label: 'Silence',
      message: '',
      notify_supervisor: false,
      phrases: [],
      severity: 'info',
      threshold: 20,
    },
    {
      key: 'long',
      kind: 'monologue',
      label: 'Monologue',
      message: '',
      notify_supervisor: false,
      phrases: [],
      severity: 'info',
      threshold: 90,
    },
    {
      key: 'share',
      kind: 'talk_ratio',
      label: 'Talks too much',
      message: '',
      notify_supervisor: false,
      phrases: [],
      severity: 'info',
      threshold: 0.9,
    },
    {
      key: 'told',
      kind: 'missed_disclosure',
      label: 'Not told',
      message: 'Tell them',
      notify_supervisor: true,
      phrases: [],
      severity: 'critical',
      threshold: 0,
    },
    {
      key: 'twice',
      kind: 'forbidden_phrase',
      label: 'Promised twice',
      message: '',
      notify_supervisor: false,
      phrases: [],
      severity: 'warning',
      threshold: 2,
    },
  ],
  compliance: {
    required_disclosures: [
      { key: 'recorded', label: 'Recording', text: 'This call is recorded', phrases: [], within_seconds: 60 },
    ],
    forbidden_phrases: [
      { phrase: 'we guarantee', instead: 'we expect', reason: 'Nobody can promise it.', severity: 'critical' },
    ],
  },
}
