import { type EventKind, eventKind as of } from '../kernel/events/catalog.ts'
import { ANSWERED, CALL_ID, CREATED, PARTICIPANT_ID, ROOM_ID } from '../kernel/events/sample-call.ts'
import {
  type CallAnsweredBy,
  callAnsweredBySchema,
  type MachineMessage,
  machineMessageSchema,
} from './answering/schema.ts'
import { type Call, type CallQuality, callQualitySchema, callSchema } from './call-schema.ts'
import { type CallRecording, callRecordingSchema } from './capture/recording-schema.ts'
import { type MediaStream, mediaStreamSchema } from './capture/stream-schema.ts'
import { type CallDtmf, callDtmfSchema } from './dtmf-schema.ts'
import { type CallFax, type CallFaxTone, callFaxSchema, callFaxToneSchema } from './fax-schema.ts'
import { type CallOneWay, callOneWaySchema } from './one-way-schema.ts'
import { type CallPci, callPciSchema } from './pci.ts'
import { type CallSpeaking, callSpeakingSchema } from './sound/speaking-schema.ts'

export const queuedCall: Call = {
  id: CALL_ID,
  object: 'call',
  livemode: false,
  kind: 'party',
  status: 'queued',
  direction: 'outbound',
  to: 'sip:alice@example.com',
  from: '+15550100100',
  room_id: ROOM_ID,
  queue_id: null,
  user_id: null,
  connection_id: null,
  identity: null,
  redirected_from: [],
  answering_machine_detection: null,
  answered_by: null,
  record: false,
  ended_reason: null,
  sip_code: null,
  cause: null,
  quality: [],
  duration_ms: null,
  metadata: { order: '42' },
  created: CREATED,
  ringing_at: null,
  answered_at: null,
  ended_at: null,
}

const ringingCall: Call = { ...queuedCall, status: 'ringing', ringing_at: '2026-11-01T09:00:01.000Z' }

export const answeredCall: Call = { ...ringingCall, status: 'in_progress', answered_at: ANSWERED }

export const endedCall: Call = {
  ...answeredCall,
  status: 'completed',
  ended_reason: 'caller_hangup',
  ended_at: '2026-11-01T09:02:34.000Z',
  duration_ms: 150_000,
  quality: [
    {
      participant_id: PARTICIPANT_ID,
      codec: 'PCMU',
      packets_received: 7500,
      packets_sent: 7500,
      packets_lost: 3,
      packets_late: 1,
      loss_pct: 0.04,
      concealed_pct: 0.05,
      burst_ratio: 1,
      jitter_ms: 1.2,
      round_trip_ms: 24,
      delay_ms: 62,
      clock_drift_ppm: 14,
      mos: 4.4,
    },
  ],
}

const oneWay: CallOneWay = {
  object: 'call_one_way',
  call_id: CALL_ID,
  participant_id: PARTICIPANT_ID,
  livemode: false,
  packets_sent: 750,
  packets_received: 0,
}

const answeredBy: CallAnsweredBy = {
  object: 'call_answered_by',
  call_id: CALL_ID,
  participant_id: PARTICIPANT_ID,
  livemode: false,
  answered_by: 'machine',
  cause: 'long_greeting',
  ms: 2960,
}

const machineMessage: MachineMessage = {
  object: 'call_machine_message',
  call_id: CALL_ID,
  participant_id: PARTICIPANT_ID,
  livemode: false,
  ended: 'beep',
  ms: 8420,
}

const faxTone: CallFaxTone = {
  object: 'call_fax_tone',
  call_id: CALL_ID,
  participant_id: PARTICIPANT_ID,
  livemode: false,
  tone: 'cng',
}

const poor: CallQuality = {
  object: 'call_quality',
  call_id: CALL_ID,
  participant_id: PARTICIPANT_ID,
  livemode: false,
  codec: 'PCMU',
  packets_received: 1380,
  packets_sent: 1500,
  packets_lost: 90,
  packets_late: 30,
  loss_pct: 6.12,
  concealed_pct: 8.4,
  burst_ratio: 1.6,
  jitter_ms: 48.2,
  round_trip_ms: 180,
  delay_ms: 210,
  clock_drift_ppm: -9,
  mos: 3.42,
}

const fax: CallFax = {
  object: 'call_fax',
  call_id: CALL_ID,
  livemode: false,
  participant_ids: [PARTICIPANT_ID, 'part_01k90000000000000000000002'],
}

const dtmf: CallDtmf = {
  object: 'call_dtmf',
  call_id: CALL_ID,
  participant_id: PARTICIPANT_ID,
  livemode: false,
  digit: '5',
  masked: false,
}

