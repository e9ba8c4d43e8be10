import { type EventKind, eventKind as of } from '../kernel/events/catalog.ts'
import { ANSWERED, CALL_ID, PARTICIPANT_ID } from '../kernel/events/sample-call.ts'
import { type QaEvaluation, qaEvaluationSchema } from './evaluation/schema.ts'
import { type CallSummary, callSummarySchema } from './summary/schema.ts'

const ENDED = '2026-11-01T09:02:34.000Z'
const USER_ID = 'usr_01k90000000000000000000030'

const said = {
  segment_id: 'seg_01k90000000000000000000031',
  participant_id: PARTICIPANT_ID,
  text: 'My invoice of October is wrong.',
  start_ms: 4200,
  end_ms: 6100,
}

const summary: CallSummary = {
  object: 'call_summary',
  call_id: CALL_ID,
  livemode: false,
  made_by: 'words',
  reason: 'My invoice of October is wrong.',
  outcome: 'It has been refunded.',
  next_steps: ['You will receive a new invoice tomorrow.'],
  fields: { invoice: '4711' },
  disposition: 'refunded',
  disposition_by: 'proposal',
  topics: ['invoice', 'october'],
  evidence: [said],
  corrected: [],
  corrected_at: null,
  corrected_by_user_id: null,
  created: ENDED,
  updated: ENDED,
}

const evaluation: QaEvaluation = {
  id: 'qa_01k90000000000000000000032',
  object: 'qa_evaluation',
  livemode: false,
  call_id: CALL_ID,
  user_id: USER_ID,
  queue_id: 'q_01k90000000000000000000033',
  copilot_profile_id: 'cop_01k90000000000000000000034',
  copilot_profile_version: 3,
  rubric: 'profile',
  status: 'scored',
  score: 100,
  criteria: [
    {
      key: 'greeting',
      label: 'Greets by name',
      weight: 1,
      score: 100,
      outcome: 'scored',
      scored_by: 'words',
      reason: 'It was said.',
      machine_score: 100,
      evidence: [{ ...said, text: 'Good morning, this is Ann.', start_ms: 800, end_ms: 2300 }],
    },
  ],
  automatic_failures: [],
  review: 'none',
  reviews: [],
  history: [],
  created: ANSWERED,
  updated: ENDED,
}

export const qualityEvents = {
  'call.summary.ready': of(callSummarySchema, summary),
  'call.summary.corrected': of(callSummarySchema, {
    ...summary,
    disposition_by: 'person',
    corrected: ['disposition'],
    corrected_at: ENDED,
    corrected_by_user_id: USER_ID,
  }),
  'qa_evaluation.scored': of(qaEvaluationSchema, evaluation),
  'qa_evaluation.changed': of(qaEvaluationSchema, {
    ...evaluation,
    score: 80,
    criteria: [
      { ...evaluation.criteria[0]!, score: 80, scored_by: 'person', reason: 'She did not say from where she calls.' },
    ],
    review: 'done',
    history: [
      {
        at: ENDED,
        by_user_id: USER_ID,
        reason: 'She did not say from where she calls.',
        changes: [{ key: 'greeting', from: '100', to: '80' }],
      },
    ],
  }),
} as const satisfies Record<string, EventKind>

declare module '../kernel/events/catalog.ts' {
  interface EventTypes extends Record<keyof typeof qualityEvents, true> {}
}
