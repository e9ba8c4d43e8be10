import type { RedirectReason } from './identity.ts'
import type { CodecName, Target } from './parts.ts'

/** One end of a SIP request, as the wire had it. */
export interface SipParty {
  uri: string
  user: string
  host: string
}

/** Caller identity in an INVITE besides From; not verified. */
export interface ClaimedIdentity {
  /** Display name of From; null: none. */
  displayName: string | null
  asserted: (SipParty & { displayName: string | null })[]
  /** Values of Privacy (RFC 3323 §4.2). */
  privacy: string[]
  /** Whom the call was for before, the latest first. */
  redirects: { party: SipParty; reason: RedirectReason; count: number; isPrivate: boolean }[]
}

/** The words, and when their parts were ready. */
export interface Utterance {
  text: string
  /** Times of the first and last voice, ISO-8601 UTC. */
  startedAt: string
  endedAt: string
  /** The same by the clock of the leg's engine, which nobody sets [ms]. */
  endedClockMs: number
  /** From the last voice until the silence was long enough [ms]. */
  endpointMs: number
  /** Duration of the recognition after that [ms]. */
  transcribeMs: number
  /** It interrupted what was being played. */
  bargedIn: boolean
  /** Silenced playback resumes: a false alarm, nothing to react to. */
  resumed: boolean
  /** Which engine understood it: `moonshine`, or the remote model's name. */
  engine: string
}

/** The figures of a leg that is still there. */
export interface LegFigures {
  legId: string
  quality: Quality
}

export interface Quality {
  /** `L16`: linear, of a browser. */
  codec: CodecName | 'L16' | null
  packetsReceived: number
  packetsSent: number
  packetsLost: number
  /** Came too late to be played, or found no room. */
  packetsLate: number
  /** Lost share of the expected packets [%]. */
  lossPct: number
  /** Share of the frames that were made up because none was there [%]. */
  concealedPct: number
  /** Mean length of the losses against that of random ones (ITU-T G.107 §7.5); 1: they are random. */
  burstRatio: number
  /** Interarrival jitter, RFC 3550 §6.4.1 [ms]. */
  jitterMs: number
  /** From RTCP; null before the first report with a round trip in it [ms]. */
  roundTripMs: number | null
  /** From the far end's mouth to here, as far as it is known: half of the round trip, the jitter buffer, a packet [ms]. */
  delayMs: number
  /** How much faster than ours its clock is [ppm]; null: not known yet. */
  driftPpm: number | null
  /** Estimate by the E-model (ITU-T G.107) of delay, lost and late packets, 1 to 4.5; null: nothing was heard. */
  mos: number | null
}

/** The audio half of a leg. */
export interface LegAudio {
  roomId: string | null
  muted: boolean
  deaf: boolean
  /** We have put it on hold. */
  onHold: boolean
  collecting: boolean
  playing: boolean
  quality: Quality
  /** Whether it speaks, and how loud others hear it [dBov]; null: nobody wants to know. */
  voice: { isSpeaking: boolean; levelDbov: number } | null
}

export interface LegSnapshot extends LegAudio {
  legId: string
  direction: 'inbound' | 'outbound'
  /** `incoming`: waiting for `leg.answer` or `leg.reject`. */
  state: 'incoming' | 'dialing' | 'ringing' | 'answered' | 'ended'
  to: SipParty
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

export const NOT_PAUSED: CaptureState = Object.freeze({
  paused: false,
  reason: null,
  pausedAt: null,
  resumesAt: null,
  destinationLegId: null,
  maskDtmf: false,
})

export type StreamStatus = 'connecting' | 'streaming' | 'stalled' | 'reconnecting' | 'stopped' | 'failed'
export type StreamEndedReason = 'call_ended' | 'stopped' | 'receiver_closed' | 'connect_failed'

export interface StreamSnapshot {
  streamId: string
  status: StreamStatus
  framesSent: number
  framesDropped: number
  /** Audio of a bidirectional stream's receiver [frames of 20 ms]. */
  framesReceived: number
  /** Of these, the part without room. */
  framesRefused: number
  endedReason: StreamEndedReason | null
  /** What the last try to connect met, if the receiver could not be reached. */
  endedDetail?: string
}

export interface RecordingInfo {
  /** The recorded call's ID. */
  recordingId: string
  /** File name inside the data directory's `recordings/`. */
  file: string
  sampleRateHz: number
  durationMs: number
  /** Size of the WAV file, also if it is encrypted on disk. */
  sizeBytes: number
  encrypted?: boolean
  /** One channel for each participant, in the file's order; null: what the product itself played. */
  channels: { legId: string | null }[]
  /** Stretches of silence put there by a capture pause, or by `recording.pause`. */
  segments: { fromMs: number; toMs: number; reason: string }[]
}

/** Why a leg ended, as whoever ended it said (RFC 3326, ITU-T Q.850). */
export interface LegCause {
  /** Cause of the telephone network: as sent, or derived from the SIP status (RFC 3398). Null: none. */
  q850: number | null
  /** The SIP cause in a Reason header, such as 200 for `Call completed elsewhere`. */
  sip: number | null
  /** The far end's words. */
  text: string | null
  by: 'far_end' | 'tandem'
}

/**
 * State of a far end. `sipCode`: its answer, or 408 and 503 without one. `serviceRoute`: the route for calls that its registrar wants, for
 * `DialTarget.route` (RFC 3608); absent: none.
 */
export interface ConnectionReport {
  connectionId: string
  status: 'registered' | 'reachable' | 'unreachable'
  sipCode: number | null
  serviceRoute?: readonly string[]
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
  /** REFERs, of far ends and ours, that are not over. */
  refers: { referId: string; legId: string }[]
}

/** Counters since the media process started, by Prometheus-style name, and gauges. Those of one engine thread have a label, one thread behind the other. */
export interface MediaStats {
  counters: Record<string, number>
  gauges: Record<string, number>
  /** Distributions since the start, by complete name without prefix. */
  histograms: Record<string, MediaHistogram>
}

/**
 * Counts by upper bound: from above the previous bound up to this one. Values above the last bound are only in `count`.
 */
export interface MediaHistogram {
  bounds: number[]
  counts: number[]
  sum: number
  count: number
}

/** A SIP message as it was received or sent, with its secrets masked. */
export interface SipTraceMessage {
  /** Since 1970 [ms], with fractions. */
  at: number
  isSent: boolean
  transport: string
  local: { host: string; port: number }
  remote: { host: string; port: number }
  /** A Latin-1 character for each octet. */
  text: string
}

/** All that passed for one leg, in order. */
export interface SipLegTrace {
  legId: string
  messages: SipTraceMessage[]
  /** Messages for which there was no room. */
  dropped: number
  /** Headers of its RTP packets, 24 octets each (`media/rtp/packet-headers.ts`), base64; null: nobody wanted them. */
  packets: { local: { host: string; port: number }; remotes: { host: string; port: number }[]; records: string } | null
}