const speaking: CallSpeaking = {
  object: 'call_speaking',
  call_id: CALL_ID,
  session_call_id: null,
  participant_id: PARTICIPANT_ID,
  livemode: false,
  speaking: true,
}

const running: CallPci = {
  object: 'call_pci',
  call_id: CALL_ID,
  livemode: false,
  paused: false,
  reason: null,
  paused_at: null,
  resumes_at: null,
  destination_participant_id: null,
}

const paused: CallPci = {
  ...running,
  paused: true,
  reason: 'payment',
  paused_at: '2026-11-01T09:01:00.000Z',
  resumes_at: '2026-11-01T09:06:00.000Z',
}

const stream: MediaStream = {
  id: 'ms_01k90000000000000000000005',
  object: 'media_stream',
  livemode: false,
  call_id: CALL_ID,
  mode: 'fork',
  url: 'wss://receiver.example.com/audio',
  tracks: 'both',
  format: 'mulaw_8000',
  custom_parameters: {},
  status: 'streaming',
  frames_sent: 0,
  frames_dropped: 0,
  frames_received: 0,
  frames_refused: 0,
  ended_reason: null,
  ended_detail: null,
  created: ANSWERED,
}

const recording: CallRecording = {
  object: 'call_recording',
  call_id: CALL_ID,
  livemode: false,
  status: 'ready',
  content_type: 'audio/wav',
  sample_rate: 8000,
  duration_ms: 150_000,
  size_bytes: 2_400_044,
  channels: [
    { kind: 'participant', participant_id: PARTICIPANT_ID },
    { kind: 'product', participant_id: null },
  ],
  segments: [{ from_ms: 56_000, to_ms: 80_000, reason: 'payment' }],
  created: ANSWERED,
}
/** Before its file is written, or without one. */
const fileless = { ...recording, sample_rate: null, duration_ms: null, size_bytes: null, channels: [], segments: [] }

export const callEvents = {
  'call.created': of(callSchema, queuedCall),
  'call.ringing': of(callSchema, ringingCall),
  'call.answered': of(callSchema, answeredCall),
  'call.held': of(callSchema, { ...answeredCall, status: 'held' }),
  'call.resumed': of(callSchema, answeredCall),
  'call.transferred': of(callSchema, answeredCall),
  'call.ended': of(callSchema, endedCall),
  'call.dtmf': of(callDtmfSchema, dtmf),
  'call.fax.started': of(callFaxSchema, fax),
  'call.fax.ended': of(callFaxSchema, fax),
  'call.audio.one_way': of(callOneWaySchema, oneWay),
  'call.speaking.started': of(callSpeakingSchema, speaking),
  'call.speaking.stopped': of(callSpeakingSchema, { ...speaking, speaking: false }),
  'call.answered_by': of(callAnsweredBySchema, answeredBy),
  'call.machine.message_ended': of(machineMessageSchema, machineMessage),
  'call.fax.detected': of(callFaxToneSchema, faxTone),
  'call.quality.degraded': of(callQualitySchema, poor),
  'call.quality.recovered': of(callQualitySchema, { ...poor, mos: 3.9 }),
  'call.pci.paused': of(callPciSchema, paused),
  'call.pci.resumed': of(callPciSchema, running),
  'call.stream.started': of(mediaStreamSchema, stream),
  'call.stream.stalled': of(mediaStreamSchema, { ...stream, status: 'stalled', frames_sent: 1500 }),
  'call.stream.reconnecting': of(mediaStreamSchema, { ...stream, status: 'reconnecting', frames_sent: 1500 }),
  'call.stream.stopped': of(mediaStreamSchema, {
    ...stream,
    status: 'stopped',
    frames_sent: 15_000,
    ended_reason: 'call_ended',
  }),
  'call.stream.failed': of(mediaStreamSchema, {
    ...stream,
    status: 'failed',
    ended_reason: 'connect_failed',
    ended_detail: 'certificate has expired',
  }),
  'call.recording.paused': of(callRecordingSchema, { ...fileless, status: 'paused' }),
  'call.recording.resumed': of(callRecordingSchema, { ...fileless, status: 'recording' }),
  'call.recording.ready': of(callRecordingSchema, recording),
  'call.recording.failed': of(callRecordingSchema, { ...fileless, status: 'failed' }),
} as const satisfies Record<string, EventKind>

declare module '../kernel/events/catalog.ts' {
  interface EventTypes extends Record<keyof typeof callEvents, true> {}
}
