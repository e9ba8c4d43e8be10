import Type, { type Static } from 'typebox'
import { nullable, timestamp } from '../kernel/schema.ts'
import type { CapturePauseRow } from './tables.ts'

/** Specification, "CallPci". */
export const callPciSchema = Type.Object({
  object: Type.Literal('call_pci'),
  call_id: Type.String(),
  livemode: Type.Boolean(),
  paused: Type.Boolean({ description: 'Recording and transcription are paused for a payment.' }),
  reason: nullable(Type.String()),
  paused_at: nullable(timestamp()),
  resumes_at: nullable(timestamp('When the pause ends by itself.')),
  destination_participant_id: nullable(Type.String()),
})

export type CallPci = Static<typeof callPciSchema>

/** `pause` null: the call is running. */
export const toCallPci = (callId: string, livemode: boolean, pause: Omit<CapturePauseRow, 'id'> | null): CallPci => ({
  object: 'call_pci',
  call_id: callId,
  livemode,
  paused: pause !== null,
  reason: pause?.reason ?? null,
  paused_at: pause?.paused_at ?? null,
  resumes_at: pause?.resumes_at ?? null,
  destination_participant_id: pause?.destination_participant_id ?? null,
})
