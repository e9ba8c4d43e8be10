import type { AddressPolicy } from './addresses.ts'

/** Why a leg ended; the API's `ended_reason` (api-additions.md, "Calls"). */
export type EndedReason =
  | 'caller_hangup'
  | 'agent_hangup'
  | 'api_hangup'
  | 'assistant_ended'
  /** It was played to its end. */
  | 'announcement_ended'
  | 'transfer_completed'
  /** Of one of several devices that rang at once: another was first. */
  | 'answered_elsewhere'
  | 'no_answer'
  | 'busy'
  | 'rejected'
  | 'not_found'
  | 'rtp_timeout'
  | 'session_expired'
  | 'max_duration'
  | 'codec_mismatch'
  | 'capacity'
  | 'trunk_error'
  | 'media_failed'
  /** Its node has died, or was cut off, and others have ended it. */
  | 'node_lost'
  /** The database could not be written when the call came. */
  | 'store_unavailable'
  | 'internal_error'

/** One end of a SIP request, as the wire had it. */
export interface SipParty {
  uri: string
  user: string
  host: string
}

export type CodecName = 'PCMU' | 'PCMA'
/**
 * How keys go over a leg, both ways. `auto`: RFC 4733 where SDP agreed on it, else as tones, and INFO is understood; the others: that
 * way alone.
 */
export type DtmfMode = 'auto' | 'rfc4733' | 'inband' | 'info'
/** Whether a leg's packets are encrypted. `off`: never; `required`: always, or there is no call; `optional`: where the far end can. */
export type SrtpPolicy = 'off' | 'optional' | 'required'
export type SipTransport = 'udp' | 'tcp' | 'tls'

/** `sip`: what a SIP leg is dialled with. */
export interface DialTarget {
  /** Request-URI, for example `sip:200@192.0.2.7:5070`. */
  uri: string
  from: { uri: string }
  /** Next hop when it is not the URI's own host. */
  via: { host: string; port: number; transport: SipTransport } | null
  /** Who named it may lead us to public addresses only, and to the private networks that an operator allows. */
  publicOnly: boolean
  credentials: { username: string; password: string } | null
  codecs: CodecName[]
  /** Absent: `auto`. */
  dtmf?: DtmfMode
  /** Absent: `optional` over TLS, which keeps the keys secret, else `off`. */
  srtp?: SrtpPolicy
}

/** A softphone: whose it is, and what stays the same when it comes back. */
export interface PhoneIdentity {
  agent: string
  device: string
}

/** `browser`: the softphone or page that is connected under this ID (`browser.connected`); it rings there. */
export interface BrowserTarget {
  browserId: string
  /** What the page shows while it rings: who calls, for which queue; at most 4 KiB. */
  info?: Record<string, unknown>
}

/** A room of the media engine: who is in it hears each other. Created by the first leg that enters, gone with the last. */
export interface RoomSpec {
  /** The call's ID; for a conference the session's call ID. */
  roomId: string
  /** `call`: all hear each other. `conference`: the same with chimes and without key relay. `echo`: each hears itself. */
  kind: 'call' | 'conference' | 'echo'
  /** Tell the members by a chime that somebody came or went. */
  chimes: boolean
  /** A member who is alone hears music on hold. */
  musicWhenAlone: boolean
  maxMembers: number
  /** Begins with the room, from its first sample on. Absent: nothing does. */
  capture?: RoomCapture
}

/** What is kept of a room from its first sample on. */
export interface RoomCapture {
  recordingId: string | null
  /** The recording's file is encrypted. */
  encrypted?: boolean
  transcript: { transcriptId: string; language: string | null } | null
  streams?: StreamSpec[]
}

/** Something that can be heard. */
export type PlaySource =
  /**
   * A recorded phrase of the product: the name of a file in `fixtures/prompts`. `language`: BCP 47; absent, or one in which there is no
   * such recording: English.
   */
  | { kind: 'prompt'; name: string; language?: string }
  /** A WAV file, mono or more, any rate of `codecs/wav.ts`. */
  | { kind: 'file'; path: string }
  | { kind: 'music' }
  | { kind: 'tone'; name: 'ringback' | 'busy' | 'beep' }
  | { kind: 'silence'; ms: number }
  /**
   * Text to speech, sentence by sentence. `voice`: a name of the engine's; null, or one that it does not have: its default.
   * `language`: BCP 47, null: English.
   * `speed`: 1, or absent: as the voice speaks; 2: twice as fast.
   * `recorded`: prompts that say the same, one after the other, for when no engine speaks it.
   */
  | {
      kind: 'speech'
      text: string
      voice: string | null
      language: string | null
      speed?: number
      recorded?: string[]
    }

/** How a leg is listened to: voice activity, and what was said. Nothing is heard in a card-payment pause. */
export interface ListenSpec {
  listenId: string
  /** BCP 47; null: English. */
  language: string | null
  /** Silence that ends what is said [ms]. */
  endOfSpeechMs: number
  /** What is longer is cut here and given out as it is [ms]. */
  maxUtteranceMs: number
  /** Voice while something is played to the leg silences it within one frame; null: it plays on. */
  bargeIn: BargeIn | null
}

