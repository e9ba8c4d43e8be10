/** The supported suites, in the order of our offers (RFC 4568 §6.2, RFC 7714 §14.2): bytes of the master key and of the master salt. */
export const CRYPTO_SUITES = {
  AES_CM_128_HMAC_SHA1_80: { keyBytes: 16, saltBytes: 14 },
  AEAD_AES_128_GCM: { keyBytes: 16, saltBytes: 12 },
  AES_CM_128_HMAC_SHA1_32: { keyBytes: 16, saltBytes: 14 },
} as const

export type CryptoSuite = keyof typeof CRYPTO_SUITES

/** One `a=crypto` line (RFC 4568 §9.1): its writer encrypts what it sends with this key. */
export interface CryptoLine {
  /** An answer refers to the offer's line by its tag. */
  tag: number
  suite: CryptoSuite
  /** Base64 of the master key and the master salt. */
  key: string
}

/** The encryption of both directions. Keys: base64 of the master key and the master salt. */
export interface SrtpKeys {
  suite: CryptoSuite
  /** Of what we send. */
  sendKey: string
  /** Of what the far end sends. */
  receiveKey: string
}

/**
 * Whether a call's packets are encrypted. `off`: never. `required`: always, otherwise the call fails. `optional`: if the far end
 * can (RFC 8643). `dtls`: always, with keys by DTLS.
 */
export type SrtpPolicy = 'off' | 'optional' | 'required' | 'dtls'

const LINE = /^(\d{1,9}) +(\w+) +inline:([A-Za-z0-9+/]+={0,2})(?:\|(?:2\^)?\d{1,15})?((?: +[^\s]+)*)$/

/** Maximum number of lines read per medium; a far end has a handful. */
export const MAX_CRYPTO_LINES = 32

const isSuite = (name: string): name is CryptoSuite => Object.hasOwn(CRYPTO_SUITES, name)

/** Bytes of a suite's master key with its salt. */
export const masterBytes = (suite: CryptoSuite): number =>
  CRYPTO_SUITES[suite].keyBytes + CRYPTO_SUITES[suite].saltBytes

/**
 * Reads the value of `a=crypto`. Null if we cannot apply it: another suite, several keys or one with an MKI, or a
 * session parameter that must not be ignored (RFC 4568 §6.3). A lifetime is irrelevant: no call is that long.
 */
export function parseCrypto(value: string): CryptoLine | null {
  const match = LINE.exec(value)
  const suite = match?.[2]?.toUpperCase() ?? ''
  if (match === null || !isSuite(suite)) return null
  const key = match[3]!
  if (Buffer.from(key, 'base64').length !== masterBytes(suite)) return null
  const parameters = match[4]!.split(' ').filter(one => one !== '')
  if (!parameters.every(isHarmless)) return null
  return { tag: Number(match[1]), suite, key }
}

/** The window-size hint may be ignored (§6.3.6), and so may an extension that begins with a dash (§6.3.7). */
const isHarmless = (parameter: string): boolean => parameter.startsWith('-') || /^WSH=\d{1,9}$/i.test(parameter)

/** The value of `a=crypto`. */
export const formatCrypto = ({ tag, suite, key }: CryptoLine): string => `${tag} ${suite} inline:${key}`

/** A line for each suite, with its own key. @param random returns this many unguessable bytes */
export const offerCrypto = (random: (bytes: number) => Uint8Array): CryptoLine[] =>
  (Object.keys(CRYPTO_SUITES) as CryptoSuite[]).map((suite, at) => ({ tag: at + 1, suite, key: newKey(suite, random) }))

/** A fresh key of a suite, as base64. */
export const newKey = (suite: CryptoSuite, random: (bytes: number) => Uint8Array): string =>
  Buffer.from(random(masterBytes(suite))).toString('base64')
