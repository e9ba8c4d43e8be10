import type { RoomSpec } from '../../../media/protocol.ts'
import { roomCapture } from '../capture/call-capture.ts'
import { settingsOf } from '../settings.ts'
import { roomSound } from '../sound/audio-schema.ts'
import type { CallRow, ConferenceRoomRow } from '../tables.ts'

/** Maximum for a party call's own room: the party, and those who talk with it, supervise or take over. */
const PARTY_ROOM_MEMBERS = 8

/** The owner by whom media takes turns in speech synthesis and recognition. */
export const affinityOf = (row: Pick<CallRow, 'organisation_id' | 'livemode'>): string =>
  `${row.organisation_id}/${row.livemode === 1 ? 'live' : 'test'}`

/**
 * Which engine thread media should prefer for a leg: that of the legs which it will meet, since audio between threads costs more. Those are the
 * others of its conference room, or with `isBeside`, for a leg that was rung for a call, the call's own leg. For other legs it is not known yet.
 */
export const placeOf = (call: Pick<CallRow, 'id' | 'organisation_id' | 'livemode' | 'room_id'>, isBeside = false) => ({
  affinity: affinityOf(call),
  ...(isBeside ? { near: call.id } : call.room_id !== null && { near: call.room_id }),
})

/** The call's own room, in which its legs are when they are answered. */
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
    ...roomSound(settings),
    capture: {
      recordingId: settings.record ? sessionId : null,
      ...(encrypted && { encrypted }),
      transcript: settings.transcribe ? { transcriptId: sessionId, language: settings.language } : null,
    },
  }
}
