import { type EventKind, eventKind as of } from '../../kernel/events/catalog.ts'
import { ANSWERED, CALL_ID, PARTICIPANT_ID } from '../../kernel/events/sample-call.ts'
import { type CopilotAlert, copilotAlertSchema } from './alert-schema.ts'
import { type CopilotSession, copilotSessionSchema } from './session-schema.ts'

const SESSION_ID = 'cops_01k9000000000000000000000k'

const session: CopilotSession = {
  id: SESSION_ID,
  object: 'copilot_session',
  livemode: false,
  status: 'running',
  call_id: CALL_ID,
  participant_id: PARTICIPANT_ID,
  user_id: 'usr_01k9000000000000000000000a',
  queue_id: 'q_01k9000000000000000000000b',
  profile_id: 'cop_01k9000000000000000000000c',
  profile_version: 3,
  script: null,
  hearing: 'running',
  hearing_reason: null,
  stage: 'opening',
  stages: [
    {
      key: 'opening',
      label: 'Opening',
      goal: 'Know who calls.',
      checklist: [
        { key: 'name', label: 'Name', ask: 'May I have your name?', required: true, done: true, by: 'heard' },
      ],
    },
  ],
  fields: [
    { key: 'phone', label: 'Phone', type: 'phone', required: false, options: [], value: '+14155550123', by: 'heard' },
  ],
  disclosures: [{ key: 'recorded', label: 'Recording', text: 'This call is recorded.', status: 'said' }],
  showing: [],
  mood: 'neutral',
  figures: { talk_ratio: 0.4, monologue_seconds: 0, silence_seconds: 1.5, words_per_minute: 140 },
  links: [],
  last_message_id: null,
  created: ANSWERED,
  ended_at: null,
}

const alert: CopilotAlert = {
  id: 'copm_01k900000000000000000000e1',
  object: 'copilot_alert',
  livemode: false,
  session_id: SESSION_ID,
  call_id: CALL_ID,
  user_id: 'usr_01k9000000000000000000000a',
  queue_id: 'q_01k9000000000000000000000b',
  key: 'cancel',
  kind: 'phrase',
  label: 'Wants to cancel',
  message: 'The customer speaks of leaving.',
  severity: 'critical',
  utterance_ids: ['u_7'],
}

export const copilotEvents = {
  'copilot.session.started': of(copilotSessionSchema, session),
  'copilot.session.ended': of(copilotSessionSchema, {
    ...session,
    status: 'ended',
    ended_at: '2026-11-01T09:02:34.000Z',
  }),
  'copilot.alert': of(copilotAlertSchema, alert),
} as const satisfies Record<string, EventKind>

declare module '../../kernel/events/catalog.ts' {
  interface EventTypes extends Record<keyof typeof copilotEvents, true> {}
}
