import type { Commands, EndedReason, PlaySource } from '../../../media/protocol.ts'
import { settingsOf } from '../settings.ts'
import type { ConferenceRoomRow, ParticipantRow } from '../tables.ts'

/** A recorded prompt in the language of the caller's room, otherwise in English. */
export const promptOf =
  (room: ConferenceRoomRow | null) =>
  (name: string): PlaySource & { kind: 'prompt' } => ({ kind: 'prompt', name, ...languageOf(room) })

function languageOf(room: ConferenceRoomRow | null): { language?: string } {
  const language = room === null ? 'en' : settingsOf(room).language
  return language === 'en' ? {} : { language }
}

/** What a leg hears in its step; `play.finished` identifies it by the step's name. */
export const playOf = (
  { id, step }: Pick<ParticipantRow, 'id' | 'step'>,
  sources: PlaySource[],
  { loop = false, hangupAfter = null }: { loop?: boolean; hangupAfter?: EndedReason | null } = {},
): Commands['leg.play']['request'] => ({ legId: id, playId: step, sources, loop, hangupAfter })
