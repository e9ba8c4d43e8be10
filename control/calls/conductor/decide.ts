import type {
  CodecName,
  Commands,
  DtmfMode,
  EndedReason,
  Events,
  PlaySource,
  RoomSpec,
  SrtpPolicy,
} from '../../../media/protocol.ts'
import type { EventType } from '../../kernel/events/catalog.ts'
import { phraseNamed } from '../../kernel/phrases.ts'
import { roomCapture } from '../capture/call-capture.ts'
import { consentCollect } from '../capture/consent-question.ts'
import { durationOf } from '../duration.ts'
import type { LegChange } from '../legs.ts'
import { scheduleOf, settingsOf } from '../settings.ts'
import type { CallRow, CallStatus, ConferenceRoomRow, ParticipantRow } from '../tables.ts'
import { isJoinable } from './join-window.ts'
import { isGoing, mayFollow } from './steps.ts'

/** What is decided here, purely: which rows change and which events are told, and which command a leg's row calls for. */

/** One leg: the participant, its call, and the conference room that the call is for. */
export interface LegRows {
  call: CallRow
  participant: ParticipantRow
  room: ConferenceRoomRow | null
  codecs: CodecName[]
  /** Absent: as SDP agrees. */
  dtmf?: DtmfMode
  /** Absent: as the far end offers. */
  srtp?: SrtpPolicy
}

/** What an event changes. `call.*` events carry the call, `conference.participant.*` the participant. */
export interface Decision {
  call: Partial<CallRow>
  participant: LegChange
  events: EventType[]
}

const NOTHING: Decision = { call: {}, participant: {}, events: [] }
const MAX_PIN_TRIES = 3
const FIRST_DIGIT_TIMEOUT_MS = 10_000
const INTER_DIGIT_TIMEOUT_MS = 4000
/** A party call's own room: the party, and who may listen in or take over. */
const PARTY_ROOM_MEMBERS = 8

const leaving = (prompt: string, reason: EndedReason): LegChange & { step: 'leaving' } => ({
  step: 'leaving',
  leave_prompt: prompt,
  leave_reason: reason,
  prompted: 0,
})

// ---------------------------------------------------------------------------------------------------- events

export const onRinging = ({ call }: LegRows, at: string): Decision =>
  call.status === 'queued'
    ? { call: { status: 'ringing', ringing_at: at }, participant: {}, events: ['call.ringing'] }
    : NOTHING

export function onAnswered(rows: LegRows, at: string): Decision {
  if (rows.call.answered_at !== null || rows.call.ended_at !== null) return NOTHING
  return {
    call: { status: 'in_progress', answered_at: at },
    // Whoever was to be hung up while the answer was on its way is led nowhere.
    participant: isGoing(rows.participant.step) ? {} : afterAnswer(rows, at),
    events: ['call.answered'],
  }
}

function afterAnswer({ call, room, participant }: LegRows, at: string): LegChange {
  switch (call.target) {
    case 'park':
    case 'echo':
      return { step: 'settled' }
    case 'flow':
    case 'assistant':
      return { step: 'program' }
    case 'announcement':
      return { step: 'announcing' }
    case 'queue':
      return { step: 'queued' }
    case 'user':
    case 'number':
      return { step: 'calling' }
    case 'callback':
      return { step: 'connected' }
    case 'room':
      if (room === null || room.active === 0) return leaving('room-closed', 'rejected')
      if (!isJoinable(scheduleOf(room), new Date(at))) return leaving('room-closed', 'rejected')
      if (call.direction === 'outbound' || participant.role === 'moderator' || participant.admitted === 1)
        return { step: 'joining' }
      return { step: room.pin_hash === null && room.moderator_pin_hash === null ? 'joining' : 'pin' }
  }
}

export const onHeld = ({ call }: LegRows, held: boolean): Decision => {
  if (held && call.status === 'in_progress') {
    return { call: { status: 'held' }, participant: {}, events: ['call.held'] }
  }
  if (!held && call.status === 'held') {
    return { call: { status: 'in_progress' }, participant: {}, events: ['call.resumed'] }
  }
  return NOTHING
}

/** Which collection is under way: an answer to an earlier one is stale. */
export const collectId = (participant: ParticipantRow): string => `pin-${participant.pin_tries}`

export type PinVerdict = 'member' | 'moderator' | 'wrong'

export function onPin({ participant }: LegRows, verdict: PinVerdict): Decision {
  if (participant.step !== 'pin') return NOTHING
  if (verdict !== 'wrong') return { ...NOTHING, participant: { step: 'joining', role: verdict } }
  const tries = participant.pin_tries + 1
  if (tries < MAX_PIN_TRIES) return { ...NOTHING, participant: { pin_tries: tries } }
  return { ...NOTHING, participant: { pin_tries: tries, ...leaving('too-many-tries', 'rejected') } }
}

