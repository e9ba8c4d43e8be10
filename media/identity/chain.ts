import { type KeyObject, X509Certificate } from 'node:crypto'
import { type TnAuthList, tnAuthListOf } from './tn-auth-list.ts'

/** A certificate that leads to an authority that we trust. */
export interface Trusted {
  key: KeyObject
  /** Earliest expiry in its chain [ms since 1970]. */
  notBefore: number
  notAfter: number
  numbers: TnAuthList
}

const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g
/** From a provider's certificate to its authority. */
const MAX_CHAIN = 6

/** The certificates of a PEM file, or of a DER file of one. Throws when one cannot be read. */
export function certificatesIn(bytes: Uint8Array, max = MAX_CHAIN): X509Certificate[] {
  const text = Buffer.from(bytes).toString('latin1')
  const blocks = text.match(PEM)
  if (blocks === null) return [new X509Certificate(bytes)]
  return blocks.slice(0, max).map(block => new X509Certificate(block))
}

/**
 * The first of these certificates, if the others lead from it to an authority; null: they do not, or it speaks for no numbers at all, as that of
 * a web server (RFC 8226 §9, ATIS-1000080 §6.4.1).
 */
export function trustedBy(anchors: readonly X509Certificate[], chain: readonly X509Certificate[]): Trusted | null {
  const [leaf, ...others] = chain
  if (leaf === undefined || leaf.publicKey.asymmetricKeyDetails?.namedCurve !== 'prime256v1') return null
  const path = pathFrom(leaf, others, anchors)
  const numbers = tnAuthListOf(leaf.raw)
  if (path === null || numbers === null) return null
  return {
    key: leaf.publicKey,
    notBefore: Math.max(...path.map(({ validFrom }) => Date.parse(validFrom))),
    notAfter: earliestEnd(path),
    numbers,
  }
}

/** When the first of them ends [ms since 1970]. */
export const earliestEnd = (certificates: readonly X509Certificate[]): number =>
  Math.min(...certificates.map(({ validTo }) => Date.parse(validTo)))

function pathFrom(
  leaf: X509Certificate,
  others: readonly X509Certificate[],
  anchors: readonly X509Certificate[],
): X509Certificate[] | null {
  const path = [leaf]
  for (let last = leaf; path.length <= MAX_CHAIN; last = path.at(-1)!) {
    const anchor = anchors.find(one => one.fingerprint256 === last.fingerprint256 || isIssuer(one, last))
    if (anchor !== undefined) return [...path, anchor]
    const issuer = others.find(one => !path.includes(one) && isIssuer(one, last))
    if (issuer === undefined) return null
    path.push(issuer)
  }
  return null
}

const isIssuer = (issuer: X509Certificate, of: X509Certificate): boolean =>
  issuer.ca && of.checkIssued(issuer) && of.verify(issuer.publicKey)
