import type { StreamFormat } from '../../media/protocol.ts'
import type { Percentiles } from './histogram.ts'

/** Where the legs of a load send to. */
export type LoadTarget =
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
  /** Mean of what packets are late by [ms]; 0: a calm network. */
  jitterMs: number
  /** The calls' audio is encrypted (SDES). */
  isEncrypted: boolean
  /** What is due in so long leaves together [ms]; absent: `TURN_MS`. Longer where the legs are there beside what is measured, and leave it more of the cores. */
  turnMs?: number
}

export type ToLoad =
  | { type: 'prepare'; plan: LoadPlan }
  /** Measures from now on; may come several times. */
  | { type: 'measure'; seconds: number }
  /** Hangs up and leaves. */
  | { type: 'finish' }

export type FromLoad =
  /** All calls are up and talk. Leg i called as `load-<i>`. `streamPort`: of the receiver; leg i's path is `/<i>`. */
  | { type: 'ready'; streamPort: number | null }
  | { type: 'began' }
  /** The last frame of the measurement was sent; what is on its way is still waited for. */
  | { type: 'ended' }
  | { type: 'measured'; result: LoadResult }
  | { type: 'failed'; message: string }

export interface LoadResult {
  /** How long the load sent [s]. */
  seconds: number
  packetsSent: number
  packetsReceived: number
  /** Gaps in the sequence numbers of what came back. */
  packetsMissing: number
  /** Packets that came more than 20 ms behind the earliest of their leg. */
  packetsLate: number
  /** Packets that came more than 40 ms after the one before them of their leg: a phone's buffer that small runs dry. */
  packetsAfterGap: number
  /** Frames with a mark that were said, times those who should hear them. */
  framesExpected: number
  framesHeard: number
  framesDoubled: number
  /** Frames of which a part was left out or said twice, as the far end changed its delay: all the rest is as it was said. */
  framesJoint: number
  /** Frames that came, but not as they were said, in any other way. */
  framesBroken: number
  /** Frames that their own speaker heard. */
  framesOwn: number
  /** Frames that were heard in another room. */
  framesStray: number
  /** The first of them, and of the broken ones. */
  strays: Stray[]
  /** RTP in to RTP out, of the same sample [ms]. */
  latencyMs: Percentiles | null
  /** How much faster the far end's timestamps run than our clock, median over the legs [ppm]. */
  driftPpm: number | null
  streams: StreamResult | null
  /** How late the load itself sent [ms]: what it measures is no better than this. */
  paceLagMs: Percentiles | null
  /** Of the load itself [ms per s]. */
  ownCpuMs: number
}

/** A mark that was read in another room than it was said in, or that is broken: what is needed to tell a leak from a misreading. */
export interface Stray {
  /** Who heard it, in which packet. */
  leg: number
  sequence: number
  timestamp: number
  /** What was read; null: it is broken. `ageMs`: how long ago the leg that was read would have said it; a leak is of the last moments. */
  mark: { leg: number; frame: number; ageMs: number } | null
  /** Where it begins in the newest frame [samples]. */
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
  /** RTP in to WebSocket out [ms]. */
  latencyMs: Percentiles | null
  /** The same from the slot in which the frame is played, both tracks being complete then [ms]. */
  slotDelayMs: Percentiles | null
}
