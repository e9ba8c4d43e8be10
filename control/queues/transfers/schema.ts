import Type, { type Static } from 'typebox'
import { CALL_ID, PARTICIPANT_ID } from '../../kernel/events/sample-call.ts'
import { apiObject, nullable } from '../../kernel/schema.ts'

/** A transfer by SIP REFER, as in events. */
export const callTransferSchema = apiObject('call_transfer', {
  call_id: Type.String(),
  participant_id: Type.String({ description: 'The participant that requested it, or whose far end was asked.' }),
  direction: Type.String({
    description: 'in: the participant requested it by REFER; out: we sent REFER to its far end.',
  }),
  to: Type.String(),
  status: Type.String({ description: 'trying, ringing, completed, failed. After failed, the call is as before.' }),
  sip_code: nullable(Type.Integer({ description: 'Last answer of the target or the far end; 408: none.' })),
})

export type CallTransfer = Static<typeof callTransferSchema>

export const callTransferSample: CallTransfer = {
  id: 'xfer_01k90000000000000000000007',
  object: 'call_transfer',
  livemode: false,
  call_id: CALL_ID,
  participant_id: PARTICIPANT_ID,
  direction: 'in',
  to: '+15550100200',
  status: 'ringing',
  sip_code: 180,
}
