import Type, { type Static } from 'typebox'
import { storedSettings } from '../http/merge.ts'
import { LANGUAGE_CODES } from '../kernel/languages.ts'
import { nullable, oneOf, timestamp } from '../kernel/schema.ts'
import { audioDefaults, NO_AUDIO_DEFAULTS } from './sound/audio-schema.ts'
import type { ConferenceRoomRow } from './tables.ts'

/** `settings` of a conference room (specification, "ConferenceRoom"). */
export const roomSettings = {
  record: Type.Boolean({ description: 'Record sessions.' }),
  transcribe: Type.Boolean({ description: 'Transcribe sessions.' }),
  mute_on_entry: Type.Boolean({ description: 'Members join muted; moderators never.' }),
  announce: Type.Boolean({ description: 'Join and leave chimes.' }),
  lock_on_start: Type.Boolean({ description: 'Lock the session as it starts; who waited is seated.' }),
  max_participants: Type.Integer({ minimum: 2, maximum: 500 }),
  ai_note_taker: Type.Boolean({ description: 'Meeting notes; switches `transcribe` on, too, unless that is sent.' }),
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

type RoomSettings = Static<Type.TObject<typeof roomSettings>>
export type RoomSchedule = Static<Type.TObject<typeof roomSchedule>>

export const DEFAULT_SETTINGS: RoomSettings = {
  record: false,
  transcribe: false,
  mute_on_entry: false,
  announce: true,
  lock_on_start: false,
  max_participants: 100,
  ai_note_taker: false,
  wait_for_moderator: false,
  language: 'en',
  description: '',
  ...NO_AUDIO_DEFAULTS,
}

export const settingsOf = (room: Pick<ConferenceRoomRow, 'settings'>): RoomSettings =>
  storedSettings(DEFAULT_SETTINGS, room.settings)

export const scheduleOf = (room: ConferenceRoomRow): RoomSchedule => JSON.parse(room.schedule) as RoomSchedule
