import { NO_CAPTURE } from '../capture/settings.ts'
import type { AgentStatus } from '../schemas/agent-status.ts'
import type { Call } from '../schemas/call.ts'
import type { CallDtmf } from '../schemas/call-dtmf.ts'
import type { CallOneWay } from '../schemas/call-one-way.ts'
import type { CallPci } from '../schemas/call-pci.ts'
import type { CallRecording } from '../schemas/call-recording.ts'
import type { CallProgram, CallStep } from '../schemas/call-step.ts'
import type { CallTranscript, CallTranscriptSegment } from '../schemas/call-transcript.ts'
import type { Callback } from '../schemas/callback.ts'
import type { ConferenceSession } from '../schemas/conference-session.ts'
import type { Connection } from '../schemas/connection.ts'
import type { FlowObject } from '../schemas/flow.ts'
import type { KbDocument } from '../schemas/kb-document.ts'
import type { MediaStream } from '../schemas/media-stream.ts'
import type { Participant } from '../schemas/participant.ts'
import type { PhoneNumber } from '../schemas/phone-number.ts'
import type { QueueCall } from '../schemas/queue-call.ts'
import type { ReportRun } from '../schemas/report-run.ts'
import type { Voicemail } from '../schemas/voicemail.ts'
import type { WebhookEndpoint } from '../schemas/webhook-endpoint.ts'

/** One believable object of each kind that events carry: a call of two and a half minutes into a conference room. */

const CREATED = '2026-11-01T09:00:00.000Z'
const ANSWERED = '2026-11-01T09:00:04.000Z'
const CALL_ID = 'call_01k90000000000000000000001'
const SESSION_ID = 'call_01k90000000000000000000002'
const PARTICIPANT_ID = 'part_01k90000000000000000000003'
const ROOM_ID = 'room_01k90000000000000000000004'

const queuedCall: Call = {
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
  record: false,
  ended_reason: null,
  sip_code: null,
  quality: [],
  duration_ms: null,
  metadata: { order: '42' },
  created: CREATED,
  ringing_at: null,
  answered_at: null,
  ended_at: null,
}
const ringingCall: Call = { ...queuedCall, status: 'ringing', ringing_at: '2026-11-01T09:00:01.000Z' }
const answeredCall: Call = { ...ringingCall, status: 'in_progress', answered_at: ANSWERED }
const endedCall: Call = {
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
      loss_pct: 0.04,
      jitter_ms: 1.2,
      round_trip_ms: 24,
      mos: 4.4,
    },
  ],
}
const session: Call = { ...answeredCall, id: SESSION_ID, kind: 'conference', direction: 'inbound' }

const participant: Participant = {
  id: PARTICIPANT_ID,
  object: 'participant',
  livemode: false,
  call_id: CALL_ID,
  session_call_id: SESSION_ID,
  room_id: ROOM_ID,
  status: 'joined',
  role: 'member',
  address: 'sip:alice@example.com',
  direction: 'outbound',
  muted: false,
  deaf: false,
  held: false,
  joined_at: ANSWERED,
  left_at: null,
  created: CREATED,
}

const oneWay: CallOneWay = {
  object: 'call_one_way',
  call_id: CALL_ID,
  participant_id: PARTICIPANT_ID,
  livemode: false,
  packets_sent: 750,
  packets_received: 0,
}

