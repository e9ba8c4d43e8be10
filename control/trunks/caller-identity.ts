import { type CountryCode, parsePhoneNumberFromString } from 'libphonenumber-js'
import Type, { type Static } from 'typebox'
import {
  ANONYMOUS,
  ATTESTATIONS,
  type ClaimedIdentity,
  canonicalNumber,
  type Events,
  REDIRECT_REASONS,
  type SipParty,
  VERIFICATION_FAILURES,
  type Verification,
  type VerificationFailure,
} from '../../media/protocol.ts'
import { nullable, oneOf } from '../kernel/schema.ts'
import { addressOf } from './address.ts'
import type { ConnectionRow } from './tables.ts'

/** The caller's identity, derived from the INVITE and from how far its connection is trusted. */

export const callIdentity = Type.Object({
  anonymous: Type.Boolean({
    description: `The caller requests privacy, or does not say who it is; for an outbound call, \`caller_id\` was anonymous. \`from\` of an inbound call is then \`${ANONYMOUS}\`, unless the connection has \`show_private_callers\`.`,
  }),
  name: nullable(Type.String({ description: "The caller's name as the far end sends it, unverified." })),
  asserted: nullable(
    Type.String({
      description:
        'Number or SIP URI that the far end asserts (P-Asserted-Identity); null if its connection has no `trust_identity`.',
    }),
  ),
  verification: nullable(
    oneOf(['verified', 'failed', 'none'], {
      description:
        'STIR/SHAKEN. verified: `from` is signed by a provider that we trust. failed: the signature is not valid. none: there is none. Null: the connection has no `verify_calls`.',
    }),
  ),
  attestation: nullable(
    oneOf([...ATTESTATIONS], {
      description:
        "A: the provider vouches for the caller's number. B: it knows the caller, but not the number. C: the call came from elsewhere. If verification failed, this is not proven.",
    }),
  ),
  verification_failure: nullable(oneOf(Object.keys(VERIFICATION_FAILURES) as VerificationFailure[])),
})
export type CallIdentity = Static<typeof callIdentity>

export const redirectedFrom = Type.Object({
  address: Type.String({ description: `Number or SIP URI; \`${ANONYMOUS}\`: private.` }),
  reason: oneOf([...REDIRECT_REASONS]),
  count: Type.Integer({ description: 'How many times the call was diverted there.' }),
})
export type RedirectedFrom = Static<typeof redirectedFrom>

/** A call's fields about its caller. */
export interface ShownCaller {
  from: SipParty
  identity: CallIdentity | null
  redirectedFrom: RedirectedFrom[]
}

type Incoming = Pick<Events['leg.incoming'], 'from' | 'identity'>
type Believed = Pick<ConnectionRow, 'trust_identity' | 'show_private_callers' | 'number_country'>

const NOBODY: SipParty = { uri: ANONYMOUS, user: 'anonymous', host: 'anonymous.invalid' }
/** Values of Privacy that hide the caller (RFC 3323 §4.2, RFC 3325 §9.3). */
const HIDING = ['id', 'header', 'user']

export const isNobody = ({ user, host }: SipParty): boolean =>
  (user === '' && host === '') || user.toLowerCase() === 'anonymous' || host.toLowerCase() === 'anonymous.invalid'

const isNumber = ({ user }: SipParty): boolean => /^\+?[0-9]+$/.test(user)

/**
 * The caller as shown: From or, if From names nobody, what a trusted far end asserts. A caller who requests privacy is neither shown nor stored, unless the
 * connection has `show_private_callers`. If a signature covers the asserted identity and not From, the asserted one is the caller, since From is unproven.
 */
export function callerOf(
  { from, identity }: Incoming,
  connection: Believed,
  verification: Verification | null = null,
): ShownCaller {
  const redirectedFrom = redirectsOf(identity)
  const asserted = connection.trust_identity === 1 ? assertedOf(identity) : null
  const isPrivate = wantsPrivacy(identity)
  const isProven = asserted !== null && isSignedFor(verification, asserted, connection)
  const isFrom = !isNobody(from) && !(isProven && !isSignedFor(verification, from, connection))
  const known = isFrom ? from : (asserted ?? NOBODY)
  const signed = verdictOf(verification)
  if (isPrivate && connection.show_private_callers === 0) {
    return { from: NOBODY, identity: { anonymous: true, name: null, asserted: null, ...signed }, redirectedFrom }
  }
  const said: CallIdentity = {
    anonymous: isPrivate || isNobody(known),
    name: asserted?.displayName ?? (isNobody(from) ? null : (identity?.displayName ?? null)),
    asserted: asserted === null ? null : addressOf(asserted),
    ...signed,
  }
  const isEmpty = !said.anonymous && [said.name, said.asserted, said.verification].every(value => value === null)
  return { from: known, identity: isEmpty ? null : said, redirectedFrom }
}

const isSignedFor = (verification: Verification | null, party: SipParty, { number_country }: Believed): boolean =>
  verification?.number != null && verification.number === canonicalOf(party, number_country)

type Verdict = Pick<CallIdentity, 'verification' | 'attestation' | 'verification_failure'>

/** For a call whose signature was not verified. */
export const NOT_JUDGED: Verdict = { verification: null, attestation: null, verification_failure: null }

export const wantsPrivacy = (identity: ClaimedIdentity | undefined): boolean =>
  HIDING.some(value => identity?.privacy.includes(value))

/** Identity of an outbound call whose caller is hidden. */
export const HIDDEN_CALLER = { anonymous: true, name: null, asserted: null, ...NOT_JUDGED }

const verdictOf = (verification: Verification | null): Verdict =>
  verification === null
    ? NOT_JUDGED
    : {
        verification: verification.result,
        attestation: verification.attestation,
        verification_failure: verification.result === 'failed' ? verification.cause : null,
      }

/** The numbers that a call may be signed for, in canonical form (RFC 8224 §8.3). */
export function signedNumbers(
  { from, to, identity }: Pick<Events['leg.incoming'], 'from' | 'to' | 'identity'>,
  connection: Believed,
): { from: string[]; to: string[] } {
  const asserted = connection.trust_identity === 1 ? (identity?.asserted ?? []) : []
  const canonical = (parties: SipParty[]): string[] => [
    ...new Set(parties.flatMap(party => canonicalOf(party, connection.number_country) ?? [])),
  ]
  return { from: canonical([from, ...asserted]), to: canonical([to]) }
}

/** Reads a number without `+` as it is dialled in the far end's country, if that is set. */
function canonicalOf({ user }: SipParty, country: string | null): string | null {
  if (country === null || user.startsWith('+')) return canonicalNumber(user)
  const parsed = parsePhoneNumberFromString(user, country as CountryCode)
  return parsed?.isPossible() === true ? canonicalNumber(parsed.number) : canonicalNumber(user)
}

/** The asserted identity; a number, if both a number and an address are asserted (RFC 3325 §9.1). */
function assertedOf(identity: ClaimedIdentity | undefined): ClaimedIdentity['asserted'][number] | null {
  const asserted = (identity?.asserted ?? []).filter(party => !isNobody(party))
  return asserted.find(isNumber) ?? asserted[0] ?? null
}

const redirectsOf = (identity: ClaimedIdentity | undefined): RedirectedFrom[] =>
  (identity?.redirects ?? []).map(({ party, isPrivate, reason, count }) => {
    const isHidden = isPrivate || identity?.privacy.includes('history') === true
    return { address: isHidden ? ANONYMOUS : addressOf(party), reason, count }
  })
