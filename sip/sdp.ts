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

/** One `m=` section (RFC 8866 §5.14) with what audio needs from it. */
export interface MediaDescription {
  kind: string
  /** 0: refused or removed. */
  port: number
  protocol: string
  /** The format tokens of the `m=` line, as written. */
  formats: string[]
  payloads: PayloadFormat[]
  /** From the media's or else the session's `c=` line; null when neither is there. */
  host: string | null
  /** The address family of `host`: `IP4` or `IP6`. */
  direction: Direction
  /** `a=rtcp` port (RFC 3605), or null for port + 1. */
  rtcpPort: number | null
  rtcpHost: string | null
  rtcpMux: boolean
  ptimeMs: number | null
  maxptimeMs: number | null
}

/** A session description reduced to what this library negotiates (RFC 8866). */
export interface SessionDescription {
  origin: { username: string; sessionId: string; version: string; host: string }
  media: MediaDescription[]
}

export type SdpError = { error: 'malformed' }

/** Parses a description. Never throws; anything that RFC 8866 §9 cannot explain is `malformed`, unknown lines are skipped. */
export declare function parseSdp(bytes: Uint8Array): SessionDescription | SdpError

/** Writes a description as bytes with CRLF line ends. */
export declare function formatSdp(description: SessionDescription): Uint8Array
