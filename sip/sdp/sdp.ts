import { type DtlsSide, pushSide, readSideLine, type SideLines, sideOf } from './dtls.ts'
import { type CryptoLine, formatCrypto, MAX_CRYPTO_LINES, parseCrypto } from './sdes.ts'

/** Encodes each text into memory of its own. A call keeps its description, which from the pool of `Buffer` would keep 8 KB alive. */
const UTF8 = new TextEncoder()

export type Direction = 'sendrecv' | 'sendonly' | 'recvonly' | 'inactive'

/** One payload type of a media line: `a=rtpmap` and `a=fmtp`, or the static table of RFC 3551 §6. */
export interface PayloadFormat {
  payloadType: number
  /** As written; compare without regard to case. */
  name: string
  clockRateHz: number
  channels: number
  fmtp: string | null
}

/** One `m=` section (RFC 8866 §5.14), reduced to what audio needs. */
export interface MediaDescription {
  kind: string
  /** 0: refused or removed. */
  port: number
  protocol: string
  /** The format tokens of the `m=` line, as written. */
  formats: string[]
  payloads: PayloadFormat[]
  /** From the `c=` line of the media, or else of the session; null if there is neither. */
  host: string | null
  direction: Direction
  /** `a=rtcp` (RFC 3605); null: the port after `port`, on `host`. */
  rtcpPort: number | null
  rtcpHost: string | null
  rtcpMux: boolean
  ptimeMs: number | null
  maxptimeMs: number | null
  /** The supported ones (RFC 4568), in order. */
  crypto: CryptoLine[]
  /** `a=mid` (RFC 5888). */
  mid: string | null
  /** It belongs to the first `a=group:BUNDLE` (RFC 9143). */
  isBundled: boolean
  /** The DTLS and ICE parameters of its writer; null: none, or incomplete. */
  dtls: DtlsSide | null
  /** For a T.38 image: its attributes (ITU-T T.38 Annex D), as written. */
  t38: string[]
}

/** A session description reduced to what this library negotiates (RFC 8866). */
export interface SessionDescription {
  origin: { username: string; sessionId: string; version: string; host: string }
  /** Its first `t=` line. */
  timing: string
  media: MediaDescription[]
}

/** The timing of a call: now, and as long as it lasts (RFC 3264 §5). */
export const AT_ANY_TIME = '0 0'

type SdpError = { error: 'malformed' }

const MALFORMED: SdpError = { error: 'malformed' }
const MAX_BYTES = 65_536
const MAX_MEDIA = 32
/** The number of payload types (RFC 3550 §5.1). Further formats are ignored. */
const MAX_FORMATS = 128
const DIRECTIONS: ReadonlySet<string> = new Set(['sendrecv', 'sendonly', 'recvonly', 'inactive'])
const MID = /^[\w.+-]{1,64}$/
const MAX_T38 = 24
const T38_ATTRIBUTE = /^T38[A-Za-z]{1,40}$/
const T38_VALUE = /^[\w.+-]{0,64}$/
const ADDRESS = /^[A-Za-z0-9.:_-]{1,255}$/
const TIMING = /^\d{1,20} \d{1,20}$/

/** Payload types that need no rtpmap (RFC 3551 §6, tables 4 and 5). The G.722 clock of 8000 is a historical error that has to stay. */
const STATIC: Record<number, readonly [name: string, clockRateHz: number, channels: number]> = {
  0: ['PCMU', 8000, 1],
  3: ['GSM', 8000, 1],
  4: ['G723', 8000, 1],
  8: ['PCMA', 8000, 1],
  9: ['G722', 8000, 1],
  10: ['L16', 44_100, 2],
  11: ['L16', 44_100, 1],
  13: ['CN', 8000, 1],
  15: ['G728', 8000, 1],
  18: ['G729', 8000, 1],
}

interface Section {
  media: MediaDescription | null
  host: string | null
  direction: Direction | null
  /** Of the session only: the MIDs of BUNDLE. */
  bundle: readonly string[]
  side: SideLines
  rtpmap: Map<number, string>
  fmtp: Map<number, string>
}

const section = (media: MediaDescription | null): Section => ({
  media,
  host: null,
  direction: null,
  bundle: [],
  side: {},
  rtpmap: new Map(),
  fmtp: new Map(),
})

