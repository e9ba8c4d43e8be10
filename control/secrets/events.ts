import { type EventKind, eventKind as of } from '../kernel/events/catalog.ts'
import { CREATED } from '../kernel/events/sample-call.ts'
import { type Secret, secretSchema } from './schema.ts'

const secret: Secret = {
  id: 'sec_01k90000000000000000000001',
  object: 'secret',
  livemode: true,
  name: 'SHOP_KEY',
  description: "Of the shop's API.",
  version: 1,
  used_by: [],
  metadata: {},
  rotated_at: null,
  created: CREATED,
  updated: CREATED,
}

export const secretEvents = {
  'secret.created': of(secretSchema, secret),
  'secret.rotated': of(secretSchema, { ...secret, version: 2, rotated_at: CREATED }),
  'secret.deleted': of(secretSchema, secret),
} as const satisfies Record<string, EventKind>

declare module '../kernel/events/catalog.ts' {
  interface EventTypes extends Record<keyof typeof secretEvents, true> {}
}
