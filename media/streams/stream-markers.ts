/**
 * What the receiver has read.
 *
 * That the kernel took a message says nothing: on loopback it swallows minutes of audio before a write has to wait, and a receiver
 * that stalls would lose nothing and hear all of it late. So "waiting", of which a track may have 2 s, means not yet read by the
 * receiver: a ping is sent behind a frame, and its pong proves that the receiver's WebSocket has read all that was sent before
 * (RFC 6455 §5.5.3). Such a ping is a read marker.
 *
 * | Constant | Value | Why |
 * | --- | --- | --- |
 * | frames that wait per track, read markers included | 100 | 2 s (`stream-queue`) |
 * | of them in the socket | 2.5 round trips + 5, from 10 to 90 | a frame in the socket can no longer be dropped, so few; but enough that a healthy path is never held up: a marker confirms a frame at the latest two round trips after it was sent |
 * | markers under way | 1 | |
 * | frames of a track from one marker to the next | 5 | 100 ms; each is a ping and a pong to handle |
 * | round trips that the window follows | the shorter of the last 2 | a stall makes one pong late, a longer path makes all |
 * | of them in the socket, besides | what the receiver reads in 1 s, from 5 on | what it reads slowly is old when it is read; the faster of the last 2 rates counts |
 *
 * In consequence:
 * - A stall of 5 s drops 150 frames of each track, and up to 4 more that were read but that no marker had confirmed when it began.
 * - Behind a stall a receiver finds what stood in the socket when it began, 10 frames on a short path, then audio of the last 2 s.
 * - Nothing is lost on a path with a round trip of up to 900 ms, nor when it rises from 10 to 600 ms.
 * - A receiver that keeps reading too slowly looks like a long path by its pongs, but not by its rate: it gets few frames, and young ones.
 */
import { FRAME_MS } from '../../codecs/audio.ts'

/** Frames of a track that may be in the socket unread, whatever the path. */
const NARROWEST = 10
/** Leaves ten of the frames that may wait where the oldest of them can still be dropped. */
const WIDEST = 90
const FRAMES_PER_MARKER = 5
const ROUND_TRIPS = 2.5
/** Of what the receiver reads, this much may be in the socket [ms]. */
const MAX_UNREAD_MS = 1000
const MARGIN = 5

/** The read markers of one connection after the other. */
export class ReadMarkers {
  /** Frames of a track that may be in the socket unread. */
  window = NARROWEST
  /** Number of the ping that is under way as a marker; 0 when none is. */
  #under = 0
  #sentAt = 0
  #lastMs = 0
  #lastButOneMs = 0
  /** Frames a millisecond that the receiver has read between the last pongs; Infinity: not known yet. */
  #rate = Infinity
  #lastRate = Infinity
  #answeredAt = 0

  /** Since when the marker that is under way has not been answered [ms]; Infinity: none is. */
  get unansweredSince(): number {
    return this.#under === 0 ? Infinity : this.#sentAt
  }

  /** A connection has opened. `roundTripMs`: a first estimate. */
  reset(roundTripMs: number): void {
    this.#under = 0
    this.#rate = Infinity
    this.#lastRate = Infinity
    this.#answeredAt = Number.NEGATIVE_INFINITY
    this.#lastMs = roundTripMs
    this.#measured(roundTripMs)
  }

  /** `unmarked`: the most frames that a track has handed over behind the last marker. */
  isDue(unmarked: number): boolean {
    return this.#under === 0 && unmarked >= FRAMES_PER_MARKER
  }

  /** The ping of this number is a marker. */
  sent(ping: number, now: number): void {
    this.#under = ping
    this.#sentAt = now
  }

  /**
   * Whether the pong answers the marker. `read`: the most frames of a track that it confirms. A later ping's does too: a receiver that finds several pings may answer the last one only.
   * A receiver that makes up numbers claims to have read more than it has, at its own cost.
   */
  answered(ping: number, read: number, now: number): boolean {
    if (this.#under === 0 || ping < this.#under) return false
    this.#under = 0
    this.#lastRate = this.#rate
    // Of a receiver that waits for us nothing is learnt but that it was fast enough.
    this.#rate = read / Math.max(1, now - Math.max(this.#sentAt, this.#answeredAt))
    this.#answeredAt = now
    this.#measured(now - this.#sentAt)
    return true
  }

  #measured(roundTripMs: number): void {
    this.#lastButOneMs = this.#lastMs
    this.#lastMs = roundTripMs
    const frames = Math.ceil((ROUND_TRIPS * Math.min(this.#lastMs, this.#lastButOneMs)) / FRAME_MS) + MARGIN
    const readable = Math.max(FRAMES_PER_MARKER, Math.floor(Math.max(this.#rate, this.#lastRate) * MAX_UNREAD_MS))
    this.window = Math.min(readable, Math.max(NARROWEST, Math.min(WIDEST, frames)))
  }
}
