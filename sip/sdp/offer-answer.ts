import { type DtlsRole, type DtlsSide, newTlsId, roleOf } from './dtls.ts'
import type { SrtpKeys } from './sdes.ts'
import {
  answerCrypto,
  audioOf,
  hasIce,
  isDtls,
  isPlain,
  isRtp,
  keysOf,
  offeredProtection,
  type Protection,
  protectionOfAnswer,
  protectionOfOffer,
  type SrtpCapability,
} from './sdes-agreement.ts'
import {
  type Direction,
  isNobodys,
  type MediaDescription,
  nothingMore,
  type PayloadFormat,
  parseSdp,
  type SessionDescription,
} from './sdp.ts'
import { refused, type SdpSession, versioned } from './session.ts'

/** A codec that we can send and receive. `payloadType` is the one that our offers use. */
export interface AudioCodec {
  name: string
  clockRateHz: number
  channels: number
  payloadType: number
  fmtp?: string
}

export const PCMU: AudioCodec = { name: 'PCMU', clockRateHz: 8000, channels: 1, payloadType: 0 }
export const PCMA: AudioCodec = { name: 'PCMA', clockRateHz: 8000, channels: 1, payloadType: 8 }

/** These can be transcoded into each other octet by octet. */
const LAWS: readonly AudioCodec[] = [PCMU, PCMA]

/** Its clock is 8 kHz, although its audio has 16 kHz (RFC 3551 §4.5.2). */
export const G722: AudioCodec = { name: 'G722', clockRateHz: 8000, channels: 1, payloadType: 9 }
export const L16_16000: AudioCodec = { name: 'L16', clockRateHz: 16_000, channels: 1, payloadType: 112 }
export const L16_8000: AudioCodec = { name: 'L16', clockRateHz: 8000, channels: 1, payloadType: 113 }

/** The codec of browsers (RFC 7587): its clock is 48 kHz with two channels, whatever is transmitted. We receive and send 16 kHz. */
export const OPUS: AudioCodec = {
  name: 'opus',
  clockRateHz: 48_000,
  channels: 2,
  payloadType: 111,
  fmtp: 'minptime=10;useinbandfec=1;maxplaybackrate=16000;sprop-maxcapturerate=16000',
}

export type { SdpSession } from './session.ts'

export interface Capabilities {
  /** In our order of preference. */
  codecs: readonly AudioCodec[]
  telephoneEvent: boolean
  /** Where we receive RTP. */
  host: string
  port: number
  /** Offer and accept RTP and RTCP on one port (RFC 5761). Default false. */
  rtcpMux?: boolean
  /** Default 20 [ms]. */
  ptimeMs?: number
  /** Absent: never encrypted. */
  srtp?: SrtpCapability
  /** Keys by DTLS. With ICE, and one port for all, it is WebRTC, with us as an ICE lite agent. Absent: neither. */
  dtls?: DtlsCapability
}

interface DtlsCapability {
  fingerprint: DtlsSide['fingerprint']
  /** As agreed before in this call; null: not yet. */
  role: DtlsRole | null
  /** The far end's `a=tls-id`, as agreed before in this call; null: none. */
  tlsId: string | null
  /** Ours, for the whole call. */
  ice: NonNullable<DtlsSide['ice']>
  ssrc: number
  /** Preferred additional codecs of WebRTC. */
  codecs: readonly AudioCodec[]
  /** Our offers are WebRTC. */
  isWebRtc: boolean
}

/** The result of the negotiation. */
export interface NegotiatedMedia {
  /** Where to send RTP; meaningless when `direction` is `inactive` and the other side wrote 0.0.0.0. */
  remoteHost: string
  remotePort: number
  remoteRtcpHost: string
  remoteRtcpPort: number
  rtcpMux: boolean
  codec: AudioCodec
  /** The payload type that we put into packets that we send. */
  payloadType: number
  /** The payload types of `codec` in received packets. */
  receivePayloadTypes: number[]
  /** The payload types of the other law, which the answer names too (RFC 3264 §7). */
  otherPayloadTypes: number[]
  /** To send and to receive DTMF (RFC 4733); null when not agreed. */
  telephoneEventPayloadType: number | null
  receiveTelephoneEventPayloadType: number | null
  /** For receiving comfort noise (RFC 3389); null if not agreed. */
  comfortNoisePayloadType: number | null
  ptimeMs: number
  /** Ours: `sendonly` means that we send and do not listen. */
  direction: Direction
  /** The far end put us on hold: it does not use our audio (sendonly, inactive or c=0.0.0.0). */
  held: boolean
  /** Null: packets are not encrypted, or their keys come by DTLS. */
  srtp: SrtpKeys | null
  /** Null: keys do not come by DTLS. */
  dtls: NegotiatedDtls | null
  /** All that the far end has named. */
  theirs: readonly PayloadFormat[]
}

