import { paramValue, unquote } from '../message/params.ts'
import { canonicalNumber } from './telephone-number.ts'

/** One Identity header field (RFC 8224 §4). */
export interface IdentityHeader {
  /** Header and claims in base64url; null: the compact form, in which both are derived from the request (RFC 8225 §7). */
  full: { header: string; payload: string } | null
  signature: string
  /** Where the certificate is. */
  info: string
  alg: string
  /** The extension; null: a plain PASSporT. */
  ppt: string | null
}

/** The claims of a PASSporT (RFC 8225 §5, RFC 8588 §4, RFC 8946 §4). */
export interface Passport {
  header: { alg: string; x5u: string; ppt: string | null }
  /** Canonical numbers, or URIs. */
  orig: string
  dest: string[]
  /** Since 1970 [s]. */
  iat: number
  attest: 'A' | 'B' | 'C' | null
  origId: string | null
  /** For a `div`: whom the call was for before. */
  div: string | null
  /** Whether it is signed for the keys of one description (`mky`, RFC 8225 §5.2.2). */
  isOfKeys: boolean
}

const BASE64URL = /^[A-Za-z0-9_-]+$/
/** Longer than any PASSporT with one number at each end [characters]. */
const MAX_TOKEN = 8000
const MAX_DESTINATIONS = 20

export function parseIdentityHeader(value: string): IdentityHeader | null {
  const semi = value.indexOf(';')
  const token = unquote(value.slice(0, semi < 0 ? value.length : semi).trim())
  const params = semi < 0 ? '' : value.slice(semi)
  const info = /^<([^<>\s]+)>$/.exec(paramValue(params, 'info') ?? '')?.[1]
  const [header, payload, signature, more] = token.split('.')
  if (info === undefined || signature === undefined || more !== undefined || token.length > MAX_TOKEN) return null
  const isCompact = header === '' && payload === ''
  const parts = isCompact ? [signature] : [header, payload, signature]
  if (!parts.every(part => BASE64URL.test(part ?? ''))) return null
  const ppt = paramValue(params, 'ppt')
  return {
    full: isCompact ? null : { header: header ?? '', payload: payload ?? '' },
    signature,
    info,
    alg: unquote(paramValue(params, 'alg') ?? 'ES256'),
    ppt: ppt === null ? null : unquote(ppt),
  }
}

/** Parses the full form; null: it is not a PASSporT. Nothing is verified yet. */
export function readPassport({ header, payload }: { header: string; payload: string }): Passport | null {
  const [head, claims] = [jsonOf(header), jsonOf(payload)]
  if (head === null || claims === null || head.typ !== 'passport') return null
  const { alg, x5u, ppt = null } = head
  const [orig, dest] = [partiesOf(claims.orig), partiesOf(claims.dest)]
  const { iat, attest = null, origid = null } = claims
  if (typeof alg !== 'string' || typeof x5u !== 'string' || (ppt !== null && typeof ppt !== 'string')) return null
  if (orig.length !== 1 || dest.length === 0 || typeof iat !== 'number') return null
  return {
    header: { alg, x5u, ppt },
    orig: orig[0]!,
    dest,
    iat,
    attest: attest === 'A' || attest === 'B' || attest === 'C' ? attest : null,
    origId: typeof origid === 'string' && origid.length <= 100 ? origid : null,
    div: partiesOf(claims.div)[0] ?? null,
    isOfKeys: claims.mky !== undefined,
  }
}

function jsonOf(part: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null
  } catch {
    return null
  }
}

/** `{"tn": …}` or `{"uri": …}`, one or several (RFC 8225 §5.2.1). */
function partiesOf(claim: unknown): string[] {
  if (typeof claim !== 'object' || claim === null) return []
  const { tn, uri } = claim as { tn?: unknown; uri?: unknown }
  const texts = (value: unknown): string[] =>
    [value].flat().filter((one): one is string => typeof one === 'string' && one !== '')
  const numbers = texts(tn).flatMap(number => canonicalNumber(number) ?? [])
  return [...numbers, ...texts(uri)].slice(0, MAX_DESTINATIONS)
}

interface NewPassport {
  x5u: string
  ppt: string | null
  claims: object
}

/** Header and claims as they are signed: keys in lexical order, no white space (RFC 8225 §9). */
export const passportParts = ({ x5u, ppt, claims }: NewPassport): { header: string; payload: string } => ({
  header: canonicalJson({ alg: 'ES256', ...(ppt === null ? {} : { ppt }), typ: 'passport', x5u }),
  payload: canonicalJson(claims),
})

export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([key, one]) => `${JSON.stringify(key)}:${canonicalJson(one)}`).join(',')}}`
}

/** The claims of a call from one number to another. */
export const claimsOf = (call: { from: string; to: string; iat: number }, more: object = {}): object => ({
  ...more,
  dest: { tn: [call.to] },
  iat: call.iat,
  orig: { tn: call.from },
})

/** Identity with a PASSporT in its full form (RFC 8224 §4). */
export const identityValue = (token: string, { x5u, ppt }: Pick<NewPassport, 'x5u' | 'ppt'>): string =>
  `${token};info=<${x5u}>;alg=ES256${ppt === null ? '' : `;ppt=${ppt}`}`
