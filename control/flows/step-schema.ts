import Type from 'typebox'
import { nullable } from '../kernel/schema.ts'

/** What a run of a flow reports, in a simulation and in a call. */

export const turnSchema = Type.Object({
  node_key: Type.String(),
  role: Type.String({ description: 'assistant, customer' }),
  source: Type.String({ description: 'script, speech, dtmf, ai, tool' }),
  text: Type.String(),
})

export const pathEntrySchema = Type.Object({
  from_node_key: nullable(Type.String()),
  node_key: Type.String(),
  node_type: Type.String(),
  transition_key: nullable(Type.String()),
  via: Type.String({ description: '`start`, or the kind of the condition that fired.' }),
})

const scalarSchema = Type.Unsafe<string | number | boolean | null>({
  type: ['string', 'number', 'boolean', 'null'],
})
export const scalarsSchema = Type.Unsafe<Record<string, string | number | boolean | null>>({
  type: 'object',
  additionalProperties: { type: ['string', 'number', 'boolean', 'null'] },
})

export const actionSchema = Type.Object({
  node_key: Type.String(),
  kind: Type.String({ description: 'api, tool, transfer, voicemail, callback, payment' }),
  name: Type.String(),
  input: scalarsSchema,
  output: scalarSchema,
  dry_run: Type.Boolean(),
  status: Type.String({ description: 'succeeded, failed' }),
})

export const END_REASONS =
  'end_node, transfer, voicemail, callback, caller_hangup, no_response_limit, loop_limit, error; of an assistant also assistant_ended'