/** Our role in DTLS; of the far end, its certificate, association, and half of ICE, or null for none. */
interface NegotiatedDtls extends Pick<DtlsSide, 'fingerprint' | 'tlsId'> {
  role: DtlsRole
  ufrag: string | null
}

export type NegotiationError = {
  error: 'malformed' | 'no_audio' | 'no_common_codec' | 'no_common_encryption' | 'multicast'
}

const DEFAULT_PTIME_MS = 20
/** Of G.711 (RFC 3551 §4.2), and of what is decoded packet by packet. */
const MAX_PACKET_MS = 200
const MAX_CODED_MS = 120
const FIRST_EVENT_PAYLOAD_TYPE = 101

const sends = (direction: Direction): boolean => direction === 'sendrecv' || direction === 'sendonly'
const receives = (direction: Direction): boolean => direction === 'sendrecv' || direction === 'recvonly'

function directionOf(send: boolean, receive: boolean): Direction {
  if (send) return receive ? 'sendrecv' : 'sendonly'
  return receive ? 'recvonly' : 'inactive'
}

/** Our direction, limited by the other side's `theirs` (RFC 3264 §6.1). */
function meet(wanted: Direction, theirs: Direction): Direction {
  return directionOf(sends(wanted) && receives(theirs), receives(wanted) && sends(theirs))
}

const isUnspecified = (host: string): boolean => host === '0.0.0.0' || host === '::'

/** c=0.0.0.0 is how RFC 2543 put a call on hold: the far end cannot receive (RFC 3264 §8.4). */
function effectiveDirection(media: MediaDescription): Direction {
  if (hasIce(media)) return media.direction
  const host = media.host ?? ''
  return directionOf(sends(media.direction), receives(media.direction) && !isUnspecified(host))
}

const isCodec = (payload: PayloadFormat, codec: AudioCodec): boolean =>
  payload.name.toLowerCase() === codec.name.toLowerCase() &&
  payload.clockRateHz === codec.clockRateHz &&
  payload.channels === codec.channels

const isEvent = (payload: PayloadFormat): boolean => payload.name.toLowerCase() === 'telephone-event'

/** DTMF events have the clock of their audio (RFC 4733 §2.1). */
const isEventFor = (payload: PayloadFormat, codec: AudioCodec): boolean =>
  isEvent(payload) && payload.clockRateHz === codec.clockRateHz

/**
 * The events that the far end sends with a codec. Firefox names only those of 8 kHz, with Opus too, and counts them in the clock of the
 * audio: so are those read of whoever names none of that clock.
 */
const eventsWith = (payloads: readonly PayloadFormat[], codec: AudioCodec): PayloadFormat | null =>
  payloads.find(payload => isEventFor(payload, codec)) ??
  payloads.find(payload => isEvent(payload) && payload.clockRateHz === PCMU.clockRateHz) ??
  null

/** Comfort noise uses the audio's clock (RFC 3389 §4); Opus has its own. */
const isNoiseFor = (payload: PayloadFormat, codec: AudioCodec): boolean =>
  payload.name.toLowerCase() === 'cn' && codec !== OPUS && payload.clockRateHz === codec.clockRateHz

