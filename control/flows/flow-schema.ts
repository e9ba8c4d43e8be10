import Type, { type Static } from 'typebox'
import { captureFields } from '../capture-settings/settings.ts'
import { apiObject, nullable, oneOf, timestamp } from '../kernel/schema.ts'
import { flowKind, graphSchema } from './engine/graph.ts'

const flowFields = {
  id: Type.String(),
  object: Type.Literal('flow'),
  livemode: Type.Boolean(),
  name: Type.String(),
  description: Type.String(),
  kind: flowKind,
  status: oneOf(['draft', 'published', 'archived']),
  published_version: nullable(Type.Integer({ description: 'The version that calls run; null: never published.' })),
  latest_version: Type.Integer({ description: '0: never published.' }),
  draft_rev: Type.Integer({ description: 'Send it as `base_rev` when writing the draft.' }),
  assistant_id: nullable(Type.String()),
  template_id: nullable(Type.String({ description: 'Template that it was created from.' })),
  node_count: Type.Integer(),
  ...captureFields,
  updated: timestamp(),
}

export const flowSchema = Type.Object(flowFields)

/** A flow with the graph of its draft. */
export const flowWithGraphSchema = Type.Object({ ...flowFields, graph: graphSchema }, { title: 'FlowWithGraph' })

export const flowVersionSchema = apiObject('flow_version', {
  flow_id: Type.String(),
  version: Type.Integer(),
  node_count: Type.Integer(),
  graph: graphSchema,
  created: timestamp('When it was published.'),
})

export type FlowObject = Static<typeof flowSchema>
export type FlowVersionObject = Static<typeof flowVersionSchema>
