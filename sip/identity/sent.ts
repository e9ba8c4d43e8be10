import type { HeaderFields } from '../agent-types.ts'
import { wireUri } from '../message/format.ts'
import { quote } from '../message/params.ts'
import { diversionFields, historyFields, type Redirect } from './redirects.ts'

/** How the caller is identified to a far end, besides From. */
export const IDENTITY_FORMS = ['from', 'asserted', 'preferred', 'remote_party_id'] as const
export const REDIRECT_FORMS = ['none', 'diversion', 'history_info'] as const

/** The caller's identity to be sent. */
export interface SentIdentity {
  form: (typeof IDENTITY_FORMS)[number]
  /** The caller, in a header; From may be anonymous. Null: nobody is named. */
  caller: string | null
  /** The called party must not see it. */
  isPrivate: boolean
  /** Whom the call was for before, the latest first. */
  redirects: readonly Redirect[]
  redirectForm: (typeof REDIRECT_FORMS)[number]
}

/** From of an anonymous call (RFC 3323 §4.1.1.3). */
export const ANONYMOUS = 'sip:anonymous@anonymous.invalid'

/** The header fields for it, besides From. `target`: the Request-URI. */
export const identityFields = (sent: SentIdentity, target: string): HeaderFields => [
  ...callerFields(sent),
  ...(sent.redirectForm === 'diversion' ? diversionFields(sent.redirects) : []),
  ...(sent.redirectForm === 'history_info' ? historyFields(sent.redirects, target) : []),
]

function callerFields({ form, caller: uri, isPrivate }: SentIdentity): HeaderFields {
  const caller = uri === null ? null : wireUri(uri)
  const privacy: HeaderFields = isPrivate ? [['Privacy', 'id']] : []
  if (form === 'from' || caller === null) return privacy
  if (form === 'asserted') return [['P-Asserted-Identity', `<${caller}>`], ...privacy]
  if (form === 'preferred') return [['P-Preferred-Identity', `<${caller}>`], ...privacy]
  const said = `party=calling;screen=yes;privacy=${isPrivate ? 'full' : 'off'}`
  return [['Remote-Party-ID', `${isPrivate ? `${quote('Anonymous')} ` : ''}<${caller}>;${said}`], ...privacy]
}