/** Our offer as bytes (RFC 3264 §5). Lines refused earlier in the call stay, still refused (§8). */
export function createOffer(capabilities: Capabilities, direction: Direction, session: SdpSession): Uint8Array {
  const previous = audioOf(session.previous)
  const keys = offeredKeys(capabilities, previous)
  const codecs = codecsFor(keys, capabilities)
  const agreed = previous?.payloads ?? []
  const named = [...agreed, ...(session.theirs ?? [])]
  const payloads: PayloadFormat[] = []
  for (const codec of codecs) {
    // One that has a number of its own keeps it, whatever else a far end calls it.
    const known = (codec.payloadType < DYNAMIC[0]! ? agreed : named).find(payload => isCodec(payload, codec))
    const payloadType = known?.payloadType ?? freePayloadType(codec.payloadType, [...named, ...payloads])
    payloads.push({ ...codec, payloadType, fmtp: codec.fmtp ?? null })
  }
  if (capabilities.telephoneEvent) {
    for (const clockRateHz of new Set(codecs.map(codec => codec.clockRateHz))) {
      const known = named.find(payload => isEvent(payload) && payload.clockRateHz === clockRateHz)
      const payloadType = known?.payloadType ?? freePayloadType(FIRST_EVENT_PAYLOAD_TYPE, [...named, ...payloads])
      payloads.push(telephoneEvent(payloadType, clockRateHz))
    }
  }
  const own = {
    ...ourMedia(capabilities, payloads, direction, capabilities.rtcpMux === true),
    ...keys,
  }
  const before = session.previous === null ? null : parseSdp(session.previous)
  const lines = before === null || 'error' in before ? [] : before.media
  const live = lines.findIndex(media => media.kind === 'audio' && media.port !== 0)
  // After a fax its line is still there, refused.
  const place =
    live >= 0
      ? live
      : Math.max(
          0,
          lines.findIndex(media => media.kind === 'audio'),
        )
  const media = lines.map(refused)
  media[place] = own
  return versioned(media, capabilities, session)
}

/** The codecs of a medium, in our order of preference. */
const codecsFor = (
  media: Pick<MediaDescription, 'protocol' | 'dtls'>,
  { codecs, dtls }: Capabilities,
): readonly AudioCodec[] => (hasIce(media) ? [...new Set([...(dtls?.codecs ?? []), ...codecs])] : codecs)

const telephoneEvent = (payloadType: number, clockRateHz: number): PayloadFormat => ({
  payloadType,
  name: 'telephone-event',
  clockRateHz,
  channels: 1,
  fmtp: '0-15',
})

/** Dynamic ones (RFC 3551 §3), then those that are assigned to nothing and look like no RTCP beside it (RFC 5761 §4). */
const DYNAMIC = [...range(96, 128), ...range(35, 64)]

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i)
}

/**
 * The first one from this on that means nothing else: once somebody has named it, it means the same for the whole call (RFC 3264 §8.3.2). If all
 * mean something, one that the far end cannot have taken has to.
 */
function freePayloadType(first: number, known: readonly PayloadFormat[]): number {
  const isFree = (one: number): boolean => !known.some(({ payloadType }) => payloadType === one)
  return [...range(first, 128), ...DYNAMIC].find(isFree) ?? first
}

function ourMedia(
  capabilities: Capabilities,
  payloads: PayloadFormat[],
  direction: Direction,
  rtcpMux: boolean,
): MediaDescription {
  return {
    kind: 'audio',
    port: capabilities.port,
    protocol: 'RTP/AVP',
    formats: payloads.map(payload => String(payload.payloadType)),
    ...nothingMore(),
    payloads,
    host: capabilities.host,
    direction,
    rtcpMux,
    ptimeMs: capabilities.ptimeMs ?? DEFAULT_PTIME_MS,
    maxptimeMs: Math.min(...payloads.map(longestMs)),
  }
}

/** How much of it we take in one packet (RFC 8866 §6.4); of linear audio, with two octets per sample, as many octets as of G.711. */
function longestMs({ name, clockRateHz }: PayloadFormat): number {
  if (name === L16_8000.name) return (MAX_PACKET_MS * PCMU.clockRateHz) / (2 * clockRateHz)
  return name === G722.name || name === OPUS.name ? MAX_CODED_MS : MAX_PACKET_MS
}

