import Type, { type Static } from 'typebox'

/** A party that was sent audio and of which none came, as the event `call.audio.one_way` shows it. */
export const callOneWaySchema = Type.Object({
  object: Type.Literal('call_one_way'),
  call_id: Type.String(),
  participant_id: Type.String(),
  livemode: Type.Boolean(),
  packets_sent: Type.Integer({ description: 'Of 20 ms each; not one came back.' }),
})

export type CallOneWay = Static<typeof callOneWaySchema>
