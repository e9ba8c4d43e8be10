import Type, { type Static } from 'typebox'
import { scheduleOf, settingsOf } from '../calls/settings.ts'
import { audioDefaults } from '../calls/sound/audio-schema.ts'
import type { ConferenceRoomRow } from '../calls/tables.ts'
import { LANGUAGE_CODES } from '../kernel/languages.ts'
import { apiObject, nullable, oneOf, timestamp } from '../kernel/schema.ts'
import { showRow } from '../kernel/show-row.ts'

export const roomSettings = {
  record: Type.Boolean({ description: 'Record sessions.' }),
  transcribe: Type.Boolean({ description: 'Transcribe sessions.' }),
  mute_on_entry: Type.Boolean({ description: 'Members join muted; moderators never.' }),
  announce: Type.Boolean({ description: 'Join and leave chimes.' }),
  lock_on_start: Type.Boolean({ description: 'Lock the session as it starts; who waited is seated.' }),
  max_participants: Type.Integer({ minimum: 2, maximum: 500 }),
  ai_note_taker: Type.Boolean({ description: 'Meeting notes after the session; needs `transcribe`.' }),
  wait_for_moderator: Type.Boolean({ description: 'Phone callers wait for a moderator before they join.' }),
  language: oneOf(LANGUAGE_CODES, {
    description: 'Language of the prompts, transcripts and notes (`GET /languages`).',
  }),
  description: Type.String({ maxLength: 2000 }),
  ...audioDefaults,
}

export const roomSchedule = {
  start_at: nullable(timestamp('Null: always open.')),
  end_at: nullable(timestamp()),
  recurrence: oneOf(['none', 'daily', 'weekly', 'weekdays']),
  timezone: Type.String({ minLength: 1, maxLength: 64 }),
}

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
