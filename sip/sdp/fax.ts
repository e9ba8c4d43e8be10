import { isNobodys, type MediaDescription, nothingMore, parseSdp } from './sdp.ts'
import { refused, type SdpSession, versioned } from './session.ts'

/** A T.38 party over UDPTL: where it receives, and its attributes as written (ITU-T T.38 Annex D). */
export interface FaxSide {
  host: string
  port: number
  attributes: readonly string[]
}

const isFax = ({ kind, protocol, formats }: MediaDescription): boolean =>
  kind === 'image' && protocol.toLowerCase() === 'udptl' && formats.some(format => format.toLowerCase() === 't38')

/** The fax that a description offers instead of audio; null: none, or audio as well, which we then accept. */
export function faxOf(description: Uint8Array): FaxSide | null {
  const parsed = parseSdp(description)
  if ('error' in parsed) return null
  const live = parsed.media.filter(({ port }) => port !== 0)
  const fax = live.find(isFax)
  if (fax === undefined || fax.host === null || isNobodys(fax.host) || live.some(({ kind }) => kind === 'audio'))
    return null
  return { host: fax.host, port: fax.port, attributes: fax.t38 }
}

/** Our offer to switch to fax: existing lines are refused, and a fax line is appended, or replaces the last one. */
export function createFaxOffer(own: FaxSide, session: SdpSession): Uint8Array {
  const before = session.previous === null ? null : parseSdp(session.previous)
  const lines = before === null || 'error' in before ? [] : before.media
  const at = lines.findIndex(isFax)
  const media = lines.map(refused)
  media[at < 0 ? lines.length : at] = faxLine(own, 't38')
  return versioned(media, own, session)
}

/** Our answer to an offer in which `faxOf` found a fax: only that line is accepted (RFC 3264 §6). */
export function answerFax(offer: Uint8Array, own: FaxSide, session: SdpSession): Uint8Array {
  const parsed = parseSdp(offer)
  const lines = 'error' in parsed ? [] : parsed.media
  const at = lines.findIndex(media => media.port !== 0 && isFax(media))
  const media = lines.map((line, index) =>
    index === at ? faxLine(own, line.formats[0]!, line.protocol) : refused(line),
  )
  return versioned(media, own, session, 'error' in parsed ? undefined : parsed.timing)
}

const faxLine = ({ host, port, attributes }: FaxSide, format: string, protocol = 'udptl'): MediaDescription => ({
  ...nothingMore(),
  kind: 'image',
  port,
  protocol,
  formats: [format],
  host,
  t38: [...attributes],
})
