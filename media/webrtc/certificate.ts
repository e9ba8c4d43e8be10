import { createHash, createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

/** How long a certificate says that it is good for; it lasts as long as the process. */
const VALID_MS = 365 * 24 * 60 * 60 * 1000
/** Clocks of far ends may be behind ours. */
const BEFORE_MS = 24 * 60 * 60 * 1000

/** A certificate with its key, as it goes to other threads. */
export interface KeptCertificate {
  /** DER. */
  certificate: Uint8Array
  /** PKCS #8, DER. */
  privateKey: Uint8Array
}

const SEQUENCE = 0x30
const SET = 0x31
const INTEGER = 0x02
const BIT_STRING = 0x03
const OBJECT_ID = 0x06
const UTF8 = 0x0c
const UTC_TIME = 0x17
const EXPLICIT_0 = 0xa0

/** One DER element (X.690 §8.1). */
function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

const objectId = (hex: string): Buffer => der(OBJECT_ID, Buffer.from(hex, 'hex'))
/** 1.2.840.10045.4.3.2 */
const ECDSA_WITH_SHA256 = der(SEQUENCE, objectId('2a8648ce3d040302'))
/** 2.5.4.3 */
const COMMON_NAME = objectId('550403')

/** `YYMMDDHHMMSSZ` (RFC 5280 §4.1.2.5.1). */
const utcTime = (at: number): Buffer =>
  der(UTC_TIME, Buffer.from(`${new Date(at).toISOString().replace(/[-:T]/g, '').slice(2, 14)}Z`))

/** A fresh self-signed certificate over P-256 (RFC 8827 §6.5): far ends know it by its fingerprint alone. @param now [ms since 1970] */
export function makeCertificate(now: number): KeptCertificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const name = der(SEQUENCE, der(SET, der(SEQUENCE, COMMON_NAME, der(UTF8, Buffer.from('tandem')))))
  const serial = randomBytes(16)
  // Positive, and of one length.
  serial[0] = (serial[0]! & 0x3f) | 0x40
  const toBeSigned = der(
    SEQUENCE,
    der(EXPLICIT_0, der(INTEGER, Buffer.from([2]))),
    der(INTEGER, serial),
    ECDSA_WITH_SHA256,
    name,
    der(SEQUENCE, utcTime(now - BEFORE_MS), utcTime(now + VALID_MS)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
  )
  const signature = sign('sha256', toBeSigned, privateKey)
  const bits = der(BIT_STRING, Buffer.from([0]), signature)
  return {
    certificate: der(SEQUENCE, toBeSigned, ECDSA_WITH_SHA256, bits),
    privateKey: privateKey.export({ type: 'pkcs8', format: 'der' }),
  }
}

export const readPrivateKey = ({ privateKey }: KeptCertificate): KeyObject =>
  createPrivateKey({ key: Buffer.from(privateKey), format: 'der', type: 'pkcs8' })

/** As `a=fingerprint` writes it (RFC 8122 §5): pairs of upper-case hex digits with colons between them. */
export const fingerprintOf = (certificate: Uint8Array, hash: string): string =>
  createHash(hash.replace('-', '')).update(certificate).digest('hex').toUpperCase().match(/../g)!.join(':')