const dtmf: CallDtmf = {
  object: 'call_dtmf',
  call_id: CALL_ID,
  participant_id: PARTICIPANT_ID,
  livemode: false,
  digit: '5',
  masked: false,
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
  ended_reason: null,
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

const registeredConnection: Connection = {
  id: 'conn_01k90000000000000000000040',
  object: 'connection',
  livemode: true,
  name: 'Carrier',
  kind: 'registration',
  host: 'sip.example.com',
  port: 5060,
  transport: 'udp',
  auth: { username: '15550100100' },
  allowed_ips: [],
  codecs: ['PCMU', 'PCMA'],
  dtmf_mode: 'auto',
  srtp: 'off',
  max_calls: null,
  enabled: true,
  status: 'registered',
  sip_code: null,
  created: CREATED,
  updated: CREATED,
}
const reachableConnection: Connection = { ...registeredConnection, kind: 'trunk', status: 'reachable' }
const unreachableConnection: Connection = { ...registeredConnection, status: 'unreachable', sip_code: 403 }

const phoneNumber: PhoneNumber = {
  id: 'pn_01k90000000000000000000009',
  object: 'phone_number',
  livemode: false,
  number: '+15550100100',
  connection_id: null,
  payment_line: false,
  created: CREATED,
  updated: CREATED,
}

const conferenceSession: ConferenceSession = {
  id: SESSION_ID,
  object: 'conference_session',
  livemode: false,
  started_at: CREATED,
  duration_ms: 1_800_000,
  participants: 4,
  status: 'ended',
  notes: {
    summary: 'The team agreed on the date of the release.',
    decisions: ['Release on Thursday.'],
    action_items: ['Ann writes the announcement.'],
  },
}

const queueCall: QueueCall = {
  object: 'queue_call',
  call_id: CALL_ID,
  livemode: false,
  queue_id: 'q_01k9000000000000000000000b',
  position: 2,
  joined_at: CREATED,
  wait_ms: 0,
  offered_to: null,
  outcome: null,
}

const agentStatus: AgentStatus = {
  object: 'agent_status',
  livemode: false,
  user_id: 'usr_01k9000000000000000000000a',
  status: 'available',
  since: CREATED,
  ringing: false,
  queue_ids: ['q_01k9000000000000000000000b'],
  call: null,
  wrap_up_until: null,
}

const endpoint: WebhookEndpoint = {
  id: 'we_01k9000000000000000000000c',
  object: 'webhook_endpoint',
  livemode: false,
  url: 'https://example.com/webhooks',
  description: 'Call log',
  event_types: ['call.ended', 'call.recording.ready'],
  status: 'enabled',
  disabled_reason: null,
  failing_since: null,
  algorithm: 'ed25519',
  previous_algorithm: null,
  previous_expires_at: null,
  api_version: '2026-11-01',
  metadata: {},
  created: CREATED,
  updated: CREATED,
}

const flow: FlowObject = {
  ...NO_CAPTURE,
  id: 'flow_01k9000000000000000000000f',
  object: 'flow',
  livemode: false,
  name: 'Front desk',
  description: '',
  kind: 'voice',
  status: 'published',
  published_version: 1,
  latest_version: 1,
  draft_rev: 3,
  assistant_id: null,
  template_id: null,
  node_count: 5,
  updated: CREATED,
}

const callback: Callback = {
  object: 'callback',
  id: 'cb_01k9000000000000000000000c',
  livemode: false,
  phone: '+15550100123',
  name: 'Alice',
  status: 'pending',
  source: 'api',
  site_id: null,
  due_at: CREATED,
  window_end: null,
  priority: 5,
  route: 'agent_queue',
  queue_id: 'q_01k9000000000000000000000b',
  agent_id: null,
  assistant_id: null,
  attempts: 0,
  max_attempts: 3,
  last_attempt_at: null,
  last_result: null,
  call_id: null,
  origin_call_id: null,
  notes: '',
  summary: null,
  sla_at: '2026-11-01T10:00:00.000Z',
  merged_requests: 0,
  context: { web: null },
  metadata: { order: '42' },
  completed_at: null,
  created: CREATED,
  updated: CREATED,
}

const kbDocument: KbDocument = {
  id: 'kbd_01k9000000000000000000001a',
  object: 'kb_document',
  livemode: false,
  name: 'Opening hours.md',
  status: 'ready',
  error: null,
  size_bytes: 2048,
  passage_count: 3,
  metadata: {},
  created: CREATED,
}

const reportRun: ReportRun = {
  id: 'rptrun_01k9000000000000000000001b',
  object: 'report_run',
  livemode: false,
  report_id: 'rpt_01k9000000000000000000001c',
  status: 'sent',
  trigger: 'manual',
  period_from: '2026-10-31T00:00:00.000Z',
  period_to: '2026-11-01T00:00:00.000Z',
  started_at: CREATED,
  finished_at: '2026-11-01T09:00:02.000Z',
  error: null,
  artifacts: { csv: true, pdf: true },
  recipients: ['ann@example.com'],
  deliveries: [{ email: 'ann@example.com', status: 'sent', error: null }],
}
const REFUSED = '550 No such mailbox'

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
  node: {
    from_node_key: 'start',
    node_key: 'menu',
    node_type: 'menu',
    transition_key: 'start.0',
    via: 'always',
  },
  turn: null,
  action: null,
  timing: null,
  at: ANSWERED,
}
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

