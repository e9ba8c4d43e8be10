import Type, { type Static } from 'typebox'
import { REDIRECT_REASONS, type RedirectReason } from '../../sip/identity/redirects.ts'
import { ANONYMOUS, IDENTITY_FORMS, REDIRECT_FORMS } from '../../sip/identity/sent.ts'
import { canonicalNumber, telephoneNumber } from '../../sip/identity/telephone-number.ts'
import { parseUri } from '../../sip/message/uri.ts'
import { boolean, integer, line, list, nullable, oneOf } from './schema.ts'

/** Caller identity besides From, as far ends send it and are sent it. */

export { ANONYMOUS, canonicalNumber, IDENTITY_FORMS, REDIRECT_FORMS, REDIRECT_REASONS, type RedirectReason }

/** Maximum number of reported redirections of a call. */
export const MAX_REDIRECTS = 10
/** Each of one call. */
const MAX_COUNT = 100
const MAX_URI = 1000

/** The number of a `tel:` URI in its global form, with its `+`; null: none. */
export function globalTel(text: string): string | null {
  const uri = parseUri(text)
  const number = 'scheme' in uri && uri.scheme === 'tel' ? telephoneNumber(uri) : null
  return number?.startsWith('+') ? number : null
}

/** Whether it is valid in what a far end is told. */
export function isPartyUri(text: string): boolean {
  const parsed = parseUri(text)
  return text.length <= MAX_URI && 'scheme' in parsed && parsed.scheme !== 'other'
}

const uri = Type.Refine(Type.String({ maxLength: MAX_URI }), isPartyUri)

const redirect = Type.Object({
  uri,
  reason: oneOf(...REDIRECT_REASONS),
  count: integer(1, MAX_COUNT),
  isPrivate: boolean,
})

/**
 * A: the number is the customer's. B: the customer is known, the number is not. C: the call came from elsewhere (RFC 8588
 * §4).
 */
export const ATTESTATIONS = ['A', 'B', 'C'] as const
export type Attestation = (typeof ATTESTATIONS)[number]

/** A number as PASSporTs have it (RFC 8224 §8.3): digits alone. */
export const canonical = Type.String({ pattern: /^[0-9*#]{1,30}$/ })

/** What is known about the signer of a call. */
export interface Verification {
  /** `none`: nobody has, or in no form that we understand. */
  result: 'verified' | 'failed' | 'none'
  attestation: Attestation | null
  origId: string | null
  /** Which of the numbers it is signed for; null: none. */
  number: string | null
  /** Why it is not verified. */
  cause: VerificationFailure | null
}

/** Why a signature proves nothing, and what says so to a caller who needs one (RFC 8224 §6.2.2). */
export const VERIFICATION_FAILURES = {
  no_identity: { sipCode: 428, phrase: 'Use Identity Header' },
  malformed: { sipCode: 438, phrase: 'Invalid Identity Header' },
  certificate_unavailable: { sipCode: 436, phrase: 'Bad Identity Info' },
  certificate_untrusted: { sipCode: 437, phrase: 'Unsupported Credential' },
  stale: { sipCode: 403, phrase: 'Stale Date' },
  number_mismatch: { sipCode: 438, phrase: 'Invalid Identity Header' },
  signature_invalid: { sipCode: 438, phrase: 'Invalid Identity Header' },
} as const
export type VerificationFailure = keyof typeof VERIFICATION_FAILURES

/** The caller identity that a far end is sent (`sip/identity/sent.ts`). */
export const callerIdentity = Type.Object({
  form: oneOf(...IDENTITY_FORMS),
  caller: nullable(uri),
  isPrivate: boolean,
  /** Whom the call was for before, the latest first. */
  redirects: list(redirect, MAX_REDIRECTS),
  redirectForm: oneOf(...REDIRECT_FORMS),
  /** Data of its signature (RFC 8224, RFC 8588); absent: not signed. Numbers in canonical form. */
  sign: Type.Optional(
    Type.Object({
      attestation: oneOf(...ATTESTATIONS),
      from: canonical,
      to: canonical,
      origId: line(100),
      /** The number that the caller had called. Their signature for it goes on beside ours (RFC 8946). Absent: not a forwarded call. */
      div: Type.Optional(canonical),
    }),
  ),
})
export type CallerIdentity = Static<typeof callerIdentity>
