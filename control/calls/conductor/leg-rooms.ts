import type { RoomSpec } from '../../../media/protocol.ts'
import { roomCapture } from '../capture/call-capture.ts'
import { settingsOf } from '../settings.ts'
import { roomSound } from '../sound/audio-schema.ts'
import type { CallRow, ConferenceRoomRow } from '../tables.ts'

/** The rooms of media that legs are led into. */

/** A party call's own room: the party, and who may listen in or take over. */
const PARTY_ROOM_MEMBERS = 8

/** In whose turn speech is made and understood. */
export const affinityOf = (row: Pick<CallRow, 'organisation_id' | 'livemode'>): string =>
  `${row.organisation_id}/${row.livemode === 1 ? 'live' : 'test'}`

/**
 * Where a leg is placed by media: beside all who come into the same conference room, with whom it then shares a thread, which costs less.
 * Of other calls nobody knows yet whom they meet.
 */
export const placeOf = (call: Pick<CallRow, 'organisation_id' | 'livemode' | 'room_id'>) => ({
  affinity: affinityOf(call),
  ...(call.room_id !== null && { near: call.room_id }),
})

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
    ...roomSound(settings),
    capture: {
      recordingId: settings.record ? sessionId : null,
      ...(encrypted && { encrypted }),
      transcript: settings.transcribe ? { transcriptId: sessionId, language: settings.language } : null,
    },
  }
}
