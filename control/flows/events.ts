import { NO_CAPTURE } from '../capture-settings/settings.ts'
import { type EventKind, eventKind as of } from '../kernel/events/catalog.ts'
import { CREATED } from '../kernel/events/sample-call.ts'
import { type FlowObject, flowSchema } from './flow-schema.ts'

const flow: FlowObject = {
  ...NO_CAPTURE,
  id: 'flow_01k9000000000000000000000f',
  object: 'flow',
  livemode: false,
  name: 'Front desk',
  description: '',
  kind: 'voice',
  status: 'published',
  published_version: 1,
  latest_version: 1,
  draft_rev: 3,
  assistant_id: null,
  template_id: null,
  node_count: 5,
  updated: CREATED,
}

export const flowEvents = {
  'flow.published': of(flowSchema, flow),
  'flow.archived': of(flowSchema, { ...flow, status: 'archived' }),
  'flow.unarchived': of(flowSchema, flow),
} as const satisfies Record<string, EventKind>

declare module '../kernel/events/catalog.ts' {
  interface EventTypes extends Record<keyof typeof flowEvents, true> {}
}
