import type { RoomSpec } from '../../../media/protocol.ts'
import { roomCapture } from '../capture/call-capture.ts'
import { settingsOf } from '../settings.ts'
import { roomSound } from '../sound/audio-schema.ts'
import type { CallRow, ConferenceRoomRow } from '../tables.ts'

/** Media's rooms for legs. */

/** A party call's own room: the party, and those who supervise or take over. */
const PARTY_ROOM_MEMBERS = 8

/** Whose turn it is in speech synthesis and recognition. */
export const affinityOf = (row: Pick<CallRow, 'organisation_id' | 'livemode'>): string =>
  `${row.organisation_id}/${row.livemode === 1 ? 'live' : 'test'}`

/**
 * Where media places a leg: on the thread of others who enter the same conference room, which costs less than crossing threads. For other
 * calls it is not known yet whom they will meet. `isBeside`: it is not the call's own leg, and meets that.
 */
export const placeOf = (call: Pick<CallRow, 'id' | 'organisation_id' | 'livemode' | 'room_id'>, isBeside = false) => ({
  affinity: affinityOf(call),
  ...(isBeside ? { near: call.id } : call.room_id !== null && { near: call.room_id }),
})

/** The leg's own room, into which it is answered or dialled. */
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
