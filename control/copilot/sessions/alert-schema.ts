import Type, { type Static } from 'typebox'
import { nullable } from '../../kernel/schema.ts'

/** An alert for supervisors. */
export const copilotAlertSchema = Type.Object({
  id: Type.String({ description: 'The message that notified the agent.' }),
  object: Type.Literal('copilot_alert'),
  livemode: Type.Boolean(),
  session_id: Type.String(),
  call_id: Type.String(),
  user_id: nullable(Type.String({ description: 'ID of the agent.' })),
  queue_id: nullable(Type.String()),
  key: Type.String({ description: "Key in the profile's `alerts`." }),
  kind: Type.String(),
  label: Type.String(),
  message: Type.String(),
  severity: Type.String({ description: 'info, warning, critical' }),
  utterance_ids: Type.Array(Type.String()),
})
export type CopilotAlert = Static<typeof copilotAlertSchema>
