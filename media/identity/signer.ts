import { createPrivateKey, type KeyObject } from 'node:crypto'
import { CompactSign } from 'jose'
import type { HeaderFields } from '../../sip/agent-types.ts'
import { canonicalJson, claimsOf, identityValue } from '../../sip/identity/passport.ts'
import type { CallerIdentity } from '../protocol.ts'

/** The private key of a PEM file. Throws when it is none of P-256 (ES256, RFC 8225 §8). */
export function signingKey(pem: Buffer): KeyObject {
  const key = createPrivateKey(pem)
  if (key.asymmetricKeyDetails?.namedCurve === 'prime256v1') return key
  throw new Error('it is no key of the curve P-256')
}

/** Signs calls with the operator's key (RFC 8224 §4.1, RFC 8588). */
export class Signer {
  readonly #key: KeyObject
  readonly #x5u: string
  readonly #now: () => number

  /** @param x5u where far ends find the certificate @param now time of day [ms] */
  constructor({ key, x5u, now }: { key: KeyObject; x5u: string; now: () => number }) {
    this.#key = key
    this.#x5u = x5u
    this.#now = now
  }

  /** Identity, and the Date that it is held against. */
  async sign({ attestation, from, to, origId }: NonNullable<CallerIdentity['sign']>): Promise<HeaderFields> {
    const iat = Math.floor(this.#now() / 1000)
    const [x5u, ppt] = [this.#x5u, 'shaken']
    const claims = claimsOf({ from, to, iat }, { attest: attestation, origid: origId })
    const token = await new CompactSign(Buffer.from(canonicalJson(claims), 'utf8'))
      .setProtectedHeader({ alg: 'ES256', ppt, typ: 'passport', x5u })
      .sign(this.#key)
    return [
      ['Date', new Date(iat * 1000).toUTCString()],
      ['Identity', identityValue(token, { x5u, ppt })],
    ]
  }
}
