import { randomBytes } from 'node:crypto'
import { isIP } from 'node:net'
import type { Body, HeaderFields, Peer, ReliabilityOfCaller } from '../../sip/agent-types.ts'
import type { DigestResponse } from '../../sip/auth/digest.ts'
import { dialledNumber } from '../../sip/identity/dialled-number.ts'
import { parseUri, uriParam, userOf } from '../../sip/message/uri.ts'
import type { AudioCodec, Capabilities, NegotiatedMedia } from '../../sip/sdp/offer-answer.ts'
import { G722, L16_8000, L16_16000, OPUS, PCMA, PCMU } from '../../sip/sdp/offer-answer.ts'
import type { PayloadFormat } from '../../sip/sdp/sdp.ts'
import type { EngineThread } from '../engine/engine-client.ts'
import type { Signed } from '../identity/verifier.ts'
import type { OwnAddress } from '../kernel/own-addresses.ts'
import type { LegMedia } from '../legs/leg-media.ts'
import {
  CODEC_NAMES,
  type CodecName,
  type DtmfMode,
  type EndedReason,
  type LegAudio,
  type LegCause,
  type LegSnapshot,
  type LegSound,
  type RoomSpec,
  type SipParty,
  type SrtpPolicy,
} from '../protocol.ts'
import { NO_QUALITY } from '../rooms/leg.ts'
import type { DtlsMedia } from '../webrtc/dtls-wire.ts'
import type { IceCredentials } from '../webrtc/ice-lite.ts'
import type { Rate } from './call-pace.ts'
import type { Way, Ways } from './ways.ts'

/** As SDP describes them. */
const CODECS: Record<CodecName, AudioCodec> = {
  PCMU,
  PCMA,
  G722,
  opus: OPUS,
  'L16/16000': L16_16000,
  'L16/8000': L16_8000,
}

/** As the channel names it. */
const nameOf = (codec: AudioCodec): CodecName => CODEC_NAMES.find(name => CODECS[name] === codec)!

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
  /** Whose turn its speech synthesis and recognition use. */
  affinity: string
  /** The room or leg that it is likely to meet, for the choice of its thread; null: nobody knows. */
  near: string | null
  /** Audio settings that follow it everywhere. Absent: none. */
  sound?: LegSound
  /** Where its audio is received; null: no address yet. */
  own: OwnAddress | null
  port: number
  codecs: CodecName[]
  dtmf: DtmfMode
  srtp: SrtpPolicy
  /** Our half of ICE (RFC 8839), the same for the whole call. */
  readonly ice: IceCredentials
  /** The form in which its audio is sent. */
  ssrc: number
  /** It is called as a browser is. */
  isWebRtc: boolean
  /** Max-Forwards of its INVITE (RFC 3261 §20.22), theirs or ours; of theirs at most that of a request which begins with us. */
  maxForwards: number
  /** The caller's leg, if this call forwards its call. */
  callerLegId: string | undefined
  /** Header fields of the caller's INVITE that go into those of calls which forward it. */
  onward: HeaderFields
  /** User-to-user information of the other party, from its answer or BYE, for our answer, refusal or BYE. */
  returned: HeaderFields
  /** The call has been sent on too often: its caller is refused so, unless it was answered. */
  isOutOfHops: boolean
  /** The ways over which our call may be placed; null: an inbound call, or not known yet. */
  ways: Ways | null
  way: Way | null
  /** The room that it enters when its audio starts; null once it has been answered with it. */
  room: RoomSpec | null
  /** Beside its connection, until it has had a turn of it. Absent: nothing more. */
  pace?: Rate
  /** The caller has requested privacy (RFC 3323). */
  isPrivate: boolean
  /** Its early media; null: none, or it is answered. */
  early: Early | null
  /** Its audio as last negotiated; null: it is not answered. */
  media: LegMedia | null
  /** What networks have said about audio before the answer (RFC 5009), and the description that waits for their permission. */
  earlyMedia: 'allowed' | 'denied' | null
  deniedEarly: Body | null
  /** The caller's offer, until it is answered. */
  offer: Body | null
  /** Source of its signalling; null: our call has not been answered yet. */
  peer: Peer | null
  /** The caller's support of reliable provisional responses. */
  reliability: ReliabilityOfCaller
  /** A caller's audio is being opened, before the answer or with it. */
  opening: Promise<void> | null
  /** Control has answered a caller whose 200 waits for a PRACK. */
  isAnswering: boolean
  /** Its caller has been told that it rings: control has judged it. */
  isRung: boolean
  /** The caller's digest credentials; null: none. */
  digest: DigestResponse | null
  /** Whether they were right; absent: not verified. */
  isProven?: boolean
  /** The signatures of the caller's INVITE; null: the call is ours. */
  signed: Pick<Signed, 'signatures' | 'date'> | null
  /** Our session ID in descriptions. */
  sdpId: string
  /** The last description that we sent (RFC 3264 §8). */
  description: Uint8Array | null
  /** Payload types that the far end has named so far (RFC 3264 §8.3.2). */
  theirs: readonly PayloadFormat[]
  held: boolean
  /** We have put it on hold. */
  onHold: boolean
  /** The agreement or refusal in our last description that is still to be reported; null: none. */
  told: 'sendrecv' | 'sendonly' | null
  /** Our re-INVITE that waits for its answer. */
  asked: { direction: Line['told']; before: Uint8Array | null; isRepeated: boolean } | null
  /** Why we ended it, when we did. */
  endReason: EndedReason | null
  /** What another phone that rang with it has said: it stands for the word that this one never says; null: nothing yet. */
  besides: { reason: EndedReason; status: number } | null
  /** The far end's reason for the end; null: it has not ended it. */
  cause: LegCause | null
  /** The status that we refused its INVITE with. */
  refusedWith: number | null
  timer: NodeJS.Timeout | undefined
  /** When its answer was told, on the monotonic clock [ms]; null: it never was. */
  answeredMs: number | null
  /** Resolves once its end is reported; null: it has not ended. */
  ending: Promise<void> | null
}