/** Too many wrong PINs, over calls: this one is not looked at. */
export const onLocked = ({ participant }: LegRows): Decision =>
  participant.step === 'pin'
    ? { ...NOTHING, participant: { pin_tries: participant.pin_tries + 1, ...leaving('too-many-tries', 'rejected') } }
    : NOTHING

export function onJoined({ participant }: LegRows, body: Events['leg.joined'], at: string): Decision {
  if (body.roomId !== participant.session_call_id || participant.joined_at !== null) return NOTHING
  return {
    call: {},
    participant: {
      ...(mayFollow(participant.step, 'seated') && { step: 'seated' as const }),
      joined_at: at,
      muted: body.muted ? 1 : 0,
    },
    events: ['conference.participant.joined'],
  }
}

export function onLeft({ participant }: LegRows, roomId: string, at: string): Decision {
  if (roomId !== participant.session_call_id || participant.joined_at === null || participant.left_at !== null) {
    return NOTHING
  }
  return { call: {}, participant: { left_at: at }, events: ['conference.participant.left'] }
}

/** Of who was put on hold meanwhile, `prompted` tells whether media knows of that. */
export const onPlayFinished = ({ participant }: LegRows, playId: string): Decision =>
  playId === participant.step && participant.on_hold === null ? { ...NOTHING, participant: { prompted: 1 } } : NOTHING

/** How a leg has ended. `quality`: JSON. `durationMs`: since its answer, as media has measured it. */
export interface LegEnd {
  reason: EndedReason
  sipCode: number | null
  quality: string | null
  durationMs?: number | undefined
}

export function onEnded(rows: LegRows, end: LegEnd, at: string): Decision {
  const { call, participant } = rows
  if (call.ended_at !== null) return NOTHING
  const wasSeated = participant.joined_at !== null && participant.left_at === null
  return {
    call: {
      status: finalStatus(call, end.reason),
      ended_reason: end.reason,
      sip_code: end.sipCode,
      ended_at: at,
      duration_ms: durationOf({ ...call, duration_ms: end.durationMs ?? null }, at),
    },
    participant: { step: 'ended', left_at: participant.left_at ?? at, quality: end.quality },
    events: wasSeated ? ['conference.participant.left', 'call.ended'] : ['call.ended'],
  }
}

function finalStatus(call: CallRow, reason: EndedReason): CallStatus {
  if (call.answered_at !== null) return 'completed'
  switch (reason) {
    case 'busy':
      return 'busy'
    case 'no_answer':
      return 'no_answer'
    case 'api_hangup':
    case 'caller_hangup':
      return 'cancelled'
    default:
      return 'failed'
  }
}

// ---------------------------------------------------------------------------------------------------- admission

export type Admission = 'join' | 'wait' | { leave: string; reason: EndedReason }

/**
 * Whether a leg may sit down in its room now. Whoever was dialled from within is let in by the one who dialled; whom else we have
 * called waits for no moderator, but a lock keeps it out.
 */
export function admission(
  { call, participant, room }: LegRows,
  session: { isRunning: boolean; hasModerator: boolean; isLocked: boolean },
): Admission {
  if (room === null || room.active === 0) return { leave: 'room-closed', reason: 'rejected' }
  const isCalled = call.direction === 'outbound'
  if ((isCalled && participant.admitted === 1) || participant.role === 'moderator') return 'join'
  const settings = settingsOf(room)
  if (!isCalled && settings.wait_for_moderator && !session.hasModerator) return 'wait'
  if (session.isRunning && session.isLocked) return { leave: 'room-locked', reason: 'rejected' }
  return 'join'
}

export const leavingBecause = (refusal: { leave: string; reason: EndedReason }): LegChange =>
  leaving(refusal.leave, refusal.reason)

// ---------------------------------------------------------------------------------------------------- commands

/** A command for one leg, as data. */
export type LegCommand = {
  [N in 'leg.answer' | 'leg.play' | 'leg.collect' | 'leg.hangup']: { name: N; body: Commands[N]['request'] }
}['leg.answer' | 'leg.play' | 'leg.collect' | 'leg.hangup']

/**
 * What a leg's row calls for: a command, a seat in its room, or nothing. A function of the rows alone, so that a control
 * process that died before it could send the command finds it again.
 */
