import { createECDH, createPublicKey, diffieHellman, generateKeyPairSync } from 'node:crypto'

/** Named groups (RFC 8422 §5.1.1). */
const P256 = 23
const X25519 = 29
/** Those that we support. */
export const NAMED_GROUPS = [X25519, P256]
/** SubjectPublicKeyInfo of X25519 up to its 32 bytes (RFC 8410 §4). */
const X25519_PREFIX = Buffer.from('302a300506032b656e032100', 'hex')

/** Our half of an ephemeral key exchange. */
export interface KeyExchange {
  group: number
  publicKey: Uint8Array
  /** The shared secret. Throws if the far end's key is invalid. */
  agree: (theirs: Uint8Array) => Uint8Array
}

/** In our first group that the far end supports; null: none. */
export function beginKeyExchange(theirGroups: readonly number[]): KeyExchange | null {
  if (theirGroups.includes(X25519)) return x25519()
  return theirGroups.includes(P256) ? p256() : null
}

function x25519(): KeyExchange {
  const { privateKey, publicKey } = generateKeyPairSync('x25519')
  const bytes = publicKey.export({ type: 'spki', format: 'der' })
  return {
    group: X25519,
    publicKey: bytes.subarray(X25519_PREFIX.length),
    agree: theirs => {
      const key = Buffer.concat([X25519_PREFIX, theirs])
      return diffieHellman({ privateKey, publicKey: createPublicKey({ key, format: 'der', type: 'spki' }) })
    },
  }
}

function p256(): KeyExchange {
  const own = createECDH('prime256v1')
  return { group: P256, publicKey: own.generateKeys(), agree: theirs => own.computeSecret(theirs) }
}
