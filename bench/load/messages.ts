import type { StreamFormat } from '../../media/protocol.ts'
import type { Percentiles } from './histogram.ts'

/** Where the legs of a load send to. */
type LoadTarget =
  /** Leg i calls `sip:<users[i]>@host:port`. */
  | { kind: 'sip'; host: string; port: number; users: string[] }
  /** Leg i sends to `ports[i]`, without signalling. */
  | { kind: 'rtp'; host: string; ports: number[] }

export interface LoadPlan {
  target: LoadTarget
  legs: number
  /** Legs [k·n, (k+1)·n) are in one room; 1: each leg is alone, and streams are measured. */
  roomSize: number
  /** Open a WebSocket receiver for the legs' streams in this format. */
  streams: StreamFormat | null
  /** Mean delay of packets [ms]; 0: none is delayed or overtaken. */
  jitterMs: number
  /** The calls' audio is encrypted (SDES). */
  isEncrypted: boolean
  /** Packets due within this time leave together [ms]; absent: `TURN_MS`. A longer one saves CPU where something else is measured beside these legs. */
  turnMs?: number
}

export type ToLoad =
  | { type: 'prepare'; plan: LoadPlan }
  /** Starts a measurement; may be sent several times. */
  | { type: 'measure'; seconds: number }
  /** Hangs up, and ends the process. */
  | { type: 'finish' }

export type FromLoad =
  /** All legs talk. Leg i has called as `load-<i>`. `streamPort`: where the stream receiver listens; leg i's path is `/<i>`. */
  | { type: 'ready'; streamPort: number | null }
  | { type: 'began' }
  /** The last frame of the measurement was sent; those on their way are still waited for. */
  | { type: 'ended' }
  | { type: 'measured'; result: LoadResult }
  /** `refusedWith`: the status with which one of the calls was refused for good; null: it was something else. */
  | { type: 'failed'; message: string; refusedWith: number | null }

export interface LoadResult {
  /** How long the load sent [s]. */
  seconds: number
  packetsSent: number
  packetsReceived: number
  /** Gaps in the sequence numbers of what came back. */
  packetsMissing: number
  /** Packets that arrived more than 20 ms behind the earliest of their leg, by their timestamps. */
  packetsLate: number
  /** Packets that arrived more than 40 ms after the one before them of their leg: a phone's jitter buffer of 40 ms would run dry. */
  packetsAfterGap: number
  /** Frames with a mark that were said, each counted once for every leg that should hear it. */
  framesExpected: number
  framesHeard: number
  framesDoubled: number
  /** Frames of which the far end left out or repeated a part when it changed its playout delay; the rest is as it was said (`isJoint`). */
  framesJoint: number
  /** Frames that differ in any other way from what was said. */
  framesBroken: number
  /** Frames that their own speaker heard. */
  framesOwn: number
  /** Frames that were heard in another room. */
  framesStray: number
  /** The first stray and broken frames. */
  strays: Stray[]
  /** From the packet that we send to the packet that we receive, of the same sample [ms]. */
  latencyMs: Percentiles | null
  /** How much faster the far end's timestamps run than our clock, median over the legs [ppm]. */
  driftPpm: number | null
  streams: StreamResult | null
  /** How late the load itself sent its packets [ms]: no measurement is more precise than this. */
  paceLagMs: Percentiles | null
  /** How long a packet waited at most before the load looked at it [ms]. What waits for seconds counts as lost. */
  readLagMs: number
  /** CPU of the load itself [ms per s]. */
  ownCpuMs: number
}

/** A mark that was heard in another room than it was said in, or that is broken, with what is needed to tell a leak from a misreading. */
export interface Stray {
  /** The leg that heard it, and the packet. */
  leg: number
  sequence: number
  timestamp: number
  /** The mark; null: it is broken. `ageMs`: how long ago its leg would have said it; for a leak, that is very short. */
  mark: { leg: number; frame: number; ageMs: number } | null
  /** Where it begins, from the beginning of the newest frame [samples]. */
  offset: number
  /** Signs of the samples of the last two frames. */
  signs: string
}

export interface StreamResult {
  open: number
  framesExpected: number
  framesReceived: number
  /** Gaps in `chunk`. */
  framesMissing: number
  /** Frames of the inbound track without a readable mark. */
  framesBroken: number
  /** From the RTP packet that we send to the WebSocket message that we receive [ms]. */
  latencyMs: Percentiles | null
  /** From the beginning of the slot in which the frame is played, when both its tracks are complete, to the WebSocket message [ms]. */
  slotDelayMs: Percentiles | null
}
