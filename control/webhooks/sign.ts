import { createHmac, createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { VERSION } from '../kernel/package.ts'

/**
 * Signatures of Standard Webhooks: over `<webhook-id>.<webhook-timestamp>.<body>`, `v1,` by HMAC-SHA256 and `v1a,` by Ed25519 (RFC 8032), both in base64.
 */

export const ALGORITHMS = ['hmac', 'ed25519'] as const
export type Algorithm = (typeof ALGORITHMS)[number]

const HMAC_PREFIX = 'whsec_'
const PUBLIC_PREFIX = 'whpk_'
const HMAC_BYTES = 32

/** A key that signs. */
export interface SigningKey {
  algorithm: Algorithm
  /** `whsec_` and base64 for `hmac`; base64 of PKCS #8 for `ed25519`. */
  secret: string
}

interface NewSigningKey extends SigningKey {
  /** `whpk_` and base64 of the 32 bytes; null for `hmac`. */
  publicKey: string | null
}

export function newSigningKey(algorithm: Algorithm): NewSigningKey {
  if (algorithm === 'hmac') {
    return { algorithm, secret: HMAC_PREFIX + randomBytes(HMAC_BYTES).toString('base64'), publicKey: null }
  }
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const raw = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url')
  return {
    algorithm,
    secret: privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64'),
    publicKey: PUBLIC_PREFIX + raw.toString('base64'),
  }
}

/** One entry of `webhook-signature`. `timestampS`: seconds since 1970, as in `webhook-timestamp`. */
export function signature(key: SigningKey, id: string, timestampS: number, body: string): string {
  const signed = Buffer.from(`${id}.${timestampS}.${body}`)
  if (key.algorithm === 'hmac') {
    const secret = Buffer.from(key.secret.slice(HMAC_PREFIX.length), 'base64')
    return `v1,${createHmac('sha256', secret).update(signed).digest('base64')}`
  }
  const privateKey = createPrivateKey({ key: Buffer.from(key.secret, 'base64'), format: 'der', type: 'pkcs8' })
  return `v1a,${sign(null, signed, privateKey).toString('base64')}`
}

/** The headers of a request that carries this event, signed by each key at this time. */
export function signedHeaders(
  keys: readonly SigningKey[],
  id: string,
  body: string,
  now: Date,
): Record<string, string> {
  const timestampS = Math.floor(now.getTime() / 1000)
  return {
    'content-type': 'application/json; charset=utf-8',
    'user-agent': `tandem/${VERSION}`,
    'webhook-id': id,
    'webhook-timestamp': String(timestampS),
    'webhook-signature': keys.map(key => signature(key, id, timestampS, body)).join(' '),
  }
}

/** The SPKI PEM of a `whpk_…` key. */
export function publicKeyPem(publicKey: string): string {
  const x = Buffer.from(publicKey.slice(PUBLIC_PREFIX.length), 'base64').toString('base64url')
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  return key.export({ format: 'pem', type: 'spki' }).toString()
}
