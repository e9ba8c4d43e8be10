import Type, { type Static } from 'typebox'
import { apiObject, metadata, nullable, oneOf, timestamp } from '../kernel/schema.ts'
import { showRow } from '../kernel/show-row.ts'
import type { KbDocumentRow } from './tables.ts'

export const kbDocumentSchema = apiObject('kb_document', {
  name: Type.String(),
  status: oneOf(['ready', 'failed']),
  error: nullable(Type.String({ description: 'Why it failed: `not_text`, `empty`.' })),
  size_bytes: Type.Integer(),
  passage_count: Type.Integer(),
  metadata,
  created: timestamp(),
})
export type KbDocument = Static<typeof kbDocumentSchema>

export const toKbDocument = (row: KbDocumentRow): KbDocument => showRow(kbDocumentSchema, row)