/** Our DTLS parameters for a description. */
const ourSide = (
  { host, port }: Capabilities,
  { fingerprint, ice, ssrc }: DtlsCapability,
  setup: DtlsSide['setup'],
  tlsId: string | null,
  isWebRtc: boolean,
): DtlsSide => ({
  fingerprint,
  setup,
  tlsId,
  ice: isWebRtc ? ice : null,
  own: isWebRtc ? { host, port, ssrc } : null,
})

interface Match {
  index: number
  media: MediaDescription
  protection: Protection
  codec: AudioCodec
  payload: PayloadFormat
  event: PayloadFormat | null
  noise: PayloadFormat | null
}

/** The first acceptable audio line, encrypted ones first, with the first of its codecs that we support. */
function findAudio(
  description: SessionDescription,
  capabilities: Capabilities,
  protectionOf: (media: MediaDescription, index: number) => Protection,
): Match | NegotiationError {
  let error: NegotiationError['error'] = 'no_audio'
  let plain: Match | null = null
  for (const [index, media] of description.media.entries()) {
    if (media.kind !== 'audio' || media.port === 0 || !isRtp(media)) continue
    if (media.host === null) return plain ?? { error: 'malformed' }
    const protection = protectionOf(media, index)
    const coding = protection === null ? null : findCodec(media, capabilities)
    if (isNobodys(media.host) && !hasIce(media)) error = 'multicast'
    else if (protection === null) error = error === 'no_audio' ? 'no_common_encryption' : error
    else if (coding === null) error = 'no_common_codec'
    else if (protection !== 'plain') return { index, media, protection, ...coding }
    else plain ??= { index, media, protection, ...coding }
  }
  return plain ?? { error }
}

function findCodec(media: MediaDescription, capabilities: Capabilities) {
  for (const payload of media.payloads) {
    const codec = codecsFor(media, capabilities).find(own => isCodec(payload, own))
    if (codec === undefined) continue
    const event = capabilities.telephoneEvent ? eventsWith(media.payloads, codec) : null
    const noise = media.payloads.find(other => isNoiseFor(other, codec)) ?? null
    return { codec, payload, event, noise }
  }
  return null
}

/** An acceptable offer: what was negotiated, and the answer once our port is known. */
export interface AcceptedOffer {
  media: NegotiatedMedia
  /** @param place our port, and with WebRTC our SSRC */
  answer: (place: { port: number; ssrc: number }) => Uint8Array
}

/**
 * Accepts an offer (RFC 3264 §6) before our port is known. `direction` is our wish, from our side; the answer never exceeds what the
 * offer allows. Lines that we do not accept are refused with port 0, in the order of the offer. On an error the call is
 * answered 488.
 */
export function acceptOffer(
  offer: Uint8Array,
  capabilities: Omit<Capabilities, 'port'>,
  direction: Direction,
  session: SdpSession,
): AcceptedOffer | NegotiationError {
  const description = parseSdp(offer)
  if ('error' in description) return description
  const ours = { ...capabilities, port: 0 }
  const { srtp } = ours
  const match = findAudio(description, ours, media =>
    takenKeys(media, dtlsOf(media, ours, false), protectionOfOffer(media, srtp?.policy ?? 'off')),
  )
  if ('error' in match) return match
  const { codec, payload, event, noise, protection } = match
  const payloads = [{ ...payload, name: codec.name, fmtp: codec.fmtp ?? null }]
  // We accept comfort noise if it is offered, but offer none, because we send audio all the time.
  if (noise !== null) payloads.push({ ...noise, name: 'CN', fmtp: null })
  if (event !== null) payloads.push(telephoneEvent(event.payloadType, event.clockRateHz))
  const crypto =
    srtp === undefined || protection === null || typeof protection === 'string'
      ? []
      : [answerCrypto(protection, srtp, audioOf(session.previous))]
  const rtcpMux = match.media.rtcpMux && ours.rtcpMux === true
  const accepted: MediaDescription = {
    ...ourMedia(ours, payloads, meet(direction, effectiveDirection(match.media)), rtcpMux),
    protocol: match.media.protocol,
    crypto,
    mid: match.media.mid,
    isBundled: match.media.isBundled,
  }
  const agreed = negotiated(match, ours, accepted, [payload.payloadType], event?.payloadType ?? null)
  const tlsId = answeredTlsId(agreed.dtls, ours, audioOf(session.previous))
  const answer: AcceptedOffer['answer'] = ({ port, ssrc }) => {
    const placed = { ...ours, port }
    const role = agreed.dtls?.role
    const dtls = role === undefined ? null : ourSide(placed, { ...ours.dtls!, ssrc }, role, tlsId, hasIce(match.media))
    const media = description.media.map((one, index) =>
      index === match.index ? { ...accepted, port, dtls } : refused(one),
    )
    return versioned(media, placed, session, description.timing)
  }
  return { media: agreed, answer }
}

