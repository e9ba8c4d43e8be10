import { type EventKind, eventKind as of } from '../kernel/events/catalog.ts'
import { CREATED } from '../kernel/events/sample-call.ts'
import { type Tool, toolSchema } from './schema.ts'

const tool: Tool = {
  id: 'tool_01k90000000000000000000001',
  object: 'tool',
  livemode: true,
  name: 'order_state',
  kind: 'http',
  version: 1,
  description: 'Where an order is.',
  parameters: { type: 'object', properties: { order: { type: 'integer' } }, required: ['order'] },
  http: {
    method: 'GET',
    url: 'https://shop.example.com/orders/{{order}}',
    headers: { authorization: 'Bearer {{secret:SHOP_KEY}}' },
    body: null,
    body_format: 'json',
    timeout_ms: 10_000,
    retries: 1,
    response: { state: '$.state' },
  },
  target: null,
  payment: null,
  knowledge: null,
  secrets: ['SHOP_KEY'],
  metadata: {},
  created: CREATED,
  updated: CREATED,
}

export const toolEvents = {
  'tool.created': of(toolSchema, tool),
  'tool.updated': of(toolSchema, { ...tool, version: 2 }),
  'tool.deleted': of(toolSchema, tool),
} as const satisfies Record<string, EventKind>

declare module '../kernel/events/catalog.ts' {
  interface EventTypes extends Record<keyof typeof toolEvents, true> {}
}
