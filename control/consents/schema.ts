import Type, { type Static } from 'typebox'
import { apiObject, input, metadata, nullable, oneOf, timestamp } from '../kernel/schema.ts'
import { showRow } from '../kernel/show-row.ts'
import { type ConsentRow, PURPOSES } from './tables.ts'

export const STATUSES = ['active', 'expired', 'replaced', 'revoked'] as const
type Status = (typeof STATUSES)[number]

export const purpose = oneOf([...PURPOSES], {
  description: 'What is allowed: calls, recording and transcription, texts, marketing.',
})

const text = Type.String({ maxLength: 2000, description: 'The words of the consent.' })
const url = Type.String({ maxLength: 2000, description: 'Address of the form or the document.' })
const offset = Type.Integer({ minimum: 0, maximum: 86_400_000, description: 'Time in the call [ms].' })

export const consentSchema = apiObject('consent', {
  phone: Type.String({ description: 'Number of the person who consents, E.164.' }),
  purpose,
  status: oneOf([...STATUSES], {
    description: '`replaced`: a later consent of this number for the same purpose is valid.',
  }),
  evidence: Type.Object({
    type: oneOf(['call', 'form', 'document', 'import']),
    call_id: nullable(Type.String()),
    offset_ms: nullable(offset),
    import_id: nullable(Type.String()),
    url: nullable(url),
    text: nullable(text),
  }),
  given_at: timestamp('When it was given.'),
  expires_at: nullable(timestamp('End of validity; null: valid until revoked.')),
  revoked_at: nullable(timestamp()),
  revocation: nullable(
    Type.Object({
      reason: Type.String(),
      call_id: nullable(Type.String({ description: 'The call in which it was given.' })),
    }),
  ),
  metadata,
  created: timestamp(),
  updated: timestamp(),
})
export type Consent = Static<typeof consentSchema>

export const createBody = input({
  phone: Type.String({
    minLength: 1,
    maxLength: 50,
    description: "Number of the person who consents: E.164, or the local form of the organisation's country.",
  }),
  purpose,
  evidence: input({
    type: oneOf(['call', 'form', 'document'], { description: '`call` needs `call_id`, the others `url` or `text`.' }),
    call_id: Type.Optional(Type.String({ maxLength: 200 })),
    offset_ms: Type.Optional(offset),
    url: Type.Optional(url),
    text: Type.Optional(text),
  }),
  given_at: Type.Optional(timestamp('Default: now.')),
  expires_at: Type.Optional(nullable(timestamp('End of validity; null: valid until revoked.'))),
  metadata: Type.Optional(metadata),
})

export const revokeBody = input({
  reason: Type.Optional(Type.String({ maxLength: 500, default: '' })),
  call_id: Type.Optional(Type.String({ maxLength: 200, description: 'The call in which it was given.' })),
})

export function statusOf({ revoked_at, replaced_at, expires_at }: ConsentRow, now: Date): Status {
  if (revoked_at !== null) return 'revoked'
  if (replaced_at !== null) return 'replaced'
  return expires_at !== null && expires_at <= now.toISOString() ? 'expired' : 'active'
}

export const toConsent = (row: ConsentRow, now: Date): Consent =>
  showRow(consentSchema, row, {
    status: statusOf(row, now),
    revocation: row.revoked_at === null ? null : { reason: row.revoked_reason ?? '', call_id: row.revoked_call_id },
  })