/** Accepts an offer (`acceptOffer`), and answers it. */
export function answerOffer(
  offer: Uint8Array,
  capabilities: Capabilities,
  direction: Direction,
  session: SdpSession,
): { answer: Uint8Array; media: NegotiatedMedia } | NegotiationError {
  const accepted = acceptOffer(offer, capabilities, direction, session)
  if ('error' in accepted) return accepted
  const { port, dtls } = capabilities
  return { media: accepted.media, answer: accepted.answer({ port, ssrc: dtls?.ssrc ?? 0 }) }
}

/**
 * The encryption of an offer: as in our last description, else WebRTC if it is to be offered, else by the policy. RTP/AVP and RTP/SAVP are offered with
 * keys of both kinds (RFC 8643 §3.1), until the far end has taken those by DTLS.
 */
function offeredKeys(
  capabilities: Capabilities,
  previous: MediaDescription | null,
): Partial<MediaDescription> & Pick<MediaDescription, 'protocol' | 'dtls'> {
  const { dtls, srtp } = capabilities
  const isWebRtc = dtls !== undefined && (previous === null ? dtls.isWebRtc : hasIce(previous))
  const isAsked = previous === null ? isWebRtc || (srtp?.policy ?? 'off') !== 'off' : previous.dtls !== null
  const keys = offeredProtection(srtp, previous)
  if (dtls === undefined || !isAsked) return { ...keys, dtls: null }
  const tlsId = previous?.dtls == null ? freshTlsId(capabilities) : previous.dtls.tlsId
  const side = ourSide(capabilities, dtls, 'actpass', tlsId, isWebRtc)
  if (!isWebRtc) return { ...keys, ...(dtls.role === null ? {} : { crypto: [] }), dtls: side }
  return {
    protocol: previous?.protocol ?? 'UDP/TLS/RTP/SAVPF',
    rtcpMux: true,
    mid: previous?.mid ?? 'audio',
    isBundled: previous?.isBundled ?? true,
    dtls: side,
  }
}

/** Our role if keys of a medium can come by DTLS (RFC 8842 §5.2, §5.3); WebRTC needs no policy, but one port for all. */
function dtlsOf(media: MediaDescription, ours: Capabilities, isAnswer: boolean): DtlsRole | null {
  if (media.dtls === null || ours.dtls === undefined) return null
  const isAllowed = hasIce(media) ? media.rtcpMux : (ours.srtp?.policy ?? 'off') !== 'off'
  return isAllowed ? roleOf(media.dtls, isAnswer, ours.dtls.role) : null
}

/** Of two kinds of keys those by DTLS are taken, which nobody can read in the description; but RTP/SAVP means the others. */
function takenKeys(media: MediaDescription, byDtls: DtlsRole | null, byDescription: Protection): Protection {
  if (isDtls(media)) return byDtls
  return isPlain(media) ? (byDtls ?? byDescription) : (byDescription ?? byDtls)
}

const dtlsAgreed = (media: MediaDescription, role: DtlsRole): NegotiatedDtls => {
  const { fingerprint, tlsId, ice } = media.dtls!
  return { role, fingerprint, tlsId, ufrag: hasIce(media) ? ice!.ufrag : null }
}

const freshTlsId = ({ srtp }: Pick<Capabilities, 'srtp'>): string | null =>
  srtp === undefined ? null : newTlsId(srtp.random)

