import { AT_ANY_TIME, formatSdp, type MediaDescription, type PayloadFormat, parseSdp } from './sdp.ts'

/** Identity of our descriptions in one call (the `o=` line). */
export interface SdpSession {
  /** Digits only, unique for the call. */
  id: string
  /** The last description sent in this call; the version grows by one if the new one differs (RFC 3264 §8). */
  previous: Uint8Array | null
  /** Payload types that the far end has named in this call, also those that we did not take: they mean nothing else (§8.3.2). Absent: none yet. */
  theirs?: readonly PayloadFormat[]
}

/**
 * Writes our description with the version of the last one, or the next version if anything else differs (RFC 3264 §8).
 *
 * @param timing of the offer that it answers (§6); absent: it is an offer
 */
export function versioned(
  media: MediaDescription[],
  { host }: { host: string },
  session: SdpSession,
  timing = AT_ANY_TIME,
): Uint8Array {
  const write = (version: string): Uint8Array =>
    formatSdp({ origin: { username: 'tandem', sessionId: session.id, version, host }, timing, media })
  const previous = session.previous === null ? null : parseSdp(session.previous)
  if (session.previous === null || previous === null || 'error' in previous) return write('1')
  const same = write(previous.origin.version)
  return Buffer.compare(same, session.previous) === 0 ? same : write(String(BigInt(previous.origin.version) + 1n))
}

/** Our description as the far end leaves it that takes nothing of it. */
export function nothingTaken(description: Uint8Array): Uint8Array {
  const parsed = parseSdp(description)
  return 'error' in parsed ? description : formatSdp({ ...parsed, media: parsed.media.map(refused) })
}

/** A refused or removed line. */
export const refused = (media: MediaDescription): MediaDescription => ({
  ...media,
  port: 0,
  host: null,
  payloads: [],
  dtls: null,
})