export function commandFor(rows: LegRows): LegCommand | 'seat' | null {
  const { participant, call } = rows
  switch (participant.step) {
    case 'answering':
      return {
        name: 'leg.answer',
        body: {
          legId: participant.id,
          room: ownRoom(call),
          affinity: affinityOf(call),
          codecs: rows.codecs,
          ...(rows.dtmf === undefined ? {} : { dtmf: rows.dtmf }),
          ...(rows.srtp === undefined ? {} : { srtp: rows.srtp }),
        },
      }
    case 'settled':
      return call.target === 'echo' && participant.prompted === 0 ? play(rows, [promptOf(rows.room)('echo')]) : null
    case 'announcing':
      return play(rows, [promptOf(rows.room)('announcement')], 'announcement_ended')
    case 'consent':
      return { name: 'leg.collect', body: consentCollect(call, participant.id) }
    case 'pin':
      return collect(rows)
    case 'waiting':
      return waitingMusic(rows)
    case 'joining':
      return 'seat'
    case 'leaving':
      return play(rows, leavingWords(rows), participant.leave_reason ?? 'rejected')
    case 'hanging_up':
      return { name: 'leg.hangup', body: { legId: participant.id, reason: participant.leave_reason ?? 'api_hangup' } }
    // Who is rung and who waits is driven by `queues/ringing/legs.ts`.
    case 'queued':
    case 'calling':
    case 'connected':
    case 'to_dial':
    case 'bridging':
    case 'bridged':
    case 'program':
    case 'dialing':
    case 'seated':
    case 'ended':
      return null
  }
}

/** Why the caller must go, and goodbye in the same language. */
function leavingWords({ participant: { leave_prompt }, room }: LegRows): PlaySource[] {
  const said = phraseNamed(leave_prompt ?? '')
  const goodbye = promptOf(room)('goodbye') as Extract<PlaySource, { kind: 'prompt' }>
  if (said !== null) return [said.source, said.language === null ? goodbye : { ...goodbye, language: said.language }]
  return leave_prompt === '' ? [goodbye] : [promptOf(room)(leave_prompt ?? 'room-closed'), goodbye]
}

/** In the language of the room that the caller is for; without one in English. */
export const promptOf =
  (room: ConferenceRoomRow | null) =>
  (name: string): PlaySource => ({ kind: 'prompt', name, ...languageOf(room) })

function languageOf(room: ConferenceRoomRow | null): { language?: string } {
  const language = room === null ? 'en' : settingsOf(room).language
  return language === 'en' ? {} : { language }
}

const play = ({ participant }: LegRows, sources: PlaySource[], hangupAfter: EndedReason | null = null): LegCommand => ({
  name: 'leg.play',
  body: {
    legId: participant.id,
    playId: participant.step,
    sources,
    loop: false,
    hangupAfter,
  },
})

const waitingMusic = ({ participant, room }: LegRows): LegCommand => ({
  name: 'leg.play',
  body: {
    legId: participant.id,
    playId: participant.step,
    sources: [promptOf(room)('wait-moderator'), { kind: 'music' }],
    loop: true,
    hangupAfter: null,
  },
})

function collect({ participant, room }: LegRows): LegCommand {
  const prompt = promptOf(room)
  return {
    name: 'leg.collect',
    body: {
      legId: participant.id,
      collectId: collectId(participant),
      prompts:
        participant.pin_tries === 0
          ? [prompt('welcome'), prompt('enter-pin')]
          : [prompt('wrong-pin'), prompt('enter-pin')],
      maxDigits: Math.max(room?.pin_length ?? 0, room?.moderator_pin_length ?? 0, 4),
      terminators: '#',
      firstDigitTimeoutMs: FIRST_DIGIT_TIMEOUT_MS,
      interDigitTimeoutMs: INTER_DIGIT_TIMEOUT_MS,
      sensitive: true,
    },
  }
}

/**
 * All legs that may ever meet must live on one engine thread, and any two of an organisation's may: by a transfer, a queue, a room,
 * a supervisor. Live and test mode never meet.
 */
export const affinityOf = (row: Pick<CallRow, 'organisation_id' | 'livemode'>): string =>
  `${row.organisation_id}/${row.livemode === 1 ? 'live' : 'test'}`

/** The room that a leg is answered or dialled into, its own. */
export const ownRoom = (call: CallRow): RoomSpec => ({
  roomId: call.id,
  kind: call.target === 'echo' ? 'echo' : 'call',
  chimes: false,
  musicWhenAlone: call.target === 'park',
  maxMembers: PARTY_ROOM_MEMBERS,
  capture: roomCapture(call),
})

/** The room of a conference session. */
export function sessionRoom(sessionId: string, room: ConferenceRoomRow, encrypted = false): RoomSpec {
  const settings = settingsOf(room)
  return {
    roomId: sessionId,
    kind: 'conference',
    chimes: settings.announce,
    musicWhenAlone: true,
    maxMembers: settings.max_participants,
    capture: {
      recordingId: settings.record ? sessionId : null,
      ...(encrypted && { encrypted }),
      transcript: settings.transcribe ? { transcriptId: sessionId, language: settings.language } : null,
    },
  }
}

/** Members join muted where the room says so; moderators never. */
export const joinsMuted = ({ participant, room }: LegRows): boolean =>
  participant.muted === 1 || (participant.role === 'member' && room !== null && settingsOf(room).mute_on_entry)
