import type { TSchema } from 'typebox'
import { agentStatusSchema } from '../schemas/agent-status.ts'
import { callSchema } from '../schemas/call.ts'
import { callDtmfSchema } from '../schemas/call-dtmf.ts'
import { callOneWaySchema } from '../schemas/call-one-way.ts'
import { callPciSchema } from '../schemas/call-pci.ts'
import { callRecordingSchema } from '../schemas/call-recording.ts'
import { callProgramSchema, callStepSchema } from '../schemas/call-step.ts'
import { callTranscriptSchema, callTranscriptSegmentSchema } from '../schemas/call-transcript.ts'
import { callbackSchema } from '../schemas/callback.ts'
import { conferenceSessionSchema } from '../schemas/conference-session.ts'
import { connectionSchema } from '../schemas/connection.ts'
import { flowSchema } from '../schemas/flow.ts'
import { kbDocumentSchema } from '../schemas/kb-document.ts'
import { mediaStreamSchema } from '../schemas/media-stream.ts'
import { participantSchema } from '../schemas/participant.ts'
import { phoneNumberSchema } from '../schemas/phone-number.ts'
import { queueCallSchema } from '../schemas/queue-call.ts'
import { reportRunSchema } from '../schemas/report-run.ts'
import { voicemailSchema } from '../schemas/voicemail.ts'
import { webhookEndpointSchema } from '../schemas/webhook-endpoint.ts'
import { SAMPLES } from './samples.ts'

interface EventKind {
  /** The schema of `data.object`. */
  object: TSchema
  /** A believable `data.object`, for documentation and for test events. */
  sample: object
}

const of = (object: TSchema, sample: object): EventKind => ({ object, sample })

/** Every event type that the product emits; all lists of types are derived from this one. */
export const EVENTS = {
  'call.created': of(callSchema, SAMPLES.queuedCall),
  'call.ringing': of(callSchema, SAMPLES.ringingCall),
  'call.answered': of(callSchema, SAMPLES.answeredCall),
  'call.held': of(callSchema, SAMPLES.heldCall),
  'call.resumed': of(callSchema, SAMPLES.answeredCall),
  'call.transferred': of(callSchema, SAMPLES.answeredCall),
  'call.ended': of(callSchema, SAMPLES.endedCall),
  'call.flow.started': of(callProgramSchema, SAMPLES.program),
  'call.flow.node': of(callStepSchema, SAMPLES.nodeStep),
  'call.turn': of(callStepSchema, SAMPLES.turnStep),
  'call.flow.action': of(callStepSchema, SAMPLES.actionStep),
  'call.flow.ended': of(callProgramSchema, SAMPLES.endedProgram),
  'call.dtmf': of(callDtmfSchema, SAMPLES.dtmf),
  'call.audio.one_way': of(callOneWaySchema, SAMPLES.oneWay),
  'call.pci.paused': of(callPciSchema, SAMPLES.paused),
  'call.pci.resumed': of(callPciSchema, SAMPLES.running),
  'call.stream.started': of(mediaStreamSchema, SAMPLES.stream),
  'call.stream.stalled': of(mediaStreamSchema, SAMPLES.stalledStream),
  'call.stream.reconnecting': of(mediaStreamSchema, SAMPLES.reconnectingStream),
  'call.stream.stopped': of(mediaStreamSchema, SAMPLES.stoppedStream),
  'call.stream.failed': of(mediaStreamSchema, SAMPLES.failedStream),
  'call.recording.paused': of(callRecordingSchema, SAMPLES.pausedRecording),
  'call.recording.resumed': of(callRecordingSchema, SAMPLES.runningRecording),
  'call.recording.ready': of(callRecordingSchema, SAMPLES.recording),
  'call.recording.failed': of(callRecordingSchema, SAMPLES.failedRecording),
  'queue.call.joined': of(queueCallSchema, SAMPLES.queueCall),
  'queue.call.offered': of(queueCallSchema, SAMPLES.offeredQueueCall),
  'queue.call.left': of(queueCallSchema, SAMPLES.leftQueueCall),
  'queue.call.overflowed': of(queueCallSchema, SAMPLES.overflowedQueueCall),
  'call.transcript.segment': of(callTranscriptSegmentSchema, SAMPLES.transcriptSegment),
  'call.transcript.ready': of(callTranscriptSchema, SAMPLES.transcript),
  'call.transcript.failed': of(callTranscriptSchema, SAMPLES.failedTranscript),
  'agent.status.changed': of(agentStatusSchema, SAMPLES.agentStatus),
  'callback.created': of(callbackSchema, SAMPLES.callback),
  'callback.merged': of(callbackSchema, SAMPLES.mergedCallback),
  'callback.offered': of(callbackSchema, SAMPLES.offeredCallback),
  'callback.dialing': of(callbackSchema, SAMPLES.dialingCallback),
  'callback.connected': of(callbackSchema, SAMPLES.connectedCallback),
  'callback.attempt_failed': of(callbackSchema, SAMPLES.retriedCallback),
  'callback.failed': of(callbackSchema, SAMPLES.failedCallback),
  'callback.completed': of(callbackSchema, SAMPLES.completedCallback),
  'callback.cancelled': of(callbackSchema, SAMPLES.cancelledCallback),
  'callback.expired': of(callbackSchema, SAMPLES.expiredCallback),
  'conference.started': of(callSchema, SAMPLES.session),
  'conference.participant.joined': of(participantSchema, SAMPLES.participant),
  'conference.participant.left': of(participantSchema, SAMPLES.leftParticipant),
  'conference.ended': of(callSchema, SAMPLES.endedSession),
  'conference.notes.ready': of(conferenceSessionSchema, SAMPLES.conferenceSession),
  'flow.published': of(flowSchema, SAMPLES.flow),
  'flow.archived': of(flowSchema, SAMPLES.archivedFlow),
  'flow.unarchived': of(flowSchema, SAMPLES.flow),
  'kb.document.ready': of(kbDocumentSchema, SAMPLES.kbDocument),
  'kb.document.failed': of(kbDocumentSchema, SAMPLES.failedKbDocument),
  'report.run.completed': of(reportRunSchema, SAMPLES.reportRun),
  'report.run.failed': of(reportRunSchema, SAMPLES.failedReportRun),
  'connection.registered': of(connectionSchema, SAMPLES.registeredConnection),
  'connection.reachable': of(connectionSchema, SAMPLES.reachableConnection),
  'connection.unreachable': of(connectionSchema, SAMPLES.unreachableConnection),
  'phone_number.created': of(phoneNumberSchema, SAMPLES.phoneNumber),
  'phone_number.deleted': of(phoneNumberSchema, SAMPLES.phoneNumber),
  'voicemail.created': of(voicemailSchema, SAMPLES.voicemail),
  'webhook_endpoint.disabled': of(webhookEndpointSchema, SAMPLES.disabledEndpoint),
  /** Says that a webhook endpoint can be reached; to that one alone. */
  ping: of(webhookEndpointSchema, SAMPLES.endpoint),
} as const satisfies Record<string, EventKind>

export type EventType = keyof typeof EVENTS
export const EVENT_TYPES = Object.keys(EVENTS) as EventType[]
