import type { HeaderFields } from '../agent-types.ts'
import { wireUri } from '../message/format.ts'
import { quote } from '../message/params.ts'
import { diversionFields, historyFields, type Redirect } from './redirects.ts'

/** How a far end is told who calls, beside From. */
export const IDENTITY_FORMS = ['from', 'asserted', 'preferred', 'remote_party_id'] as const
export const REDIRECT_FORMS = ['none', 'diversion', 'history_info'] as const

/** What is said of who calls. */
export interface SentIdentity {
  form: (typeof IDENTITY_FORMS)[number]
  /** Who calls, in a header that From may hide it from; null: nobody is named. */
  caller: string | null
  /** Whoever is called shall not see it. */
  isPrivate: boolean
  /** Whom the call was for before, the latest first. */
  redirects: readonly Redirect[]
  redirectForm: (typeof REDIRECT_FORMS)[number]
}

/** From of a call whose caller is not to be known (RFC 3323 §4.1.1.3). */
export const ANONYMOUS = 'sip:anonymous@anonymous.invalid'

/** The header fields that say it, beside From. `target`: the Request-URI. */
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
