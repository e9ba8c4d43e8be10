import Type, { type Static } from 'typebox'

/** A party in a running call whose audio is missing, or no longer is, as the event `call.audio.one_way` shows it. */
export const callOneWaySchema = Type.Object({
  object: Type.Literal('call_one_way'),
  call_id: Type.String(),
  participant_id: Type.String(),
  livemode: Type.Boolean(),
  packets_sent: Type.Integer({ description: 'Of 20 ms each, so far.' }),
  packets_received: Type.Integer({ description: 'Of its audio, so far: 0 when none ever came, else it stopped.' }),
})

export type CallOneWay = Static<typeof callOneWaySchema>
