import { createPrivateKey, type KeyObject } from 'node:crypto'
import { CompactSign } from 'jose'
import type { HeaderFields } from '../../sip/agent-types.ts'
import {
  canonicalJson,
  claimsOf,
  identityValue,
  type Passport,
  parseIdentityHeader,
  readPassport,
} from '../../sip/identity/passport.ts'
import type { CallerIdentity } from '../protocol.ts'
import { FRESH_S } from './verifier.ts'

type Wanted = NonNullable<CallerIdentity['sign']>

/** The private key of a PEM file. Throws if it is not a P-256 key (ES256, RFC 8225 §8). */
export function signingKey(pem: Buffer): KeyObject {
  const key = createPrivateKey(pem)
  if (key.asymmetricKeyDetails?.namedCurve === 'prime256v1') return key
  throw new Error('it is no key of the curve P-256')
}

/** Signs calls with the operator's key (RFC 8224 §4.1, RFC 8588). */
export class Signer {
  #key: KeyObject | null
  readonly #x5u: string
  readonly #now: () => number

  /** @param key null: nothing is signed before `renew` @param x5u where far ends find the certificate @param now time of day [ms] */
  constructor({ key, x5u, now }: { key: KeyObject | null; x5u: string; now: () => number }) {
    this.#key = key
    this.#x5u = x5u
    this.#now = now
  }

  /** Signs with this key from now on. */
  renew(key: KeyObject): void {
    this.#key = key
  }

  /**
   * Identity, and the Date that it is verified against. A forwarded call keeps its caller's signatures, and we only add from whom to whom
   * it went (`div`, RFC 8946 §4). If that would prove nothing, we sign it ourselves.
   *
   * @param received Identity header fields of the forwarded call
   */
  async sign(wanted: Wanted, received: readonly string[] = []): Promise<HeaderFields> {
    const key = this.#key
    if (key === null) return []
    const iat = Math.floor(this.#now() / 1000)
    const { attestation, from, to, origId, div } = wanted
    const date = ['Date', new Date(iat * 1000).toUTCString()] as const
    if (div !== undefined && leadsTo(div, { from, received, iat })) {
      const own = await this.#token(key, 'div', claimsOf({ from, to, iat }, { div: { tn: div } }))
      return [date, ...[...received, own].map(value => ['Identity', value] as const)]
    }
    return [
      date,
      [
        'Identity',
        await this.#token(key, 'shaken', claimsOf({ from, to, iat }, { attest: attestation, origid: origId })),
      ],
    ]
  }

  async #token(key: KeyObject, ppt: string, claims: object): Promise<string> {
    const x5u = this.#x5u
    const token = await new CompactSign(Buffer.from(canonicalJson(claims), 'utf8'))
      .setProtectedHeader({ alg: 'ES256', ppt, typ: 'passport', x5u })
      .sign(key)
    return identityValue(token, { x5u, ppt })
  }
}

/** Whether the caller has recently signed its call to this number, directly or by `div`, and not for the keys of its own description: ours has others. */
function leadsTo(
  number: string,
  { from, received, iat }: { from: string; received: readonly string[]; iat: number },
): boolean {
  const passports = received.flatMap(passportOf)
  const isGood = (one: Passport): boolean => one.orig === from && Math.abs(one.iat - iat) <= FRESH_S
  const isAttested = passports.some(one => one.header.ppt === 'shaken' && isGood(one))
  if (passports.some(one => one.isOfKeys)) return false
  return isAttested && passports.some(one => isGood(one) && one.dest.includes(number))
}

/** The compact form is of the numbers in its own request, and says nothing in ours. */
function passportOf(value: string): Passport[] {
  const full = parseIdentityHeader(value)?.full ?? null
  const passport = full === null ? null : readPassport(full)
  return passport === null ? [] : [passport]
}
