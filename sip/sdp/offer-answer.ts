import type { SrtpKeys } from './sdes.ts'
import {
  answerCrypto,
  audioOf,
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
  formatSdp,
  type MediaDescription,
  type PayloadFormat,
  parseSdp,
  type SessionDescription,
} from './sdp.ts'

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
}

/** Identity of our descriptions in one call (the `o=` line). */
export interface SdpSession {
  /** Digits only, unique for the call. */
  id: string
  /** The last description that we sent in this call; the version grows by one when the new one differs (RFC 3264 §8). */
  previous: Uint8Array | null
}

/** What both sides agreed on. */
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
  /** The payload types that mean `codec` in packets that we receive. */
  receivePayloadTypes: number[]
  /** To send and to receive DTMF (RFC 4733); null when not agreed. */
  telephoneEventPayloadType: number | null
  receiveTelephoneEventPayloadType: number | null
  ptimeMs: number
  /** Ours: `sendonly` means that we send and do not listen. */
  direction: Direction
  /** The other side put us on hold: it asked us not to expect its audio being used (sendonly, inactive or c=0.0.0.0). */
  held: boolean
  /** Null: packets are not encrypted. */
  srtp: SrtpKeys | null
}

export type NegotiationError = { error: 'malformed' | 'no_audio' | 'no_common_codec' | 'no_common_encryption' }

const DEFAULT_PTIME_MS = 20
const FIRST_EVENT_PAYLOAD_TYPE = 101

const sends = (direction: Direction): boolean => direction === 'sendrecv' || direction === 'sendonly'
const receives = (direction: Direction): boolean => direction === 'sendrecv' || direction === 'recvonly'

function directionOf(send: boolean, receive: boolean): Direction {
  if (send) return receive ? 'sendrecv' : 'sendonly'
  return receive ? 'recvonly' : 'inactive'
}

/** What is left of our wish when the other side wants `theirs` (RFC 3264 §6.1). */
export function meet(wanted: Direction, theirs: Direction): Direction {
  return directionOf(sends(wanted) && receives(theirs), receives(wanted) && sends(theirs))
}

const isUnspecified = (host: string): boolean => host === '0.0.0.0' || host === '::'

/** c=0.0.0.0 was how RFC 2543 held a call: the other side cannot receive (RFC 3264 §8.4). */
function effectiveDirection(media: MediaDescription): Direction {
  const host = media.host ?? ''
  return directionOf(sends(media.direction), receives(media.direction) && !isUnspecified(host))
}

const isCodec = (payload: PayloadFormat, codec: AudioCodec): boolean =>
  payload.name.toLowerCase() === codec.name.toLowerCase() &&
  payload.clockRateHz === codec.clockRateHz &&
  payload.channels === codec.channels

/** DTMF events are only of use at the clock of the audio that they go with (RFC 4733 §2.1). */
const isEventFor = (payload: PayloadFormat, codec: AudioCodec): boolean =>
  payload.name.toLowerCase() === 'telephone-event' && payload.clockRateHz === codec.clockRateHz

/** Our offer as bytes (RFC 3264 §5). Lines that were refused earlier in the call stay, refused (§8). */
export function createOffer(capabilities: Capabilities, direction: Direction, session: SdpSession): Uint8Array {
  const payloads: PayloadFormat[] = capabilities.codecs.map(codec => ({ ...codec, fmtp: codec.fmtp ?? null }))
  if (capabilities.telephoneEvent) {
    for (const clockRateHz of new Set(capabilities.codecs.map(codec => codec.clockRateHz))) {
      payloads.push(telephoneEvent(freePayloadType(payloads), clockRateHz))
    }
  }
  const own = {
    ...ourMedia(capabilities, payloads, direction, capabilities.rtcpMux === true),
    ...offeredProtection(capabilities.srtp, audioOf(session.previous)),
  }
  const before = session.previous === null ? null : parseSdp(session.previous)
  const lines = before === null || 'error' in before ? [] : before.media
  const place = Math.max(
    0,
    lines.findIndex(media => media.kind === 'audio' && media.port !== 0),
  )
  const media = lines.map(refused)
  media[place] = own
  return versioned(media, capabilities, session)
}

const telephoneEvent = (payloadType: number, clockRateHz: number): PayloadFormat => ({
  payloadType,
  name: 'telephone-event',
  clockRateHz,
  channels: 1,
  fmtp: '0-15',
})

function freePayloadType(payloads: readonly PayloadFormat[]): number {
  let payloadType = FIRST_EVENT_PAYLOAD_TYPE
  while (payloads.some(payload => payload.payloadType === payloadType)) payloadType++
  return payloadType
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
    payloads,
    host: capabilities.host,
    direction,
    rtcpPort: null,
    rtcpHost: null,
    rtcpMux,
    ptimeMs: capabilities.ptimeMs ?? DEFAULT_PTIME_MS,
    maxptimeMs: null,
    crypto: [],
  }
}

/** Writes our description with the version of the last one, or the next when anything else differs (RFC 3264 §8). */
function versioned(media: MediaDescription[], capabilities: Capabilities, session: SdpSession): Uint8Array {
  const write = (version: string): Uint8Array =>
    formatSdp({ origin: { username: 'tandem', sessionId: session.id, version, host: capabilities.host }, media })
  const previous = session.previous === null ? null : parseSdp(session.previous)
  if (session.previous === null || previous === null || 'error' in previous) return write('1')
  const same = write(previous.origin.version)
  return Buffer.compare(same, session.previous) === 0 ? same : write(String(BigInt(previous.origin.version) + 1n))
}

