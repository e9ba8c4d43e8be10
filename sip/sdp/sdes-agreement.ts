import type { DtlsRole } from './dtls.ts'
import { type CryptoLine, newKey, offerCrypto, type SrtpKeys, type SrtpPolicy } from './sdes.ts'
import { type MediaDescription, parseSdp } from './sdp.ts'

/** Whether we encrypt, and the source of keys. */
export interface SrtpCapability {
  policy: SrtpPolicy
  /** Returns this many unguessable bytes. */
  random: (bytes: number) => Uint8Array
}

/** The far end's accepted crypto line; our role where keys come by DTLS; `plain`: no encryption; null: not acceptable. */
export type Protection = CryptoLine | DtlsRole | 'plain' | null

const PLAIN: ReadonlySet<string> = new Set(['RTP/AVP', 'RTP/AVPF'])
const SECURE: ReadonlySet<string> = new Set(['RTP/SAVP', 'RTP/SAVPF'])

const DTLS: ReadonlySet<string> = new Set(['UDP/TLS/RTP/SAVPF', 'UDP/TLS/RTP/SAVP'])

export const isPlain = ({ protocol }: MediaDescription): boolean => PLAIN.has(protocol.toUpperCase())
const isSecure = ({ protocol }: MediaDescription): boolean => SECURE.has(protocol.toUpperCase())

/** Whether its keys come by DTLS. */
export const isDtls = ({ protocol }: Pick<MediaDescription, 'protocol'>): boolean => DTLS.has(protocol.toUpperCase())

/** Whether checks determine its path, as those of browsers, so that its address is irrelevant (RFC 8839 §4.2.1.2). */
export const hasIce = (media: Pick<MediaDescription, 'protocol' | 'dtls'>): boolean =>
  isDtls(media) && media.dtls !== null && media.dtls.ice !== null

export const isRtp = (media: MediaDescription): boolean => isPlain(media) || isSecure(media) || isDtls(media)

/** How an offered medium is accepted: with the first of its suites that we support (RFC 4568 §5.1.2, RFC 8643 §3.1). */
export function protectionOfOffer(offered: MediaDescription, policy: SrtpPolicy): Protection {
  if (policy === 'off') return isPlain(offered) ? 'plain' : null
  if (policy === 'dtls') return null
  const first = offered.crypto[0]
  if (first !== undefined) return first
  return policy === 'optional' && isPlain(offered) ? 'plain' : null
}

/** The choice in the answer to our offer `own`: one of our suites under its tag (RFC 4568 §5.1.3). */
export function protectionOfAnswer(
  answered: MediaDescription,
  own: MediaDescription | undefined,
  policy: SrtpPolicy,
): Protection {
  if (policy === 'dtls') return null
  const taken = answered.crypto.find(line => ourLine(line, own) !== undefined)
  if (taken !== undefined) return taken
  // A later offer keeps the protocol of the first, which a far end may have written as RTP/AVP with keys.
  if (policy === 'required') return null
  return isPlain(answered) && own !== undefined && isPlain(own) ? 'plain' : null
}

const ourLine = ({ tag, suite }: CryptoLine, own: MediaDescription | undefined): CryptoLine | undefined =>
  own?.crypto.find(line => line.tag === tag && line.suite === suite)

/** The keys from our line and theirs; null: no encryption. */
export function keysOf(protection: Protection, own: MediaDescription): SrtpKeys | null {
  if (protection === null || typeof protection === 'string') return null
  const { suite, key } = protection
  return { suite, sendKey: ourLine(protection, own)!.key, receiveKey: key }
}

/**
 * The crypto line of our answer. Our key lasts as long as the call, so that its packet counters continue (RFC 3711 §9.1:
 * no key stream is ever used twice).
 */
export function answerCrypto(
  { tag, suite }: CryptoLine,
  srtp: SrtpCapability,
  previous: MediaDescription | null,
): CryptoLine {
  const kept = previous?.crypto.find(line => line.suite === suite)
  return { tag, suite, key: kept?.key ?? newKey(suite, srtp.random) }
}

/** Protocol and crypto lines of an offer: those of our last description, else by the policy. With `dtls` keys come by it alone. */
export function offeredProtection(
  srtp: SrtpCapability | undefined,
  previous: MediaDescription | null,
): Pick<MediaDescription, 'protocol' | 'crypto'> {
  if (previous !== null) return { protocol: previous.protocol, crypto: previous.crypto }
  if (srtp === undefined || srtp.policy === 'off') return { protocol: 'RTP/AVP', crypto: [] }
  if (srtp.policy === 'dtls') return { protocol: 'UDP/TLS/RTP/SAVP', crypto: [] }
  return { protocol: srtp.policy === 'optional' ? 'RTP/AVP' : 'RTP/SAVP', crypto: offerCrypto(srtp.random) }
}

/** The audio line of a description; null: there is none, or it is refused. */
export function audioOf(description: Uint8Array | null): MediaDescription | null {
  const parsed = description === null ? null : parseSdp(description)
  if (parsed === null || 'error' in parsed) return null
  return parsed.media.find(media => media.kind === 'audio' && media.port !== 0) ?? null
}

/** Whether somebody who wrote this has refused or removed all audio (RFC 3264 §6, §8.2). */
export const isWithoutAudio = (description: Uint8Array): boolean =>
  !('error' in parseSdp(description)) && audioOf(description) === null
