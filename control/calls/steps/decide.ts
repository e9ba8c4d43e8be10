import type { EndedReason, Events, LegCause, LegFigures } from '../../../media/protocol.ts'
import type { EventType } from '../../kernel/events/catalog.ts'
import { durationOf } from '../duration.ts'
import type { LegChange } from '../legs.ts'
import { scheduleOf } from '../settings.ts'
import type { CallRow, CallStatus, ConferenceRoomRow, ParticipantRow } from '../tables.ts'
import { isJoinable } from './join-window.ts'
import { isGoing, mayFollow } from './table.ts'

/** Pure decisions: which rows change, and which events are emitted. */

/** One leg: the participant, its call, and the conference room that the call is for. */
export interface LegRows {
  call: CallRow
  participant: ParticipantRow
  room: ConferenceRoomRow | null
}

/** What an event changes. `call.*` events carry the call, `conference.participant.*` the participant. */
export interface Decision {
  call: Partial<CallRow>
  participant: LegChange
  events: EventType[]
}

const NOTHING: Decision = { call: {}, participant: {}, events: [] }
const MAX_PIN_TRIES = 3

export const leaving = (prompt: string, reason: EndedReason): LegChange & { step: 'leaving' } => ({
  step: 'leaving',
  leave_prompt: prompt,
  leave_reason: reason,
  prompted: 0,
})

export const onRinging = ({ call }: LegRows, at: string): Decision =>
  call.status === 'queued'
    ? { call: { status: 'ringing', ringing_at: at }, participant: {}, events: ['call.ringing'] }
    : NOTHING

export function onAnswered(rows: LegRows, at: string): Decision {
  if (rows.call.answered_at !== null || rows.call.ended_at !== null) return NOTHING
  return {
    call: { status: 'in_progress', answered_at: at },
    participant: ledByAnswer(rows, at),
    events: ['call.answered'],
  }
}

/** A leg that was to be hung up while the answer was on its way is led nowhere. A leg that rang before the answer has been led already. */
function ledByAnswer(rows: LegRows, at: string): LegChange {
  const { step, unanswered } = rows.participant
  if (unanswered !== null) return { unanswered: null }
  return isGoing(step) ? {} : afterAnswer(rows, at)
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
      if (call.direction === 'outbound' || participant.role === 'moderator' || participant.pin_proved === 1)
        return { step: 'joining' }
      return { step: room.pin_hash === null && room.moderator_pin_hash === null ? 'joining' : 'pin' }
  }
}

/** Identifies the current collection: an answer to an earlier one is stale. */
export const collectId = (participant: ParticipantRow): string => `pin-${participant.pin_tries}`

export type PinVerdict = 'member' | 'moderator' | 'wrong'

export function onPin({ participant }: LegRows, verdict: PinVerdict): Decision {
  if (participant.step !== 'pin') return NOTHING
  if (verdict !== 'wrong') return { ...NOTHING, participant: { step: 'joining', role: verdict, pin_proved: 1 } }
  const tries = participant.pin_tries + 1
  if (tries < MAX_PIN_TRIES) return { ...NOTHING, participant: { step: 'pin', pin_tries: tries } }
  return { ...NOTHING, participant: { pin_tries: tries, ...leaving('too-many-tries', 'rejected') } }
}

/** Too many wrong PINs, over several calls: this one is not checked. */
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

/** If the leg was put on hold meanwhile, `prompted` tells whether media knows about that. */
export function onPlayFinished({ participant }: LegRows, { playId, ended }: Events['play.finished']): Decision {
  if (playId !== participant.step || participant.on_hold !== null) return NOTHING
  if (playId !== 'messaging') return participant.prompted === 1 ? NOTHING : { ...NOTHING, participant: { prompted: 1 } }
  return { ...NOTHING, participant: messageOver(ended === 'played') }
}

/** What becomes of a machine that has heard its message, or could not. */
export const messageOver = (isLeft: boolean): LegChange & { step: 'hanging_up' } => ({
  step: 'hanging_up',
  leave_prompt: null,
  leave_reason: isLeft ? 'message_left' : 'machine_detected',
})

/** How a leg has ended. `quality`: JSON. `durationMs`: since its answer, as measured by media. */
export interface LegEnd {
  reason: EndedReason
  sipCode: number | null
  quality: string | null
  /** As stated by whoever ended it. */
  cause?: LegCause | undefined
  durationMs?: number | undefined
  /** The figures so far of the call's other legs, which are about to end. */
  others?: readonly LegFigures[] | undefined
  /** It is reported long after the fact: the steady clock cannot tell how long the call had lasted by then. */
  isPast?: boolean
  /** Nobody was called: its INVITE had not left. */
  isUnsent?: boolean
}

/** As stored. */
export const causeText = ({ cause }: Pick<LegEnd, 'cause'>): string | null =>
  cause === undefined ? null : JSON.stringify(cause)

export function onEnded(rows: LegRows, end: LegEnd, at: string): Decision {
  const { call, participant } = rows
  if (call.ended_at !== null) return NOTHING
  const cause = causeText(end)
  // Who was rung has joined a call, not a conference, and may be the call's own leg since a transfer.
  const wasSeated =
    participant.session_call_id !== null && participant.joined_at !== null && participant.left_at === null
  return {
    call: {
      status: finalStatus(call, end.reason),
      ended_reason: end.reason,
      sip_code: end.sipCode,
      cause,
      ended_at: at,
      duration_ms: durationOf({ ...call, duration_ms: end.durationMs ?? null }, at),
    },
    participant: { step: 'ended', left_at: participant.left_at ?? at, quality: end.quality, cause },
    events: wasSeated ? ['conference.participant.left', 'call.ended'] : ['call.ended'],
  }
}

function finalStatus(call: CallRow, reason: EndedReason): CallStatus {
  if (call.answered_at !== null) return 'completed'
  switch (reason) {
    case 'busy':
      return 'busy'
    case 'no_answer':
    case 'announcement_ended':
      return 'no_answer'
    case 'agent_hangup':
    case 'api_hangup':
    case 'caller_hangup':
      return 'cancelled'
    default:
      return 'failed'
  }
}