interface Match {
  index: number
  media: MediaDescription
  protection: Protection
  codec: AudioCodec
  payload: PayloadFormat
  event: PayloadFormat | null
}

/** The first audio line that we can take, one that is encrypted before one that is not, with the first of its codecs that is ours too. */
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
    if (protection === null) error = error === 'no_audio' ? 'no_common_encryption' : error
    else if (coding === null) error = 'no_common_codec'
    else if (protection !== 'plain') return { index, media, protection, ...coding }
    else plain ??= { index, media, protection, ...coding }
  }
  return plain ?? { error }
}

function findCodec(media: MediaDescription, capabilities: Capabilities) {
  for (const payload of media.payloads) {
    const codec = capabilities.codecs.find(own => isCodec(payload, own))
    if (codec === undefined) continue
    const event = capabilities.telephoneEvent ? media.payloads.find(other => isEventFor(other, codec)) : undefined
    return { codec, payload, event: event ?? null }
  }
  return null
}

/**
 * Answers an offer (RFC 3264 §6). `direction` is what we would like, seen from us; the answer never exceeds what the
 * offer allows. Lines that we do not take are refused with port 0, in the order of the offer. On an error the call is
 * answered 488.
 */
export function answerOffer(
  offer: Uint8Array,
  capabilities: Capabilities,
  direction: Direction,
  session: SdpSession,
): { answer: Uint8Array; media: NegotiatedMedia } | NegotiationError {
  const description = parseSdp(offer)
  if ('error' in description) return description
  const { srtp } = capabilities
  const match = findAudio(description, capabilities, media => protectionOfOffer(media, srtp?.policy ?? 'off'))
  if ('error' in match) return match
  const { codec, payload, event, protection } = match
  const ours = meet(direction, effectiveDirection(match.media))
  const rtcpMux = match.media.rtcpMux && capabilities.rtcpMux === true
  const payloads = [{ ...payload, name: codec.name, fmtp: codec.fmtp ?? null }]
  if (event !== null) payloads.push(telephoneEvent(event.payloadType, event.clockRateHz))
  const crypto =
    srtp === undefined || protection === 'plain' || protection === null
      ? []
      : [answerCrypto(protection, srtp, audioOf(session.previous))]
  const accepted = { ...ourMedia(capabilities, payloads, ours, rtcpMux), protocol: match.media.protocol, crypto }
  const answer = description.media.map((media, index) => (index === match.index ? accepted : refused(media)))
  const eventType = event?.payloadType ?? null
  return {
    answer: versioned(answer, capabilities, session),
    media: negotiated(match, capabilities, accepted, [payload.payloadType], eventType),
  }
}

const refused = (media: MediaDescription): MediaDescription => ({ ...media, port: 0, host: null, payloads: [] })

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
  const match = findAudio(description, capabilities, (media, index) =>
    protectionOfAnswer(media, offered.media[index], policy),
  )
  if ('error' in match) return match
  const own = offered.media[match.index]
  if (own === undefined || own.kind !== 'audio') return { error: 'malformed' }
  const ownPayloads = own.payloads.filter(payload => isCodec(payload, match.codec))
  if (ownPayloads.length === 0) return { error: 'no_common_codec' }
  const ownEvent = own.payloads.find(payload => isEventFor(payload, match.codec))
  const withEvent = ownEvent === undefined ? { ...match, event: null } : match
  const ours = meet(own.direction, effectiveDirection(match.media))
  const rtcpMux = own.rtcpMux && match.media.rtcpMux
  const receive = ownPayloads.map(payload => payload.payloadType)
  const receiveEvent = withEvent.event === null ? null : (ownEvent?.payloadType ?? null)
  return negotiated(withEvent, capabilities, { ...own, direction: ours, rtcpMux }, receive, receiveEvent)
}

/** @param own our line, with the direction and rtcp-mux that were agreed on */
function negotiated(
  match: Match,
  capabilities: Capabilities,
  own: MediaDescription,
  receivePayloadTypes: number[],
  receiveTelephoneEventPayloadType: number | null,
): NegotiatedMedia {
  const { media } = match
  const { direction, rtcpMux } = own
  const host = media.host!
  const ptimeMs = media.ptimeMs ?? capabilities.ptimeMs ?? DEFAULT_PTIME_MS
  return {
    remoteHost: host,
    remotePort: media.port,
    remoteRtcpHost: rtcpMux ? host : (media.rtcpHost ?? host),
    remoteRtcpPort: rtcpMux ? media.port : (media.rtcpPort ?? media.port + 1),
    rtcpMux,
    codec: match.codec,
    payloadType: match.payload.payloadType,
    receivePayloadTypes,
    telephoneEventPayloadType: match.event?.payloadType ?? null,
    receiveTelephoneEventPayloadType,
    ptimeMs: media.maxptimeMs === null ? ptimeMs : Math.min(ptimeMs, media.maxptimeMs),
    direction,
    held: media.direction === 'sendonly' || media.direction === 'inactive' || isUnspecified(host),
    srtp: keysOf(match.protection, own),
  }
}
