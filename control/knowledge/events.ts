import { type EventKind, eventKind as of } from '../kernel/events/catalog.ts'
import { CREATED } from '../kernel/events/sample-call.ts'
import { type KbDocument, kbDocumentSchema } from './document-schema.ts'

const kbDocument: KbDocument = {
  id: 'kbd_01k9000000000000000000001a',
  object: 'kb_document',
  livemode: false,
  name: 'Opening hours.md',
  status: 'ready',
  error: null,
  size_bytes: 2048,
  passage_count: 3,
  metadata: {},
  created: CREATED,
}

export const knowledgeEvents = {
  'kb.document.ready': of(kbDocumentSchema, kbDocument),
  'kb.document.failed': of(kbDocumentSchema, {
    ...kbDocument,
    name: 'Photo.jpg',
    status: 'failed',
    error: 'not_text',
    passage_count: 0,
  }),
} as const satisfies Record<string, EventKind>

declare module '../kernel/events/catalog.ts' {
  interface EventTypes extends Record<keyof typeof knowledgeEvents, true> {}
}
