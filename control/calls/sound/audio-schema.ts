import Type, { type Static } from 'typebox'
import type { LegAudio, LegSound } from '../../../media/protocol.ts'
import { nullable, partialInput } from '../../kernel/schema.ts'

const INHERITED = 'Null: as the conference room or queue of the call says.'

/** Processing of a participant's audio, before others hear it. */
const fields = {
  gain_db: nullable(
    Type.Number({
      minimum: -24,
      maximum: 24,
      description: 'Gain: positive is louder, negative softer; null: unchanged.',
    }),
  ),
  auto_gain: nullable(
    Type.Boolean({
      description: `Automatic gain: brings a soft or loud talker slowly to the level of others (-22 dBov). Noise is not amplified. ${INHERITED}`,
    }),
  ),
  noise_suppression: nullable(
    Type.Boolean({
      description: `Noise suppression: reduces steady noise by 15 dB and adds 10 ms of delay. Assistants and transcripts get the unprocessed audio. ${INHERITED}`,
    }),
  ),
  speech_events: nullable(
    Type.Boolean({
      description: `Sends \`call.speaking.started\` and \`.stopped\`, sets \`speaking\` and \`level_dbov\`, and in a conference the active speaker. ${INHERITED}`,
    }),
  ),
}

export const audioInput = partialInput(fields)
export type AudioInput = Static<typeof audioInput>

/** The same for a room or queue; applies to all participants without settings of their own. */
export const audioDefaults = {
  auto_gain: Type.Boolean({ description: 'Bring soft and loud talkers to the same level.' }),
  noise_suppression: Type.Boolean({ description: "Reduce steady noise in participants' audio." }),
  speech_events: Type.Boolean({ description: 'Report who starts and stops speaking, and the active speaker.' }),
}
const defaults = Type.Object(audioDefaults)
type AudioDefaults = Static<typeof defaults>

export const NO_AUDIO_DEFAULTS: AudioDefaults = { auto_gain: false, noise_suppression: false, speech_events: false }

export const participantAudio = Type.Object({
  ...fields,
  speaking: nullable(Type.Boolean({ description: 'Null: `speech_events` is off.' })),
  level_dbov: nullable(
    Type.Integer({ description: 'Level at which others hear the participant, 0 to -127; null: as for `speaking`.' }),
  ),
})
type ParticipantAudio = Static<typeof participantAudio>

const UNSAID = { gain_db: null, auto_gain: null, noise_suppression: null, speech_events: null }
const NAMES = {
  gain_db: 'gainDb',
  auto_gain: 'autoGain',
  noise_suppression: 'noiseSuppression',
  speech_events: 'speechEvents',
} as const
type Name = keyof typeof NAMES

const said = (stored: string | null): AudioInput => (stored === null ? {} : (JSON.parse(stored) as AudioInput))

/** @param voice live state from media; absent: not requested */
export const toAudio = (stored: string | null, voice: LegAudio['voice'] = null): ParticipantAudio => ({
  ...UNSAID,
  ...said(stored),
  speaking: voice?.isSpeaking ?? null,
  level_dbov: voice?.levelDbov ?? null,
})

/** The stored value after a change; null: no settings. */
export function changedAudio(stored: string | null, change: AudioInput): string | null {
  const changed = Object.entries({ ...said(stored), ...change }).filter(([, value]) => value !== null)
  return changed.length === 0 ? null : JSON.stringify(Object.fromEntries(changed))
}

/** In media's terms. */
export const soundOf = (audio: AudioInput): LegSound =>
  Object.fromEntries(Object.entries(audio).map(([name, value]) => [NAMES[name as Name], value]))

/** For a room or queue; nothing if it has no settings. */
export function roomSound({ auto_gain, noise_suppression, speech_events }: AudioDefaults): { sound?: LegSound } {
  const wanted = { auto_gain, noise_suppression, speech_events }
  return Object.values(wanted).includes(true) ? { sound: soundOf(wanted) } : {}
}
