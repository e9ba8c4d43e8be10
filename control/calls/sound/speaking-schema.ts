import Type, { type Static } from 'typebox'
import { nullable } from '../../kernel/schema.ts'

/** A participant starts or stops speaking, as the events `call.speaking.started` and `.stopped` show it. */
export const callSpeakingSchema = Type.Object({
  object: Type.Literal('call_speaking'),
  call_id: Type.String(),
  session_call_id: nullable(Type.String({ description: 'The conference session that the participant is in.' })),
  participant_id: Type.String(),
  livemode: Type.Boolean(),
  speaking: Type.Boolean(),
})
export type CallSpeaking = Static<typeof callSpeakingSchema>

/** The active speaker of a conference, as `conference.active_speaker.changed` shows it. */
export const activeSpeakerSchema = Type.Object({
  object: Type.Literal('conference_active_speaker'),
  session_call_id: Type.String(),
  room_id: nullable(Type.String()),
  livemode: Type.Boolean(),
  participant_id: nullable(Type.String({ description: 'Null: the last speaker has left, and nobody else speaks.' })),
})
export type ActiveSpeakerChange = Static<typeof activeSpeakerSchema>