/** Parses a description. Never throws. Violations of RFC 8866 §9 are `malformed`, unknown lines are skipped. */
export function parseSdp(bytes: Uint8Array): SessionDescription | SdpError {
  if (bytes.length > MAX_BYTES) return MALFORMED
  const lines = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8').split('\n')
  const session = section(null)
  const sections: Section[] = []
  let current = session
  let origin: SessionDescription['origin'] | null = null
  let timing: string | null = null
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i]!.trimEnd()
    if (line === '') continue
    if (line[1] !== '=') return MALFORMED
    const value = line.slice(2)
    if (i === 0 && line !== 'v=0') return MALFORMED
    if (line[0] === 'o') origin = parseOrigin(value)
    else if (line[0] === 'm') {
      const media = parseMediaLine(value)
      if (media === null || sections.length === MAX_MEDIA) return MALFORMED
      current = section(media)
      sections.push(current)
    } else if (line[0] === 'c') {
      current.host = parseConnection(value)
      if (current.host === null) return MALFORMED
    } else if (line[0] === 'a') readAttribute(value, current)
    else if (line[0] === 't' && TIMING.test(value)) timing ??= value
  }
  if (origin === null) return MALFORMED
  return { origin, timing: timing ?? AT_ANY_TIME, media: sections.map(one => finish(one, session)) }
}

function parseOrigin(value: string): SessionDescription['origin'] | null {
  const [username, sessionId, version, net, , host] = value.split(' ')
  if (username === undefined || net !== 'IN' || host === undefined) return null
  if (!/^\d{1,20}$/.test(sessionId ?? '') || !/^\d{1,20}$/.test(version ?? '')) return null
  return { username, sessionId: sessionId!, version: version!, host }
}

/** `IN IP4 192.0.2.1` or `IN IP6 2001:db8::1`; a multicast TTL is dropped. */
function parseConnection(value: string): string | null {
  const [net, family, address] = value.split(' ')
  const host = address?.split('/')[0] ?? ''
  return net === 'IN' && (family === 'IP4' || family === 'IP6') && ADDRESS.test(host) ? host : null
}

/** Multicast, broadcast, reserved, or this network's (RFC 1112 §4, RFC 1122 §3.2.1.3, RFC 4291 §2.7): nobody's own address. 0.0.0.0 is no address. */
export const isNobodys = (host: string): boolean =>
  host !== '0.0.0.0' && /^(?:(?:::ffff:)?(?:0|22[4-9]|2[3-5]\d)\.|ff[\da-f]{2}:)/i.test(host)

/** Values of a media description without further lines. */
export const nothingMore = (): Omit<MediaDescription, 'kind' | 'port' | 'protocol' | 'formats'> => ({
  payloads: [],
  host: null,
  direction: 'sendrecv',
  rtcpPort: null,
  rtcpHost: null,
  rtcpMux: false,
  ptimeMs: null,
  maxptimeMs: null,
  crypto: [],
  mid: null,
  isBundled: false,
  dtls: null,
  t38: [],
})

function parseMediaLine(value: string): MediaDescription | null {
  const match = /^([\w-]+) +(\d{1,5})(?:\/\d{1,5})? +([\w/.-]+)((?: +[^\s]+)*)$/.exec(value)
  const port = Number(match?.[2])
  if (match === null || port > 65_535) return null
  const formats = match[4]!
    .split(' ')
    .filter(token => token !== '')
    .slice(0, MAX_FORMATS)
  if (formats.length === 0) return null
  return {
    kind: match[1]!.toLowerCase(),
    port,
    protocol: match[3]!,
    formats,
    ...nothingMore(),
  }
}

function readAttribute(value: string, into: Section): void {
  const colon = value.indexOf(':')
  const name = colon < 0 ? value : value.slice(0, colon)
  const rest = colon < 0 ? '' : value.slice(colon + 1).trim()
  readSideLine(name, rest, into.side)
  if (DIRECTIONS.has(name)) into.direction = name as Direction
  else if (name === 'rtpmap' || name === 'fmtp') {
    const match = /^(\d{1,3})\s+(.+)$/.exec(rest)
    if (match !== null) into[name].set(Number(match[1]), match[2]!)
  } else if (name === 'group' && into.bundle.length === 0 && rest.startsWith('BUNDLE ')) {
    into.bundle = rest.split(' ').slice(1)
  } else if (into.media !== null) readMediaAttribute(name, rest, into.media)
}

function readMediaAttribute(name: string, rest: string, media: MediaDescription): void {
  if (name === 'rtcp-mux') media.rtcpMux = true
  else if (T38_ATTRIBUTE.test(name)) readT38(name, rest, media)
  else if (name === 'ptime') media.ptimeMs = milliseconds(rest)
  else if (name === 'maxptime') media.maxptimeMs = milliseconds(rest)
  else if (name === 'mid' && MID.test(rest)) media.mid = rest
  else if (name === 'crypto') {
    const line = media.crypto.length === MAX_CRYPTO_LINES ? null : parseCrypto(rest)
    if (line !== null) media.crypto.push(line)
  } else if (name === 'rtcp') {
    const match = /^(\d{1,5})(?: IN IP[46] ([A-Za-z0-9.:_-]{1,255}))?$/.exec(rest)
    const port = Number(match?.[1])
    if (match === null || port === 0 || port > 65_535) return
    media.rtcpPort = port
    media.rtcpHost = match[2] ?? null
  }
}

