import Type, { type Static } from 'typebox'
import { metadata, nullable, oneOf, timestamp } from '../kernel/schema.ts'
import type { KbDocumentRow } from './tables.ts'

export const kbDocumentSchema = Type.Object({
  id: Type.String(),
  object: Type.Literal('kb_document'),
  livemode: Type.Boolean(),
  name: Type.String(),
  status: oneOf(['ready', 'failed']),
  error: nullable(Type.String({ description: 'Why it failed: `not_text`, `empty`.' })),
  size_bytes: Type.Integer(),
  passage_count: Type.Integer(),
  metadata,
  created: timestamp(),
})
export type KbDocument = Static<typeof kbDocumentSchema>

export const toKbDocument = (row: KbDocumentRow): KbDocument => ({
  id: row.id,
  object: 'kb_document',
  livemode: row.livemode === 1,
  name: row.name,
  status: row.status,
  error: row.error,
  size_bytes: row.size_bytes,
  passage_count: row.passage_count,
  metadata: JSON.parse(row.metadata),
  created: row.created,
})
