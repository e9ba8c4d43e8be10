import Type, { type Static } from 'typebox'

/** A key press, as the event `call.dtmf` shows it. */
export const callDtmfSchema = Type.Object({
  object: Type.Literal('call_dtmf'),
  call_id: Type.String(),
  participant_id: Type.String(),
  livemode: Type.Boolean(),
  digit: Type.String({ description: '0 to 9, *, #, A to D; always * when masked.' }),
  masked: Type.Boolean({ description: 'Pressed during a card-payment pause, or part of a PIN.' }),
})

export type CallDtmf = Static<typeof callDtmfSchema>