/** They are passed on, so only what the Recommendation defines may pass. */
function readT38(name: string, value: string, { kind, t38 }: MediaDescription): void {
  if (kind !== 'image' || t38.length === MAX_T38 || !T38_VALUE.test(value)) return
  t38.push(value === '' ? name : `${name}:${value}`)
}

function milliseconds(text: string): number | null {
  const value = /^\d{1,4}(?:\.\d+)?$/.test(text) ? Number(text) : 0
  return value > 0 ? value : null
}

function finish(own: Section, session: Section): MediaDescription {
  const media = own.media!
  media.host = own.host ?? session.host
  media.direction = own.direction ?? session.direction ?? 'sendrecv'
  media.isBundled = media.mid !== null && session.bundle.includes(media.mid)
  media.dtls = sideOf(own.side, session.side)
  for (const token of media.formats) {
    const payload = /^\d{1,3}$/.test(token) ? payloadOf(Number(token), own) : null
    if (payload !== null && !media.payloads.some(other => other.payloadType === payload.payloadType)) {
      media.payloads.push(payload)
    }
  }
  return media
}

function payloadOf(payloadType: number, own: Section): PayloadFormat | null {
  if (payloadType > 127) return null
  const fmtp = own.fmtp.get(payloadType) ?? null
  const map = own.rtpmap.get(payloadType)
  if (map === undefined) {
    const known = STATIC[payloadType]
    return known === undefined ? null : { payloadType, name: known[0], clockRateHz: known[1], channels: known[2], fmtp }
  }
  const match = /^([^\s/]+)\/(\d{1,6})(?:\/(\d{1,2}))?$/.exec(map.trim())
  if (match === null) return null
  return { payloadType, name: match[1]!, clockRateHz: Number(match[2]), channels: Number(match[3] ?? 1), fmtp }
}

const family = (host: string): string => `IN ${host.includes(':') ? 'IP6' : 'IP4'} ${host}`

/** Writes a description as bytes with CRLF line ends. */
export function formatSdp(description: SessionDescription): Uint8Array {
  const { origin } = description
  const lines = ['v=0', `o=${origin.username} ${origin.sessionId} ${origin.version} ${family(origin.host)}`, 's=-']
  lines.push(`c=${family(description.media.find(media => media.host !== null)?.host ?? origin.host)}`)
  lines.push(`t=${description.timing}`)
  const bundled = description.media.filter(media => media.isBundled && media.port !== 0)
  if (bundled.length > 0) lines.push(`a=group:BUNDLE ${bundled.map(media => media.mid).join(' ')}`)
  // We are an ICE lite agent, and say so for the session (RFC 8839 §5.3).
  if (description.media.some(({ port, dtls }) => port !== 0 && dtls !== null && dtls.ice !== null))
    lines.push('a=ice-lite')
  for (const media of description.media) {
    lines.push(`m=${media.kind} ${media.port} ${media.protocol} ${media.formats.join(' ')}`)
    if (media.mid !== null) lines.push(`a=mid:${media.mid}`)
    if (media.port !== 0) pushAttributes(media, lines)
  }
  return UTF8.encode(`${lines.join('\r\n')}\r\n`)
}

function pushAttributes(media: MediaDescription, lines: string[]): void {
  if (media.kind === 'image') {
    for (const attribute of media.t38) lines.push(`a=${attribute}`)
    return
  }
  if (media.dtls !== null) pushSide(media.dtls, lines)
  for (const line of media.crypto) lines.push(`a=crypto:${formatCrypto(line)}`)
  for (const { payloadType, name, clockRateHz, channels, fmtp } of media.payloads) {
    lines.push(`a=rtpmap:${payloadType} ${name}/${clockRateHz}${channels > 1 ? `/${channels}` : ''}`)
    if (fmtp !== null) lines.push(`a=fmtp:${payloadType} ${fmtp}`)
  }
  if (media.ptimeMs !== null) lines.push(`a=ptime:${media.ptimeMs}`)
  if (media.maxptimeMs !== null) lines.push(`a=maxptime:${media.maxptimeMs}`)
  if (media.rtcpPort !== null)
    lines.push(`a=rtcp:${media.rtcpPort}${media.rtcpHost ? ` ${family(media.rtcpHost)}` : ''}`)
  if (media.rtcpMux) lines.push('a=rtcp-mux')
  lines.push(`a=${media.direction}`)
}
