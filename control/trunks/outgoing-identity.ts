import { createHash } from 'node:crypto'
import { ANONYMOUS, type CallerIdentity, canonicalNumber, isPartyUri, MAX_REDIRECTS } from '../../media/protocol.ts'
import { E164 } from '../kernel/phone.ts'
import type { RedirectedFrom } from './caller-identity.ts'
import type { ConnectionRow } from './tables.ts'

/** What far ends are told about a call's caller, besides the number. */
export interface ToldOfCaller {
  /** The caller is hidden from the called party. */
  isAnonymous: boolean
  /** Whom the call was for before it was forwarded, the latest first. */
  redirectedFrom: readonly RedirectedFrom[]
}

/**
 * The caller's identity as a connection sends it. An unknown caller is anonymous too, and the identity header then has our number that was
 * called, otherwise the connection's own.
 */
export function identityFor(
  {
    identity,
    redirect_headers: redirectForm,
    caller_number: own,
  }: Pick<ConnectionRow, 'identity' | 'redirect_headers' | 'caller_number'>,
  { caller, isAnonymous = false, redirectedFrom = [] }: Partial<ToldOfCaller> & { caller: string },
  uriOf: (address: string) => string,
): CallerIdentity {
  const isPrivate = isAnonymous || caller === ANONYMOUS
  const told = toldNumber({ caller, redirectedFrom }, own)
  const redirects = redirectedFrom.map(({ address, reason, count }) => ({
    uri: uriOf(address),
    reason,
    count,
    isPrivate: address === ANONYMOUS,
  }))
  return {
    form: identity,
    caller: told === null ? null : uriOf(told),
    isPrivate,
    redirects: redirects.filter(({ uri }) => isPartyUri(uri)).slice(0, MAX_REDIRECTS),
    redirectForm,
  }
}

/** The number for the identity header: the caller's or, if that is unknown, our number that was called, otherwise the connection's own. */
const toldNumber = (
  { caller, redirectedFrom = [] }: Pick<Partial<ToldOfCaller>, 'redirectedFrom'> & { caller: string },
  own: string | null,
): string | null =>
  caller !== ANONYMOUS ? caller : (redirectedFrom.find(({ address }) => E164.test(address))?.address ?? own)

/** What the signature of an outbound call depends on. */
type SignedCall = Partial<ToldOfCaller> & { caller: string; to: string; isOthers?: boolean }

/**
 * The signature of a call (RFC 8588 §4). Attestation A from a number of the organisation, C for a forwarded call (`div`: from whom, if that was a number),
 * B otherwise. Undefined: not signed, because the connection does not sign, one end is no number, or the signature would name an anonymous caller.
 */
export function signatureFor(
  { sign_calls, identity, caller_number, organisation_id }: ConnectionRow,
  { caller, to, isAnonymous = false, redirectedFrom = [], isOthers = false }: SignedCall,
  ownNumbers: ReadonlySet<string>,
): CallerIdentity['sign'] {
  const told = toldNumber({ caller, redirectedFrom }, caller_number)
  const [from, dest] = [told ?? '', to].map(number => (E164.test(number) ? canonicalNumber(number) : null))
  const isHidden = (isAnonymous || caller === ANONYMOUS) && identity === 'from'
  if (sign_calls === 0 || isHidden || from == null || dest == null) return undefined
  const attestation = ownNumbers.has(told ?? '') ? 'A' : isOthers || redirectedFrom.length > 0 ? 'C' : 'B'
  const called = redirectedFrom[0]?.address ?? ''
  const div = attestation === 'C' && E164.test(called) ? canonicalNumber(called) : null
  return { attestation, from, to: dest, origId: originOf(organisation_id), ...(div !== null && { div }) }
}

/** The numbers that a call may be signed for over one of these connections. */
export const numbersToSign = (
  connections: readonly ConnectionRow[],
  {
    from,
    shown,
    redirectedFrom = [],
  }: { from?: string | undefined; shown?: string | undefined } & Partial<ToldOfCaller>,
): string[] => {
  const signing = connections.filter(({ sign_calls }) => sign_calls === 1)
  if (signing.length === 0) return []
  const own = signing.flatMap(({ caller_number }) => caller_number ?? [])
  return [from ?? '', shown ?? '', ...own, ...redirectedFrom.map(({ address }) => address)].filter(number =>
    E164.test(number),
  )
}

/** The `origid` of an organisation: a constant UUID by which a call can be traced to the customer, but only by us (RFC 8588 §5). */
function originOf(organisationId: string): string {
  const hex = createHash('sha256').update(`origid ${organisationId}`).digest('hex')
  const variant = '89ab'[Number.parseInt(hex[16] ?? '0', 16) & 3]
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
