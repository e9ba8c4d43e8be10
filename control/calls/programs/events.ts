import { type EventKind, eventKind as of } from '../../kernel/events/catalog.ts'
import { ANSWERED, CALL_ID, PARTICIPANT_ID } from '../../kernel/events/sample-call.ts'
import { type CallProgram, type CallStep, callProgramSchema, callStepSchema } from './step-schema.ts'
import {
  type CallTranscript,
  type CallTranscriptSegment,
  callTranscriptSchema,
  callTranscriptSegmentSchema,
} from './transcript-schema.ts'

const program: CallProgram = {
  object: 'call_flow_run',
  call_id: CALL_ID,
  livemode: false,
  kind: 'flow',
  flow_id: 'flow_01k9000000000000000000000f',
  flow_version: 1,
  assistant_id: null,
  status: 'running',
  end_reason: null,
  ended_at: null,
}

const step: CallStep = {
  id: 'step_01k9000000000000000000001d',
  object: 'call_step',
  livemode: false,
  call_id: CALL_ID,
  kind: 'node',
  node: { from_node_key: 'start', node_key: 'menu', node_type: 'menu', transition_key: 'start.0', via: 'always' },
  turn: null,
  action: null,
  timing: null,
  at: ANSWERED,
}

const transcript: CallTranscript = {
  object: 'call_transcript',
  call_id: CALL_ID,
  livemode: false,
  status: 'ready',
  failed_reason: null,
  language: 'en',
  duration_ms: 150_000,
  segments: [
    {
      speaker: 'participant',
      participant_id: PARTICIPANT_ID,
      text: 'When are you open?',
      start_ms: 4200,
      end_ms: 5600,
    },
    {
      speaker: 'product',
      participant_id: PARTICIPANT_ID,
      text: 'We are open from nine to five.',
      start_ms: 6300,
      end_ms: 8100,
    },
  ],
  created: ANSWERED,
}

const transcriptSegment: CallTranscriptSegment = {
  object: 'call_transcript_segment',
  id: 'seg_01k90000000000000000000021',
  call_id: CALL_ID,
  livemode: false,
  speaker: 'product',
  participant_id: PARTICIPANT_ID,
  text: 'We are open from nine to five.',
  start_ms: 6300,
  end_ms: 8100,
}

export const turnStep: CallStep = {
  ...step,
  kind: 'turn',
  node: null,
  turn: { node_key: 'menu', role: 'assistant', source: 'ai', text: 'We are open from nine to five.' },
  timing: {
    endpoint_ms: 700,
    transcribe_ms: 150,
    first_token_ms: 320,
    first_audio_ms: 1300,
    heard_ms: 1900,
    interrupted: false,
    model: 'offline',
    input_tokens: null,
    output_tokens: null,
  },
}

export const programEvents = {
  'call.flow.started': of(callProgramSchema, program),
  'call.flow.node': of(callStepSchema, step),
  'call.turn': of(callStepSchema, turnStep),
  'call.flow.action': of(callStepSchema, {
    ...step,
    kind: 'action',
    node: null,
    action: {
      node_key: 'book',
      kind: 'callback',
      name: 'callback',
      input: {},
      output: null,
      dry_run: false,
      status: 'succeeded',
    },
  }),
  'call.flow.ended': of(callProgramSchema, {
    ...program,
    status: 'ended',
    end_reason: 'end_node',
    ended_at: '2026-11-01T09:02:34.000Z',
  }),
  'call.transcript.segment': of(callTranscriptSegmentSchema, transcriptSegment),
  'call.transcript.ready': of(callTranscriptSchema, transcript),
  'call.transcript.failed': of(callTranscriptSchema, {
    ...transcript,
    status: 'failed',
    failed_reason: 'no engine understands fr',
    duration_ms: null,
    segments: [],
  }),
} as const satisfies Record<string, EventKind>

declare module '../../kernel/events/catalog.ts' {
  interface EventTypes extends Record<keyof typeof programEvents, true> {}
}
