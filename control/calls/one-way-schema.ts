import Type, { type Static } from 'typebox'

/** A party in a running call whose audio is missing, or no longer is, as the event `call.audio.one_way` shows it. */
export const callOneWaySchema = Type.Object({
  object: Type.Literal('call_one_way'),
  call_id: Type.String(),
  participant_id: Type.String(),
  livemode: Type.Boolean(),
  packets_sent: Type.Integer({ description: 'Packets of 20 ms sent to it so far.' }),
  packets_received: Type.Integer({
    description: 'Audio packets received from it so far. 0: none ever arrived; otherwise its audio has stopped.',
  }),
})

export type CallOneWay = Static<typeof callOneWaySchema>
