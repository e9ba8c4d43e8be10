import { compactVerify } from 'jose'
import {
  claimsOf,
  type IdentityHeader,
  type Passport,
  parseIdentityHeader,
  passportParts,
  readPassport,
} from '../../sip/identity/passport.ts'
import type { Verification, VerificationFailure } from '../protocol.ts'
import type { Certificates } from './certificates.ts'

/** Older, or younger, is a replay or a wrong clock (RFC 8224 §6.2, ATIS-1000074) [s]. */
export const FRESH_S = 60
const LIMIT_MS = 1000
/** Signatures of one call that are looked at: each may name a certificate of its own, which has to be fetched. */
const MAX_SIGNATURES = 4

interface VerifierOptions {
  certificates: Pick<Certificates, 'at'>
  /** Time of day [ms]. */
  now: () => number
  /** Time limit for all fetches of one call [ms]. Default 1,000. */
  limitMs?: number
}

/** The parts of a call that are verified. */
export interface Signed {
  /** Identity header fields. */
  signatures: readonly string[]
  /** Its Date header [s since 1970]; null: none. */
  date: number | null
  /** Canonical numbers that it may be from and to. */
  from: readonly string[]
  to: readonly string[]
}

interface Proven {
  passport: Passport
  header: IdentityHeader
}

type Judged = Proven | VerificationFailure

/** Verifies the signature of a call (RFC 8224 §6.2, RFC 8588, RFC 8946). Never throws. */
export class Verifier {
  readonly #options: VerifierOptions

  constructor(options: VerifierOptions) {
    this.#options = options
  }

  /** The caller is waiting: without a result in time, nothing is proven. */
  async verify(signed: Signed): Promise<Verification> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<Verification>(resolve => {
      timer = setTimeout(() => resolve(failed('certificate_unavailable')), this.#options.limitMs ?? LIMIT_MS)
    })
    const verification = await Promise.race([this.#judge(signed), late])
    clearTimeout(timer)
    return verification
  }

  async #judge(signed: Signed): Promise<Verification> {
    const headers = signed.signatures.map(parseIdentityHeader)
    const known = headers.filter(header => header !== null)
    const own = [...known.filter(({ ppt }) => ppt === 'shaken'), ...known.filter(({ ppt }) => ppt === null)]
    if (own.length === 0) return headers.includes(null) ? failed('malformed') : NOT_SIGNED
    // At once, and the first valid one counts: a certificate that does not come must not hold up the others.
    const judged = own.slice(0, MAX_SIGNATURES).map(one => this.#judgeOne(one, known, signed))
    const valid = judged.map(async one => ((await one).result === 'verified' ? one : Promise.reject()))
    return Promise.any(valid).catch(() => judged[0]!)
  }

  async #judgeOne(own: IdentityHeader, known: readonly IdentityHeader[], signed: Signed): Promise<Verification> {
    const proven = await this.#prove(own, signed)
    if (typeof proven === 'string') return failed(proven, own)
    const { passport } = proven
    const number = signed.from.find(one => one === passport.orig) ?? null
    if (number === null) return failed('number_mismatch', own)
    const led = await this.#leadsTo(signed, passport, known)
    if (led !== null) return failed(led, own)
    return { result: 'verified', attestation: passport.attest, origId: passport.origId, number, cause: null }
  }

  /** Whether the signature is for the called number, or for one whose calls `div` PASSporTs forwarded to it. */
  async #leadsTo(
    signed: Signed,
    { orig, dest }: Passport,
    headers: readonly IdentityHeader[],
  ): Promise<VerificationFailure | null> {
    let to = signed.to
    let diverted = headers.filter(({ ppt }) => ppt === 'div')
    for (;;) {
      if (to.some(one => dest.includes(one))) return null
      const next = diverted.find(({ full }) => full !== null && readPassport(full)?.dest.some(one => to.includes(one)))
      if (next === undefined) return 'number_mismatch'
      diverted = diverted.filter(one => one !== next)
      const proven = await this.#prove(next, signed)
      if (typeof proven === 'string') return proven
      const { div } = proven.passport
      if (proven.passport.orig !== orig || div === null) return 'number_mismatch'
      to = [div]
    }
  }

  async #prove(header: IdentityHeader, signed: Signed): Promise<Judged> {
    if (header.alg !== 'ES256') return 'malformed'
    const said = header.full === null ? null : readPassport(header.full)
    if (header.full !== null && said === null) return 'malformed'
    if (said !== null && (said.header.x5u !== header.info || said.header.ppt !== header.ppt)) return 'malformed'
    if (said?.header.ppt === 'shaken' && (said.attest === null || said.origId === null)) return 'malformed'
    const iat = said === null ? signed.date : said.iat
    if (iat === null || !this.#isFresh(iat) || !this.#isFresh(signed.date ?? iat)) return 'stale'
    const trusted = await this.#options.certificates.at(header.info)
    if (trusted === 'unavailable') return 'certificate_unavailable'
    const now = this.#options.now()
    if (trusted === 'untrusted' || now < trusted.notBefore || now > trusted.notAfter) return 'certificate_untrusted'
    for (const passport of said === null ? madeFrom(header, signed, iat) : [said]) {
      if (!(await isSignedBy(trusted.key, tokenOf(header, passport)))) continue
      const { numbers } = trusted
      const isIn = numbers.kind !== 'numbers' || header.ppt === 'div' || numbers.includes(passport.orig)
      return isIn ? { passport, header } : 'certificate_untrusted'
    }
    return 'signature_invalid'
  }

  #isFresh(atS: number): boolean {
    return Math.abs(this.#options.now() / 1000 - atS) <= FRESH_S
  }
}

const isSignedBy = (key: Parameters<typeof compactVerify>[1], token: string): Promise<boolean> =>
  compactVerify(token, key as never, { algorithms: ['ES256'] }).then(
    () => true,
    () => false,
  )

/**
 * The full form of a compact one, which omits what the request itself says (RFC 8225 §7). Extensions cannot be compact.
 */
function madeFrom({ info, ppt }: IdentityHeader, { from, to }: Signed, iat: number): Passport[] {
  if (ppt !== null) return []
  const header = { alg: 'ES256', x5u: info, ppt: null }
  return from.flatMap(orig =>
    to.map(dest => ({ header, orig, dest: [dest], iat, attest: null, origId: null, div: null, isOfKeys: false })),
  )
}

function tokenOf({ full, info, signature }: IdentityHeader, { orig, dest, iat }: Passport): string {
  if (full !== null) return `${full.header}.${full.payload}.${signature}`
  const parts = passportParts({ x5u: info, ppt: null, claims: claimsOf({ from: orig, to: dest[0] ?? '', iat }) })
  return `${base64url(parts.header)}.${base64url(parts.payload)}.${signature}`
}

const base64url = (text: string): string => Buffer.from(text, 'utf8').toString('base64url')

export const NOT_SIGNED: Verification = {
  result: 'none',
  attestation: null,
  origId: null,
  number: null,
  cause: 'no_identity',
}

/** The claimed attestation is reported; it is not proven. */
const failed = (failure: VerificationFailure, header?: IdentityHeader): Verification => {
  const said = header?.full == null ? null : readPassport(header.full)
  return { result: 'failed', attestation: said?.attest ?? null, origId: null, number: null, cause: failure }
}
