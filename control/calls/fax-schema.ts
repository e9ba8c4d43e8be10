import Type, { type Static } from 'typebox'
import { oneOf } from '../kernel/schema.ts'

/** Fax between two parties of a running call, as `call.fax.started` and `call.fax.ended` show it. */
export const callFaxSchema = Type.Object({
  object: Type.Literal('call_fax'),
  call_id: Type.String(),
  livemode: Type.Boolean(),
  participant_ids: Type.Array(Type.String(), {
    description: 'The participant that switched to fax (T.38), and the other one that receives it.',
  }),
})

export type CallFax = Static<typeof callFaxSchema>

/** A party of a call was detected to be a fax machine or a modem, as the event `call.fax.detected` shows it. */
export const callFaxToneSchema = Type.Object({
  object: Type.Literal('call_fax_tone'),
  call_id: Type.String(),
  participant_id: Type.String({ description: 'The participant that sends the tone.' }),
  livemode: Type.Boolean(),
  tone: oneOf(['cng', 'ced', 'ans', 'ansam'], {
    description:
      'cng: calling tone of a fax machine (T.30, 1100 Hz). ced: answering tone of a fax machine (2100 Hz). ans: the same with phase reversals (V.25), also sent by modems. ansam: the same with amplitude modulation (V.8).',
  }),
})

export type CallFaxTone = Static<typeof callFaxToneSchema>
