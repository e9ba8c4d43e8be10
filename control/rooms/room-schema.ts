import Type, { type Static } from 'typebox'
import { roomSchedule, roomSettings, scheduleOf, settingsOf } from '../calls/settings.ts'
import type { ConferenceRoomRow } from '../calls/tables.ts'
import { apiObject, nullable, timestamp } from '../kernel/schema.ts'
import { showRow } from '../kernel/show-row.ts'

/** Specification, "ConferenceRoom". */
export const conferenceRoomSchema = apiObject('conference_room', {
  name: Type.String(),
  owner_id: nullable(Type.String()),
  active: Type.Boolean({ description: 'A room that is switched off cannot be joined.' }),
  has_pin: Type.Boolean(),
  pin_length: nullable(Type.Integer()),
  has_moderator_pin: Type.Boolean(),
  dial_in: Type.Array(Type.String(), { description: 'Numbers routed to this room by inbound routes.' }),
  settings: Type.Object(roomSettings),
  schedule: Type.Object(roomSchedule),
  live: nullable(
    Type.Object({
      call_id: Type.String(),
      started_at: timestamp(),
      participants: Type.Integer(),
      locked: Type.Boolean({ description: 'Only moderators can join.' }),
      active_speaker_id: nullable(
        Type.String({ description: 'The participant who is speaking, or spoke last; with `settings.speech_events`.' }),
      ),
    }),
  ),
  created: timestamp(),
  updated: timestamp(),
})

export const conferenceRoomWithLinkSchema = Type.Object(
  {
    ...conferenceRoomSchema.properties,
    join_url: Type.String({ description: 'The guest link, returned only once.' }),
  },
  { title: 'ConferenceRoomWithLink' },
)

export type ConferenceRoom = Static<typeof conferenceRoomSchema>

/** Fields of a room that are not in its row. */
export interface RoomFacts {
  dialIn: string[]
  live: {
    call_id: string
    started_at: string
    participants: number
    locked: boolean
    active_speaker_id: string | null
  } | null
}

export const toConferenceRoom = (row: ConferenceRoomRow, facts: RoomFacts): ConferenceRoom =>
  showRow(conferenceRoomSchema, row, {
    has_pin: row.pin_hash !== null,
    has_moderator_pin: row.moderator_pin_hash !== null,
    dial_in: facts.dialIn,
    settings: settingsOf(row),
    schedule: scheduleOf(row),
    live: facts.live,
  })