export interface BargeIn {
  /** Voice of this length declares it [ms]. */
  afterMs: number
  /** What was played goes on when the utterance turns out to be no words, or one of `backChannels` (`mm-hm`, `yes`). */
  resume: boolean
  backChannels: string[]
}

/** What was said, and when its parts were ready. */
export interface Utterance {
  text: string
  /** Of the first and last voice, ISO-8601 UTC. */
  startedAt: string
  endedAt: string
  /** From the last voice until the silence was long enough [ms]. */
  endpointMs: number
  /** What the transcription took after that [ms]. */
  transcribeMs: number
  /** It silenced what was being played. */
  bargedIn: boolean
  /** What had been silenced goes on: a false alarm, nothing to react to. */
  resumed: boolean
  /** Which engine understood it: `moonshine`, or the remote model's name. */
  engine: string
}

export interface Quality {
  /** `L16`: linear, of a browser. */
  codec: CodecName | 'L16' | null
  packetsReceived: number
  packetsSent: number
  packetsLost: number
  /** Lost share of the expected packets [%]. */
  lossPct: number
  /** Interarrival jitter, RFC 3550 §6.4.1 [ms]. */
  jitterMs: number
  /** From RTCP; null before the first report with a round trip in it [ms]. */
  roundTripMs: number | null
  /** Estimate by the E-model, 1 to 4.5; null: nothing was heard. */
  mos: number | null
}

export interface LegSnapshot {
  legId: string
  direction: 'inbound' | 'outbound'
  /** `incoming`: waiting for `leg.answer` or `leg.reject`. */
  state: 'incoming' | 'dialing' | 'ringing' | 'answered' | 'ended'
  to: SipParty
  roomId: string | null
  muted: boolean
  deaf: boolean
  /** We have put it on hold. */
  onHold: boolean
  collecting: boolean
  playing: boolean
  quality: Quality
}

export interface CaptureState {
  paused: boolean
  reason: string | null
  /** ISO-8601 UTC. */
  pausedAt: string | null
  resumesAt: string | null
  destinationLegId: string | null
  maskDtmf: boolean
}

/** The capture pause that a payment line brings with it. */
export interface PaymentPause {
  maxSeconds: number
  reason: string
  maskDtmf: boolean
}

/** What a capture pause, a stream or a recording is attached to: one party's leg, or all of a room. */
export type Target = { legId: string } | { roomId: string }

export type StreamTracks = 'inbound' | 'outbound' | 'both'
export type StreamFormat = 'mulaw_8000' | 'l16_8000' | 'l16_16000'
export type StreamStatus = 'connecting' | 'streaming' | 'stalled' | 'reconnecting' | 'stopped' | 'failed'
export type StreamEndedReason = 'call_ended' | 'stopped' | 'receiver_closed' | 'connect_failed'

export interface StreamSnapshot {
  streamId: string
  status: StreamStatus
  framesSent: number
  framesDropped: number
  endedReason: StreamEndedReason | null
}

export interface StreamSpec {
  streamId: string
  target: Target
  url: string
  tracks: StreamTracks
  format: StreamFormat
  customParameters: Record<string, string>
  /** `start.accountSid`: the organisation's ID. */
  accountSid: string
  /** `start.callSid`. */
  callSid: string
  /** `whsec_…`, signs the upgrade request (Standard Webhooks). */
  signingSecret: string
  addresses: AddressPolicy
}

export interface RecordingInfo {
  /** The recorded call's ID. */
  recordingId: string
  /** File name inside the data directory's `recordings/`. */
  file: string
  sampleRateHz: number
  durationMs: number
  /** Of the WAV file, also where what lies on the disk is encrypted. */
  sizeBytes: number
  encrypted?: boolean
  /** One channel for each participant, in the file's order; null: what the product itself played. */
  channels: { legId: string | null }[]
  /** Stretches of silence put there by a capture pause, or by `recording.pause`. */
  segments: { fromMs: number; toMs: number; reason: string }[]
}

/** A far end that media keeps up with until it is not in `connections.set` any more. */
export interface ConnectionSpec {
  connectionId: string
  /** `register`: there, as `from`. `ping`: asks it by OPTIONS whether it is there. */
  keep: 'register' | 'ping'
  /** Request-URI. */
  uri: string
  /** From, and the address-of-record that is registered. */
  from: string
  via: { host: string; port: number; transport: SipTransport }
  credentials: { username: string; password: string } | null
  /**
   * User part of the Contact that a registration leaves. Nobody else can know it, so that a call to it is one of this
   * connection (`leg.incoming.connectionId`).
   */
  contactUser: string
}

/** What is known of a far end; `sipCode`: what it said, or 408 and 503 for what it did not. */
export interface ConnectionReport {
  connectionId: string
  status: 'registered' | 'reachable' | 'unreachable'
  sipCode: number | null
}

export interface MediaSnapshot {
  /** Events up to this number are already contained in the snapshot. */
  seq: number
  legs: LegSnapshot[]
  rooms: { roomId: string; legIds: string[] }[]
  captures: { target: Target; state: CaptureState }[]
  streams: StreamSnapshot[]
  recordings: { recordingId: string }[]
  /** Pages that are connected. */
  browserIds: string[]
}

/** Counters since the media process started, by Prometheus-style name, and gauges. */
export interface MediaStats {
  counters: Record<string, number>
  gauges: Record<string, number>
}
