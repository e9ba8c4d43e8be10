import { type Call, callSchema } from '../calls/call-schema.ts'
import { answeredCall, endedCall } from '../calls/events.ts'
import { type Participant, participantSchema } from '../calls/participant-schema.ts'
import { toAudio } from '../calls/sound/audio-schema.ts'
import { type ActiveSpeakerChange, activeSpeakerSchema } from '../calls/sound/speaking-schema.ts'
import { type EventKind, eventKind as of } from '../kernel/events/catalog.ts'
import { ANSWERED, CALL_ID, CREATED, PARTICIPANT_ID, ROOM_ID, SESSION_ID } from '../kernel/events/sample-call.ts'
import { type ConferenceSession, conferenceSessionSchema } from './session-schema.ts'

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
  audio: toAudio(null),
  joined_at: ANSWERED,
  left_at: null,
  cause: null,
  created: CREATED,
}

const activeSpeaker: ActiveSpeakerChange = {
  object: 'conference_active_speaker',
  session_call_id: SESSION_ID,
  room_id: ROOM_ID,
  livemode: false,
  participant_id: PARTICIPANT_ID,
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

export const conferenceEvents = {
  'conference.started': of(callSchema, session),
  'conference.participant.joined': of(participantSchema, participant),
  'conference.participant.left': of(participantSchema, {
    ...participant,
    status: 'left',
    left_at: '2026-11-01T09:02:34.000Z',
  }),
  'conference.active_speaker.changed': of(activeSpeakerSchema, activeSpeaker),
  'conference.ended': of(callSchema, {
    ...endedCall,
    id: SESSION_ID,
    kind: 'conference',
    direction: 'inbound',
    ended_reason: null,
  }),
  'conference.notes.ready': of(conferenceSessionSchema, conferenceSession),
} as const satisfies Record<string, EventKind>

declare module '../kernel/events/catalog.ts' {
  interface EventTypes extends Record<keyof typeof conferenceEvents, true> {}
}