/** Audio before the answer. */
export interface Early {
  /** The agreement; null: our offer is not answered yet. */
  media: NegotiatedMedia | null
  /** A PRACK has brought the last description, or its answer has taken ours: the 200 says nothing new (RFC 3262 §5). */
  isSettled: boolean
}

/** Inputs of our descriptions of a line. */
export type Described = Pick<
  Line,
  'codecs' | 'own' | 'port' | 'dtmf' | 'srtp' | 'ice' | 'ssrc' | 'isWebRtc' | 'media' | 'early'
>

export const isOver = (line: Line): boolean => line.state === 'ended'

/**
 * What we offer and accept for a line.
 *
 * @param fingerprint of our certificate, SHA-256; null: there is no DTLS
 */
export const capabilitiesOf = (line: Described, fingerprint: string | null): Capabilities => ({
  codecs: line.codecs.map(name => CODECS[name]),
  telephoneEvent: line.dtmf === 'auto' || line.dtmf === 'rfc4733',
  host: line.own!.advertised,
  port: line.port,
  rtcpMux: true,
  srtp: { policy: line.srtp, random: randomBytes },
  ...(fingerprint === null
    ? {}
    : {
        dtls: {
          fingerprint: { hash: 'sha-256', value: fingerprint },
          role: (line.media ?? line.early?.media)?.dtls?.role ?? null,
          tlsId: (line.media ?? line.early?.media)?.dtls?.tlsId ?? null,
          ice: line.ice,
          ssrc: line.ssrc,
          codecs: [OPUS],
          isWebRtc: line.isWebRtc,
        },
      }),
})

/** Whether this peer may have us send to a host. */
export type MayReach = (peer: Peer | null, host: string) => boolean