/** Ours for an answer: only to an offer that has one, and as before while theirs is (RFC 8842 §5.3). */
function answeredTlsId(
  agreed: NegotiatedDtls | null,
  ours: Pick<Capabilities, 'srtp' | 'dtls'>,
  previous: MediaDescription | null,
): string | null {
  if (agreed === null || agreed.tlsId === null) return null
  const isSame = agreed.tlsId === ours.dtls?.tlsId
  return (isSame ? previous?.dtls?.tlsId : null) ?? freshTlsId(ours)
}

/** Reads the answer to our offer (RFC 3264 §7). `offer` is exactly what was sent. */
export function applyAnswer(
  offer: Uint8Array,
  answer: Uint8Array,
  capabilities: Capabilities,
): NegotiatedMedia | NegotiationError {
  const offered = parseSdp(offer)
  const description = parseSdp(answer)
  if ('error' in offered) return offered
  if ('error' in description) return description
  const policy = capabilities.srtp?.policy ?? 'off'
  const match = findAudio(description, capabilities, (media, index) => {
    const own = offered.media[index]
    const byDtls = own?.dtls == null ? null : dtlsOf(media, capabilities, true)
    return takenKeys(media, byDtls, protectionOfAnswer(media, own, policy))
  })
  if ('error' in match) return match
  const own = offered.media[match.index]
  if (own === undefined || own.kind !== 'audio') return { error: 'malformed' }
  const ownPayloads = own.payloads.filter(payload => isCodec(payload, match.codec))
  if (ownPayloads.length === 0) return { error: 'no_common_codec' }
  const ownEvent = own.payloads.find(payload => isEvent(payload) && payload.clockRateHz === match.event?.clockRateHz)
  const withEvent = ownEvent === undefined ? { ...match, event: null } : match
  const ours = meet(own.direction, effectiveDirection(match.media))
  const rtcpMux = own.rtcpMux && match.media.rtcpMux
  const receive = ownPayloads.map(payload => payload.payloadType)
  const receiveEvent = withEvent.event === null ? null : (ownEvent?.payloadType ?? null)
  const others = own.payloads.filter(payload => {
    const codec = LAWS.find(one => one !== match.codec && isCodec(payload, one))
    const isAnswered = (law: AudioCodec): boolean => match.media.payloads.some(answered => isCodec(answered, law))
    return codec !== undefined && LAWS.includes(match.codec) && isAnswered(codec)
  })
  return {
    ...negotiated(withEvent, capabilities, { ...own, direction: ours, rtcpMux }, receive, receiveEvent),
    otherPayloadTypes: others.map(({ payloadType }) => payloadType),
  }
}

/** @param own our line, with the negotiated direction and rtcp-mux */
function negotiated(
  match: Match,
  capabilities: Capabilities,
  own: MediaDescription,
  receivePayloadTypes: number[],
  receiveTelephoneEventPayloadType: number | null,
): NegotiatedMedia {
  const { media, protection } = match
  const { direction, rtcpMux } = own
  const host = media.host!
  const rtcpHost = media.rtcpHost === null || isNobodys(media.rtcpHost) ? host : media.rtcpHost
  const ptimeMs = media.ptimeMs ?? capabilities.ptimeMs ?? DEFAULT_PTIME_MS
  return {
    remoteHost: host,
    remotePort: media.port,
    remoteRtcpHost: rtcpMux ? host : rtcpHost,
    remoteRtcpPort: rtcpMux ? media.port : (media.rtcpPort ?? media.port + 1),
    rtcpMux,
    codec: match.codec,
    payloadType: match.payload.payloadType,
    receivePayloadTypes,
    otherPayloadTypes: [],
    telephoneEventPayloadType:
      match.event !== null && isEventFor(match.event, match.codec) ? match.event.payloadType : null,
    comfortNoisePayloadType: match.noise?.payloadType ?? null,
    receiveTelephoneEventPayloadType,
    ptimeMs: media.maxptimeMs === null ? ptimeMs : Math.min(ptimeMs, media.maxptimeMs),
    direction,
    held:
      media.direction === 'sendonly' || media.direction === 'inactive' || effectiveDirection(media) !== media.direction,
    srtp: keysOf(protection, own),
    dtls: protection === 'active' || protection === 'passive' ? dtlsAgreed(media, protection) : null,
    theirs: media.payloads,
  }
}
