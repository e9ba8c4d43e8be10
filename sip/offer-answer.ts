import type { Direction } from './sdp.ts'

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
}

export type NegotiationError = { error: 'malformed' | 'no_audio' | 'no_common_codec' }

/** Our offer as bytes (RFC 3264 §5). */
export declare function createOffer(capabilities: Capabilities, direction: Direction, session: SdpSession): Uint8Array

/**
 * Answers an offer (RFC 3264 §6). `direction` is what we would like, seen from us; the answer never exceeds what the
 * offer allows. On an error the call is answered 488.
 */
export declare function answerOffer(
  offer: Uint8Array,
  capabilities: Capabilities,
  direction: Direction,
  session: SdpSession,
): { answer: Uint8Array; media: NegotiatedMedia } | NegotiationError

/** Reads the answer to our offer (RFC 3264 §7). `offer` is exactly what was sent. */
export declare function applyAnswer(
  offer: Uint8Array,
  answer: Uint8Array,
  capabilities: Capabilities,
): NegotiatedMedia | NegotiationError