export const SAMPLES = {
  transcript,
  transcriptSegment,
  failedTranscript: {
    ...transcript,
    status: 'failed',
    failed_reason: 'no engine understands fr',
    duration_ms: null,
    segments: [],
  },
  program,
  endedProgram: { ...program, status: 'ended', end_reason: 'end_node', ended_at: '2026-11-01T09:02:34.000Z' },
  nodeStep: step,
  turnStep: {
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
  },
  actionStep: {
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
  },
  voicemail,
  reportRun,
  failedReportRun: {
    ...reportRun,
    status: 'failed',
    error: REFUSED,
    deliveries: [{ email: 'ann@example.com', status: 'failed', error: REFUSED }],
  },
  kbDocument,
  failedKbDocument: { ...kbDocument, name: 'Photo.jpg', status: 'failed', error: 'not_text', passage_count: 0 },
  callback,
  mergedCallback: { ...callback, merged_requests: 1 },
  conferenceSession,
  queueCall,
  offeredQueueCall: { ...queueCall, position: 1, wait_ms: 21_000, offered_to: 'usr_01k9000000000000000000000a' },
  leftQueueCall: { ...queueCall, position: 0, wait_ms: 26_000, outcome: 'answered' },
  overflowedQueueCall: { ...queueCall, position: 0, wait_ms: 300_000, outcome: 'max_wait' },
  offeredCallback: { ...callback, status: 'offered' },
  dialingCallback: { ...callback, status: 'dialing', attempts: 1, last_attempt_at: CREATED, call_id: CALL_ID },
  connectedCallback: {
    ...callback,
    status: 'connected',
    attempts: 1,
    last_attempt_at: CREATED,
    last_result: 'answered',
    call_id: CALL_ID,
  },
  retriedCallback: { ...callback, attempts: 1, last_attempt_at: CREATED, last_result: 'no-answer' },
  failedCallback: { ...callback, status: 'failed', attempts: 3, last_attempt_at: CREATED, last_result: 'busy' },
  completedCallback: {
    ...callback,
    status: 'completed',
    last_result: 'done-manually',
    notes: '[2026-11-01T09:30:00.000Z, Front desk] Came to the shop.',
    completed_at: '2026-11-01T09:30:00.000Z',
  },
  cancelledCallback: { ...callback, status: 'cancelled' },
  expiredCallback: { ...callback, status: 'expired' },
  endpoint,
  disabledEndpoint: {
    ...endpoint,
    status: 'disabled',
    disabled_reason: 'failing',
    failing_since: '2026-11-01T09:00:05.000Z',
    updated: '2026-11-06T09:30:00.000Z',
  },
  agentStatus,
  queuedCall,
  ringingCall,
  answeredCall,
  heldCall: { ...answeredCall, status: 'held' },
  endedCall,
  session,
  endedSession: { ...endedCall, id: SESSION_ID, kind: 'conference', direction: 'inbound', ended_reason: null },
  participant,
  leftParticipant: { ...participant, status: 'left', left_at: '2026-11-01T09:02:34.000Z' },
  dtmf,
  oneWay,
  registeredConnection,
  reachableConnection,
  unreachableConnection,
  phoneNumber,
  flow,
  archivedFlow: { ...flow, status: 'archived' },
  paused,
  running,
  stream,
  stalledStream: { ...stream, status: 'stalled', frames_sent: 1500 },
  reconnectingStream: { ...stream, status: 'reconnecting', frames_sent: 1500 },
  stoppedStream: { ...stream, status: 'stopped', frames_sent: 15_000, ended_reason: 'call_ended' },
  failedStream: { ...stream, status: 'failed', ended_reason: 'connect_failed' },
  recording,
  pausedRecording: {
    ...recording,
    status: 'paused',
    sample_rate: null,
    duration_ms: null,
    size_bytes: null,
    channels: [],
    segments: [],
  },

  runningRecording: {
    ...recording,
    status: 'recording',
    sample_rate: null,
    duration_ms: null,
    size_bytes: null,
    channels: [],
    segments: [],
  },

  failedRecording: {
    ...recording,
    status: 'failed',
    sample_rate: null,
    duration_ms: null,
    size_bytes: null,
    channels: [],
    segments: [],
  },
} as const satisfies Record<string, object>
