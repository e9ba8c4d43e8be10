import { type EventKind, eventKind as of } from '../kernel/events/catalog.ts'
import { CREATED } from '../kernel/events/sample-call.ts'
import { type Import, importSchema } from './schema.ts'

const running: Import = {
  id: 'imp_01k90000000000000000000073',
  object: 'import',
  livemode: true,
  target: 'do_not_call_numbers',
  target_id: null,
  status: 'running',
  dry_run: false,
  file: {
    ...{ filename: 'numbers.csv', size_bytes: 2_400_000, format: 'csv', encoding: 'utf-8' },
    ...{ delimiter: ';', header: true },
  },
  mapping: { phone: 'Telephone' },
  country: 'IL',
  rows: { read: 50_000, written: 49_000, duplicate: 900, failed: 100 },
  failure: null,
  metadata: {},
  started_at: CREATED,
  finished_at: null,
  created: CREATED,
  updated: CREATED,
}
const ended = { ...running, finished_at: CREATED }
const failure = { code: 'csv_malformed', message: 'Quote Not Closed', line: 50_001 }

export const importEvents = {
  'import.progress': of(importSchema, running),
  'import.completed': of(importSchema, { ...ended, status: 'completed' }),
  'import.failed': of(importSchema, { ...ended, status: 'failed', failure }),
  'import.cancelled': of(importSchema, { ...ended, status: 'cancelled' }),
} as const satisfies Record<string, EventKind>

declare module '../kernel/events/catalog.ts' {
  interface EventTypes extends Record<keyof typeof importEvents, true> {}
}
