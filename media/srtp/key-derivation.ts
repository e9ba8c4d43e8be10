import { createCipheriv } from 'node:crypto'

/** The keys that protect one direction of RTP, or of RTCP. */
export interface SessionKeys {
  encryption: Uint8Array
  /** 20 bytes of HMAC-SHA1. */
  authentication: Uint8Array
  /** As long as the master salt. */
  salt: Uint8Array
}

const LABELS = {
  rtp: { encryption: 0, authentication: 1, salt: 2 },
  rtcp: { encryption: 3, authentication: 4, salt: 5 },
} as const

const AUTHENTICATION_KEY_BYTES = 20
const SALT_BYTES = 14
/** Position of the label in 112 bits, before the 48 bits of an index that is always zero: keys are derived once. */
const LABEL_AT = 7

/**
 * The session keys of a master key (RFC 3711 §4.3, with a key derivation rate of zero).
 *
 * @param masterSalt 14 bytes, or 12 for AEAD (RFC 7714 §11)
 */
export function deriveKeys(masterKey: Uint8Array, masterSalt: Uint8Array, of: 'rtp' | 'rtcp'): SessionKeys {
  const derive = (label: number, bytes: number): Uint8Array => {
    const iv = new Uint8Array(16)
    iv.set(masterSalt.subarray(0, SALT_BYTES))
    iv[LABEL_AT]! ^= label
    return createCipheriv('aes-128-ctr', masterKey, iv).update(new Uint8Array(bytes))
  }
  const labels = LABELS[of]
  return {
    encryption: derive(labels.encryption, masterKey.length),
    authentication: derive(labels.authentication, AUTHENTICATION_KEY_BYTES),
    salt: derive(labels.salt, masterSalt.length),
  }
}
