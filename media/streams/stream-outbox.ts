import { FRAME_MS, type Frame } from '../../codecs/audio.ts'
import type { Resampler } from '../../codecs/resample.ts'
import type { Track } from '../rooms/sink.ts'
import type { Wire } from './stream-connection.ts'
import { connectedMessage, dtmfMessage, type StreamIdentity, startMessage, stopMessage } from './stream-messages.ts'
import { StreamTrack } from './stream-track.ts'

export interface OutboxPorts {
  /** Monotonic [ms]. */
  now(): number
  /** From 8 to 16 kHz; called once per track of an `l16_16000` stream. */
  resampler(): Resampler
}

/** Keys that may wait; a person presses fewer in the 2 s that audio may wait. The oldest makes room. */
const MAX_WAITING_KEYS = 32

/** Frames of a track that may be in the socket unread, whatever the path. */
const NARROWEST = 10
/** Leaves ten of the frames that may wait where the oldest of them can still be dropped. */
const WIDEST = 90
const FRAMES_PER_MARKER = 5
const ROUND_TRIPS = 2.5
/** How much of what the receiver reads may be in the socket [ms]. */
const MAX_UNREAD_MS = 1000
const MARGIN = 5
/** What else is said waits no longer in the socket: a receiver that asks without reading would have all of it kept for it [bytes]. */
const MAX_UNSENT_BYTES = 16_384

/**
 * The queue of a media stream: the frames of its tracks and the keys, in one order, for the open connection. Audio waits here,
 * not in the socket. A message goes to the wire only when the kernel has accepted the one before it and the receiver has read all
 * but a few (`ReadMarkers`). So a receiver that does not read costs 100 frames per track and nothing else. The slot counter is
 * the stream's clock: it moves when a track writes its next frame, and both tracks' timestamps come from it.
 */
export class StreamOutbox {
  keysDropped = 0
  readonly #stream: StreamIdentity
  readonly #ports: OutboxPorts
  readonly #inbound: StreamTrack | null
  readonly #outbound: StreamTrack | null
  readonly #keys: { key: string; order: number }[] = []
  readonly #markers = new ReadMarkers()
  #wire: Wire | null = null
  /** Since when the kernel takes nothing [ms]; Infinity: it does. */
  #fullSince = Infinity
  #sequence = 0
  #order = 0
  #slot = 0

  constructor(stream: StreamIdentity, ports: OutboxPorts) {
    this.#stream = stream
    this.#ports = ports
    const track = (name: Track): StreamTrack =>
      new StreamTrack(stream.streamId, name, stream.format, stream.format === 'l16_16000' ? ports.resampler() : null)
    this.#inbound = stream.tracks === 'outbound' ? null : track('inbound')
    this.#outbound = stream.tracks === 'inbound' ? null : track('outbound')
  }

