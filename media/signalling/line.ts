import { randomBytes } from 'node:crypto'
import type { Body, InviteRequest, Peer } from '../../sip/agent-types.ts'
import type { DigestResponse } from '../../sip/auth/digest.ts'
import { parseUri, userOf } from '../../sip/message/uri.ts'
import type { AudioCodec, Capabilities, NegotiatedMedia } from '../../sip/sdp/offer-answer.ts'
import { PCMA, PCMU } from '../../sip/sdp/offer-answer.ts'
import type { EngineThread } from '../engine/engine-client.ts'
import type {
  CodecName,
  DtmfMode,
  EndedReason,
  LegAudio,
  LegSnapshot,
  Quality,
  RoomSpec,
  SipParty,
  SrtpPolicy,
} from '../protocol.ts'
import type { LegMedia } from '../rtp/rtp-leg.ts'

const CODECS: Record<CodecName, AudioCodec> = { PCMU, PCMA }

/** The signalling half of a leg: the SIP session, and where its audio lives. */
export interface Line {
  readonly legId: string
  /** Empty while the sockets of a call of ours are opened, and nothing has been sent yet. */
  sessionId: string
  readonly direction: 'inbound' | 'outbound'
  readonly to: SipParty
  readonly from: SipParty
  state: LegSnapshot['state']
  /** The thread of its audio, once it has some. */
  engine: EngineThread | null
  port: number
  codecs: CodecName[]
  dtmf: DtmfMode
  srtp: SrtpPolicy
  /** What we called with, without its description; null: it calls us. */
  invite: InviteRequest | null
  /** The room that it enters when its audio starts. */
  room: RoomSpec | null
  /** The caller's offer, until it is answered. */
  offer: Body | null
  /** Where its signalling comes from; null: nobody has answered our call yet. */
  peer: Peer | null
  /** What the caller proves its account with; null: nothing. */
  digest: DigestResponse | null
  /** Our session ID in descriptions. */
  sdpId: string
  /** The last description that we sent (RFC 3264 §8). */
  description: Uint8Array | null
  held: boolean
  /** We have put it on hold. */
  onHold: boolean
  /** What our last description said that was agreed on, or refused. */
  told: 'sendrecv' | 'sendonly'
  /** Our re-INVITE that waits for its answer. */
  asked: { direction: Line['told']; before: Uint8Array | null } | null
  /** Why we ended it, when we did. */
  endReason: EndedReason | null
  /** The status that we refused its INVITE with. */
  refusedWith: number | null
  timer: NodeJS.Timeout | undefined
  /** When its answer was told, on the monotonic clock [ms]; null: it never was. */
  answeredMs: number | null
  /** Resolves once its end is told; null: it has not ended. */
  ending: Promise<void> | null
}

/** What our descriptions of a line depend on. */
export type Described = Pick<Line, 'codecs' | 'port' | 'dtmf' | 'srtp'>

export const isOver = (line: Line): boolean => line.state === 'ended'

/** What we offer and accept for a line. */
export const capabilitiesOf = (line: Described, host: string): Capabilities => ({
  codecs: line.codecs.map(name => CODECS[name]),
  telephoneEvent: line.dtmf === 'auto' || line.dtmf === 'rfc4733',
  host,
  port: line.port,
  rtcpMux: true,
  srtp: { policy: line.srtp, random: randomBytes },
})

/** What SDP agreed on, in the engine's words. */
/** Whether this peer may have us send to a host. */
export type MayReach = (peer: Peer | null, host: string) => boolean

export const legMediaOf = (
  media: NegotiatedMedia,
  { dtmf, peer }: Pick<Line, 'dtmf' | 'peer'>,
  mayReach: MayReach,
): LegMedia => ({
  codec: media.codec.name as CodecName,
  payloadType: media.payloadType,
  receivePayloadTypes: media.receivePayloadTypes,
  telephoneEvent: { send: media.telephoneEventPayloadType, receive: media.receiveTelephoneEventPayloadType },
  remote: {
    host: media.remoteHost,
    port: media.remotePort,
    rtcpHost: media.remoteRtcpHost,
    rtcpPort: media.remoteRtcpPort,
    rtcpMux: media.rtcpMux,
    signallingHost: peer?.host ?? null,
    isReachable: mayReach(peer, media.remoteHost),
    isRtcpReachable: mayReach(peer, media.remoteRtcpHost),
  },
  direction: media.direction,
  dtmf,
  srtp: media.srtp,
})

/** A URI as the channel writes it. */
export function partyOf(uri: string): SipParty {
  const parsed = parseUri(uri)
  if ('error' in parsed || parsed.scheme === 'other') return { uri, user: '', host: '' }
  const host = parsed.scheme === 'tel' ? '' : parsed.host
  return { uri, user: userOf(parsed) ?? '', host }
}

/** Why our INVITE failed, out of its final status (RFC 3261 §21.4 to §21.6). */
export function reasonOfStatus(status: number): EndedReason {
  if (status === 486 || status === 600) return 'busy'
  if (status === 408 || status === 480 || status === 487) return 'no_answer'
  if (status === 404 || status === 410 || status === 484 || status === 604) return 'not_found'
  if (status === 406 || status === 415 || status === 488 || status === 606) return 'codec_mismatch'
  if (status >= 500 && status < 600) return 'trunk_error'
  return 'rejected'
}

/** The quality of a leg that never had audio. */
export const NO_QUALITY: Quality = {
  codec: null,
  packetsReceived: 0,
  packetsSent: 0,
  packetsLost: 0,
  lossPct: 0,
  jitterMs: 0,
  roundTripMs: null,
  mos: null,
}

/** Of a leg that no engine thread has. */
export const NO_AUDIO: LegAudio = {
  roomId: null,
  muted: false,
  deaf: false,
  onHold: false,
  collecting: false,
  playing: false,
  quality: NO_QUALITY,
}
