import type { LanguageCode } from '../kernel/languages.ts'
import { type AudioDefaults, NO_AUDIO_DEFAULTS } from './sound/audio-schema.ts'
import type { ConferenceRoomRow } from './tables.ts'

/** `settings` of a conference room (specification, "ConferenceRoom"). */
export interface RoomSettings extends AudioDefaults {
  record: boolean
  transcribe: boolean
  mute_on_entry: boolean
  announce: boolean
  lock_on_start: boolean
  max_participants: number
  ai_note_taker: boolean
  wait_for_moderator: boolean
  language: LanguageCode
  description: string
}

export interface RoomSchedule {
  start_at: string | null
  end_at: string | null
  recurrence: 'none' | 'daily' | 'weekly' | 'weekdays'
  timezone: string
}

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

export const settingsOf = (room: ConferenceRoomRow): RoomSettings => ({
  ...DEFAULT_SETTINGS,
  ...(JSON.parse(room.settings) as Partial<RoomSettings>),
})

export const scheduleOf = (room: ConferenceRoomRow): RoomSchedule => JSON.parse(room.schedule) as RoomSchedule