  /** Frames that the kernel has taken. */
  get framesSent(): number {
    return (this.#inbound?.sent ?? 0) + (this.#outbound?.sent ?? 0)
  }

  get framesDropped(): number {
    return (this.#inbound?.dropped ?? 0) + (this.#outbound?.dropped ?? 0)
  }

  /** Since when the receiver has unread data [ms]; Infinity: it has none. */
  get unreadSince(): number {
    return this.#wire === null ? Infinity : Math.min(this.#markers.unansweredSince, this.#fullSince)
  }

  /** Takes one frame of 20 ms at 8 kHz; a track that the stream does not carry is ignored. */
  write(track: Track, frame: Frame, now = this.#ports.now()): void {
    const to = track === 'inbound' ? this.#inbound : this.#outbound
    if (to === null) return
    if (to.slot === this.#slot) {
      this.#wire?.look?.()
      // The other track has left the slot out; what waits for it must not wait longer.
      if (!this.#slotComplete()) this.pump(now)
      this.#slot++
    }
    to.slot = this.#slot
    to.write(frame, ++this.#order, this.#slot * FRAME_MS, now)
    if (this.#slotComplete()) this.pump(now)
  }

  /** Takes a key, in order with the audio. */
  dtmf(key: string): void {
    if (this.#keys.length === MAX_WAITING_KEYS) {
      this.#keys.shift()
      this.keysDropped++
    }
    this.#keys.push({ key, order: ++this.#order })
    this.pump()
  }

  /** Something else may be said now. */
  get maySay(): boolean {
    return this.#wire !== null && this.#wire.buffered() < MAX_UNSENT_BYTES
  }

  /** Says something else at once, before what waits. */
  say(message: (sequence: number) => Buffer): void {
    this.#wire?.send(message(++this.#sequence))
  }

  /** Begins on a connection that has opened; what waits goes with the next `pump`. `again`: it is not the first one. */
  attach(wire: Wire, again: boolean, roundTripMs: number): void {
    this.#wire = wire
    this.#sequence = 0
    this.#fullSince = Infinity
    this.#markers.reset(roundTripMs)
    wire.cork()
    wire.send(connectedMessage())
    wire.send(startMessage(this.#stream, ++this.#sequence, again ? { framesDropped: this.framesDropped } : null))
    wire.uncork()
  }

  /** The connection is gone. Idempotent. */
  detach(): void {
    this.#wire = null
    this.#inbound?.lose()
    this.#outbound?.lose()
  }

  /** The receiver has answered the ping of this number. */
  pong(ping: number): void {
    const read = Math.max(this.#inbound?.confirmable ?? 0, this.#outbound?.confirmable ?? 0)
    if (!this.#markers.answered(ping, read, this.#ports.now())) return
    this.#inbound?.read()
    this.#outbound?.read()
  }

  /** Hands over what waits, a message of each track at a time, for as long as may be. True when all is with the kernel. */
  pump(now = this.#ports.now()): boolean {
    const wire = this.#wire
    if (wire === null) return false
    this.#inbound?.expire(now)
    this.#outbound?.expire(now)
    while (wire.buffered() === 0) {
      this.#fullSince = Infinity
      this.#inbound?.taken()
      this.#outbound?.taken()
      if (this.#nextOrder() === Infinity) return true
      if (this.#isHeldUp()) return false
      wire.cork()
      this.#sendNext(wire)
      if (!this.#isHeldUp()) this.#sendNext(wire)
      if (this.#isHeldUp()) this.#mark(wire, now)
      wire.uncork()
    }
    if (this.#fullSince === Infinity) this.#fullSince = now
    return false
  }

  /** Sends `stop` to the connected receiver. What the wire still holds counts as sent: if anything goes out, that goes first. */
  finish(): void {
    this.#inbound?.taken()
    this.#outbound?.taken()
    this.#wire?.send(stopMessage(this.#stream, ++this.#sequence))
  }

  /** Drops what is still waiting. Idempotent. */
  close(): void {
    this.detach()
    this.#inbound?.close()
    this.#outbound?.close()
    this.#keys.length = 0
  }

  #slotComplete(): boolean {
    return (this.#inbound?.slot ?? this.#slot) === this.#slot && (this.#outbound?.slot ?? this.#slot) === this.#slot
  }

  #nextOrder(): number {
    return Math.min(
      this.#inbound?.headOrder ?? Infinity,
      this.#outbound?.headOrder ?? Infinity,
      this.#keys[0]?.order ?? Infinity,
    )
  }

  /** Nothing waits, or the next frame must wait until the receiver has read more; later ones keep their place. */
  #isHeldUp(): boolean {
    const order = this.#nextOrder()
    if (order === Infinity) return true
    if (this.#inbound?.headOrder === order) return this.#inbound.unread >= this.#markers.window
    return this.#outbound?.headOrder === order && this.#outbound.unread >= this.#markers.window
  }

  /** Sends a read marker if it is time for one: behind a burst, not within, so that it confirms all of it. */
  #mark(wire: Wire, now: number): void {
    if (!this.#markers.isDue(Math.max(this.#inbound?.unmarked ?? 0, this.#outbound?.unmarked ?? 0))) return
    this.#markers.sent(wire.ping(), now)
    this.#inbound?.mark()
    this.#outbound?.mark()
  }

  #sendNext(wire: Wire): void {
    const order = this.#nextOrder()
    this.#sequence++
    if (this.#inbound?.headOrder === order) wire.send(this.#inbound.next(this.#sequence))
    else if (this.#outbound?.headOrder === order) wire.send(this.#outbound.next(this.#sequence))
    else wire.send(dtmfMessage(this.#stream, this.#sequence, this.#keys.shift()!.key))
  }
}

/**
 * Read markers, which show what the receiver has read; for one connection after the other.
 *
 * That the kernel accepted a message proves nothing. On loopback it takes minutes of audio before a write has to wait, so a receiver that stalls would lose nothing and hear all of it late. So a frame waits until the receiver has read it, and 2 s
 * of a track may wait. A ping is sent after a frame, and its pong proves that the receiver's WebSocket has read everything before it (RFC 6455 §5.5.3). Such a ping is a read marker.
 *
 * | Constant | Value | Why |
 * | --- | --- | --- |
 * | frames that wait per track, read markers included | 100 | 2 s (`stream-track`) |
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
class ReadMarkers {
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
    // A receiver that waits for us only shows that it was fast enough.
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
