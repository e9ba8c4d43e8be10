import Type from 'typebox'
import { type Catalogue, catalogueRoutes } from '../../http/catalogue.ts'
import { invalid, type Problem } from '../../http/errors.ts'
import { operations, type Route } from '../../http/route.ts'
import { emptyGraph, flowKind, graphSchema, mergeGraph } from '../engine/graph.ts'
import { afterHours } from './after-hours.ts'
import { appointment } from './appointment.ts'
import { openingHours } from './opening-hours.ts'
import { orderStatus } from './order-status.ts'
import { payment } from './payment.ts'
import { reception } from './reception.ts'
import { reminder } from './reminder.ts'
import { survey } from './survey.ts'
import type { FlowTemplate } from './template.ts'

export const FLOW_TEMPLATES: readonly FlowTemplate[] = [
  reception,
  openingHours,
  appointment,
  orderStatus,
  survey,
  payment,
  afterHours,
  reminder,
]

const flowTemplateSchema = Type.Object({
  id: Type.String({ description: 'Send it as `template_id` of a new flow.' }),
  object: Type.Literal('flow_template'),
  livemode: Type.Boolean(),
  name: Type.String(),
  description: Type.String(),
  kind: flowKind,
  node_count: Type.Integer(),
  graph: graphSchema,
})

const catalogue: Catalogue<typeof flowTemplateSchema> = {
  api: operations('Flows', 'flows'),
  reply: flowTemplateSchema,
  description: 'Templates for new flows. Each can be published unchanged; your own details are in `graph.variables`.',
  all: ({ livemode }) =>
    FLOW_TEMPLATES.map(({ graph, ...template }) => ({
      ...template,
      object: 'flow_template' as const,
      livemode,
      node_count: graph.nodes.length,
      graph: mergeGraph(emptyGraph(template.kind), graph),
    })),
}

export const flowTemplateRoutes = (): Route[] => catalogueRoutes(catalogue)

/** The template that a new flow is made from. */
export const templateOf = (id: string): FlowTemplate | Problem =>
  FLOW_TEMPLATES.find(template => template.id === id) ?? invalid('template_id', `No such flow template: ${id}`)
