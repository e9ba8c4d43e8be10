import Type, { type Static } from 'typebox'
import { actionSchema, END_REASONS, pathEntrySchema, turnSchema } from '../../flows/step-schema.ts'
import { apiObject, nullable, timestamp } from '../../kernel/schema.ts'
import { showRow } from '../../kernel/show-row.ts'
import type { CallProgramRow, CallStepRow } from './tables.ts'

const ms = (description: string) => nullable(Type.Integer({ description: `${description} [ms]` }))

/** How long the parts of a turn took, and what the model cost; null: not measured, or not used. */
const turnTimingSchema = Type.Object({
  endpoint_ms: ms('From the last voice until the silence was long enough'),
  transcribe_ms: ms('From then on to the transcript'),
  first_token_ms: ms('From the transcript to the first token of the model'),
  first_audio_ms: ms('From the last voice of the caller to our first audio'),
  heard_ms: ms('How much of it was played'),
  interrupted: Type.Boolean({ description: 'The caller interrupted it.' }),
  model: nullable(Type.String()),
  input_tokens: nullable(Type.Integer()),
  output_tokens: nullable(Type.Integer()),
})

export type TurnTiming = Static<typeof turnTimingSchema>

export const UNTIMED: TurnTiming = {
  endpoint_ms: null,
  transcribe_ms: null,
  first_token_ms: null,
  first_audio_ms: null,
  heard_ms: null,
  interrupted: false,
  model: null,
  input_tokens: null,
  output_tokens: null,
}

/** One action of a flow or an assistant in a call: a node entered, a line said, an action. */
export const callStepSchema = apiObject('call_step', {
  call_id: Type.String(),
  kind: Type.String({ description: 'node, turn or action; the field of this name is not null.' }),
  node: nullable(pathEntrySchema),
  turn: nullable(turnSchema),
  action: nullable(actionSchema),
  timing: nullable(turnTimingSchema),
  at: timestamp(),
})

export type CallStep = Static<typeof callStepSchema>

export const toCallStep = (row: CallStepRow): CallStep => {
  const none = { node: null, turn: null, action: null }
  return showRow(callStepSchema, row, { ...none, [row.kind]: JSON.parse(row.entry) })
}

/** The program that leads, or has led, a call. */
export const callProgramSchema = Type.Object({
  object: Type.Literal('call_flow_run'),
  call_id: Type.String(),
  livemode: Type.Boolean(),
  kind: Type.String({ description: 'flow, assistant, voicemail' }),
  flow_id: nullable(Type.String()),
  flow_version: nullable(Type.Integer()),
  assistant_id: nullable(Type.String()),
  status: Type.String({ description: 'waiting, running, bridged (the caller was put through), ended' }),
  end_reason: nullable(Type.String({ description: END_REASONS })),
  ended_at: nullable(timestamp()),
})

export type CallProgram = Static<typeof callProgramSchema>

export const toCallProgram = (row: CallProgramRow): CallProgram => showRow(callProgramSchema, row, { call_id: row.id })
