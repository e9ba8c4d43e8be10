import type { CodecName, Target } from './parts.ts'

/** One end of a SIP request, as the wire had it. */
export interface SipParty {
  uri: string
  user: string
  host: string
}

/** What was said, and when its parts were ready. */
export interface Utterance {
  text: string
  /** Of the first and last voice, ISO-8601 UTC. */
  startedAt: string
  endedAt: string
  /** The same by the clock of the leg's engine, which nobody sets [ms]. */
  endedClockMs: number
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

export type StreamStatus = 'connecting' | 'streaming' | 'stalled' | 'reconnecting' | 'stopped' | 'failed'
export type StreamEndedReason = 'call_ended' | 'stopped' | 'receiver_closed' | 'connect_failed'

export interface StreamSnapshot {
  streamId: string
  status: StreamStatus
  framesSent: number
  framesDropped: number
  endedReason: StreamEndedReason | null
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
