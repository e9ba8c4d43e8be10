import { FRAME_MS, type Frame } from '../../codecs/audio.ts'
import type { Resampler } from '../../codecs/resample.ts'
import type { Track } from '../rooms/sink.ts'
import type { Wire } from './stream-connection.ts'
import { ReadMarkers } from './stream-markers.ts'
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

/**
 * What a media stream has to send: the frames of its tracks and the keys, in one order, and the handing to the connection that is
 * open. Audio waits here, not in the socket: a message goes to the wire only when the kernel has taken the one before it and the
 * receiver has read all but a few (`stream-markers`), so that a receiver that does not read costs 100 frames per track and
 * nothing else. The slot counter is the stream's clock: it moves when a track writes its next frame, and both tracks' timestamps
 * come from it.
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

  /** Since when the receiver has not read what it was sent [ms]; Infinity: it has. */
  get unreadSince(): number {
    return this.#wire === null ? Infinity : Math.min(this.#markers.unansweredSince, this.#fullSince)
  }

  /** Takes one frame of 20 ms at 8 kHz; a track that the stream does not carry is ignored. */
  write(track: Track, frame: Frame): void {
    const to = track === 'inbound' ? this.#inbound : this.#outbound
    if (to === null) return
    if (to.slot === this.#slot) {
      this.#wire?.look?.()
      // The other track has left the slot out; what waits for it must not wait longer.
      if (!this.#slotComplete()) this.pump()
      this.#slot++
    }
    to.slot = this.#slot
    to.write(frame, ++this.#order, this.#slot * FRAME_MS, this.#ports.now())
    if (this.#slotComplete()) this.pump()
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
  pump(): boolean {
    const wire = this.#wire
    if (wire === null) return false
    this.#inbound?.expire(this.#ports.now())
    this.#outbound?.expire(this.#ports.now())
    while (wire.buffered() === 0) {
      this.#fullSince = Infinity
      this.#inbound?.taken()
      this.#outbound?.taken()
      if (this.#nextOrder() === Infinity) return true
      if (this.#isHeldUp()) return false
      wire.cork()
      this.#sendNext(wire)
      if (!this.#isHeldUp()) this.#sendNext(wire)
      if (this.#isHeldUp()) this.#mark(wire)
      wire.uncork()
    }
    if (this.#fullSince === Infinity) this.#fullSince = this.#ports.now()
    return false
  }

  /** Says `stop` to the receiver that is connected. What the wire still holds goes out before it if anything does: it counts as sent. */
  finish(): void {
    this.#inbound?.taken()
    this.#outbound?.taken()
    this.#wire?.send(stopMessage(this.#stream, ++this.#sequence))
  }

  /** What still waits is dropped. Idempotent. */
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

  /** Nothing waits, or the next frame has to until the receiver has read more; what comes behind it keeps its place. */
  #isHeldUp(): boolean {
    const order = this.#nextOrder()
    if (order === Infinity) return true
    if (this.#inbound?.headOrder === order) return this.#inbound.unread >= this.#markers.window
    return this.#outbound?.headOrder === order && this.#outbound.unread >= this.#markers.window
  }

  /** Sends a read marker if it is time for one: behind a burst, not within, so that it confirms all of it. */
  #mark(wire: Wire): void {
    if (!this.#markers.isDue(Math.max(this.#inbound?.unmarked ?? 0, this.#outbound?.unmarked ?? 0))) return
    this.#markers.sent(wire.ping(), this.#ports.now())
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
