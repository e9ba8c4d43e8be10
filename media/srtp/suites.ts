import { CRYPTO_SUITES, type CryptoSuite } from '../../sip/sdp/sdes.ts'
import { CounterCipher } from './counter-cipher.ts'
import { GcmCipher } from './gcm-cipher.ts'
import { deriveKeys } from './key-derivation.ts'
import type { PacketCipher } from './packet-cipher.ts'

/** @param masterKey base64 of the master key and the master salt */
export function packetCipher(suite: CryptoSuite, masterKey: string, of: 'rtp' | 'rtcp'): PacketCipher {
  const { keyBytes } = CRYPTO_SUITES[suite]
  const bytes = Buffer.from(masterKey, 'base64')
  const keys = deriveKeys(bytes.subarray(0, keyBytes), bytes.subarray(keyBytes), of)
  if (suite === 'AEAD_AES_128_GCM') return new GcmCipher(keys, of)
  // The short tag is for RTP alone (RFC 4568 §6.2.2).
  return new CounterCipher(keys, of, suite === 'AES_CM_128_HMAC_SHA1_32' && of === 'rtp' ? 4 : 10)
}