/** The result of SDP in the engine's terms. */
export const legMediaOf = (
  media: NegotiatedMedia,
  { dtmf, peer, ice }: Pick<Line, 'dtmf' | 'peer' | 'ice'>,
  mayReach: MayReach,
): LegMedia => ({
  codec: nameOf(media.codec),
  payloadType: media.payloadType,
  receivePayloadTypes: media.receivePayloadTypes,
  otherPayloadTypes: media.otherPayloadTypes,
  ptimeMs: media.ptimeMs,
  comfortNoise: media.comfortNoisePayloadType,
  telephoneEvent: { send: media.telephoneEventPayloadType, receive: media.receiveTelephoneEventPayloadType },
  remote: {
    host: media.remoteHost,
    port: media.remotePort,
    rtcpHost: media.remoteRtcpHost,
    rtcpPort: media.remoteRtcpPort,
    rtcpMux: media.rtcpMux,
    signallingHost: peer?.host ?? null,
    isReachable: mayReach(peer, media.remoteHost),
    // A name that leads nowhere: reports go beside the audio.
    isRtcpReachable: isIP(media.remoteRtcpHost) !== 0 && mayReach(peer, media.remoteRtcpHost),
  },
  direction: media.direction,
  dtmf,
  srtp: media.srtp,
  dtls: media.dtls === null ? null : dtlsMediaOf(media.dtls, ice),
})

const dtlsMediaOf = (
  { role, fingerprint, tlsId, ufrag }: NonNullable<NegotiatedMedia['dtls']>,
  local: IceCredentials,
): DtlsMedia => ({
  role,
  fingerprint,
  tlsId,
  ice: ufrag === null ? null : { local, remote: { ufrag } },
})

/** What is offered next to who has refused this: somebody who insists on encryption of one kind may refuse all others. */
const STRICTER: Record<SrtpPolicy, SrtpPolicy | null> = {
  off: null,
  optional: 'required',
  required: 'dtls',
  dtls: null,
}

/** How audio is to be encrypted when a call is placed once more after this refusal; null: it is not placed once more. */
export function stricterAfter({ way, srtp, isWebRtc, early, endReason }: Line, status: number): SrtpPolicy | null {
  const isAboutMedia = status === statusOfReason('codec_mismatch') && way !== null && !isWebRtc
  return isAboutMedia && early === null && endReason === null ? STRICTER[srtp] : null
}

/** A URI as the channel writes it. */
export function partyOf(uri: string): SipParty {
  const parsed = parseUri(uri)
  if ('error' in parsed || parsed.scheme === 'other') return { uri, user: '', host: '' }
  const host = parsed.scheme === 'tel' ? '' : parsed.host
  // Carriers add `;npdi;rn=…`, `;cpc=…` and `;phone-context=…` to numbers without saying `user=phone`.
  const isNumber =
    parsed.scheme === 'tel' ||
    uriParam(parsed, 'user')?.toLowerCase() === 'phone' ||
    /^\+[^;]*;|;phone-context=\+/i.test(userOf(parsed) ?? '')
  const number = isNumber ? dialledNumber(parsed) : null
  return { uri, user: number ?? userOf(parsed) ?? '', host }
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

/** With which status a call is refused that was not answered, by why it ends (RFC 3261 §21). */
const STATUS_OF: Partial<Record<EndedReason, number>> = {
  busy: 486,
  not_found: 404,
  rejected: 603,
  codec_mismatch: 488,
  capacity: 503,
  store_unavailable: 503,
  shutdown: 503,
  internal_error: 500,
  media_failed: 500,
  trunk_error: 500,
}

/**
 * Refusals that mean the same to a caller whose call we forward. Others concern our own request: its credentials, extensions, route or
 * description (RFC 3261 §16.7). A 503 would mean that we are unavailable, and divert other calls, so it becomes a 500.
 */
const PASSED_ON: ReadonlySet<number> = new Set([
  403, 404, 408, 410, 480, 484, 486, 488, 500, 501, 502, 504, 600, 603, 604, 606, 607, 608,
])

/** The status for the caller; null: it is not passed on. */
export const passedOn = (status: number | null): number | null =>
  status !== null && PASSED_ON.has(status) ? status : null

export const statusOfReason = (reason: EndedReason): number => STATUS_OF[reason] ?? 480

/** For a leg without an engine thread. */
export const NO_AUDIO: LegAudio = {
  roomId: null,
  muted: false,
  deaf: false,
  onHold: false,
  collecting: false,
  playing: false,
  quality: NO_QUALITY,
  voice: null,
}
