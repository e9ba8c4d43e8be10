import { FRAME_MS, type Frame } from '../codecs/audio.ts'
import type { Resampler } from '../codecs/resample.ts'
import type { StreamEndedReason, StreamSnapshot, StreamStatus } from './protocol.ts'
import type { Sink, Track } from './sink.ts'
import { type ConnectionPorts, StreamConnection, type Wire } from './stream-connection.ts'
import { connectedMessage, dtmfMessage, type StreamIdentity, startMessage, stopMessage } from './stream-messages.ts'
import { type StreamInput, streamMove } from './stream-status.ts'
import { StreamTrack } from './stream-track.ts'

export interface StreamForkPorts extends ConnectionPorts {
  /** The status has changed. */
  changed(snapshot: StreamSnapshot): void
  /** From 8 to 16 kHz; called once per track of an `l16_16000` stream. */
  resampler(): Resampler
}

/** How long queued audio may take to be sent when the stream is stopped [ms]. */
const FLUSH_MS = 1000
/** Keys that may wait; a person presses fewer in the 2 s that audio may wait. The oldest makes room. */
const MAX_WAITING_KEYS = 32
const NORMAL_CLOSURE = 1000
/** A close frame without a code (RFC 6455 §7.1.5), what `ws.close()` sends: as deliberate as 1000. */
const NO_STATUS = 1005
const ABNORMAL_CLOSURE = 1006

/** What happens often enough to be a counter and is not part of the API's MediaStream. */
export interface StreamCounters {
  reconnects: number
  keysDropped: number
  /** Messages that the receiver sent; a fork is one-way. */
  messagesIgnored: number
}

/**
 * A media stream of a leg or a room: one-way copy of its audio to a WebSocket receiver (`stream-protocol`). Sans-IO: who owns it
 * dials, reports what becomes of the connection, and calls `advance` at `deadline`.
 *
 * Audio waits here, not in the socket: a message goes to the wire only when the kernel has taken the one before it, so that a
 * receiver that does not read costs 100 frames per track and nothing else. The slot counter is the stream's clock: it moves
 * when a track writes its next frame, and both tracks' timestamps come from it.
 */
export class StreamFork implements Sink {
  readonly onPause = 'silence'
  readonly #stream: StreamIdentity
  readonly #ports: StreamForkPorts
  readonly #inbound: StreamTrack | null
  readonly #outbound: StreamTrack | null
  readonly #keys: { key: string; order: number }[] = []
  readonly #counters: StreamCounters = { reconnects: 0, keysDropped: 0, messagesIgnored: 0 }
  #status: StreamStatus = 'connecting'
  #endedReason: StreamEndedReason | null = null
  #stopping: 'stop' | 'callEnded' | null = null
  readonly #connection: StreamConnection
  #sequence = 0
  #order = 0
  #slot = 0
  #flushBy = Infinity

  constructor(stream: StreamIdentity, ports: StreamForkPorts) {
    this.#stream = stream
    this.#ports = ports
    this.#connection = new StreamConnection(ports)
    const track = (name: Track): StreamTrack =>
      new StreamTrack(stream.streamId, name, stream.format, stream.format === 'l16_16000' ? ports.resampler() : null)
    this.#inbound = stream.tracks === 'outbound' ? null : track('inbound')
    this.#outbound = stream.tracks === 'inbound' ? null : track('outbound')
  }

  /** Dials for the first time. */
  start(): void {
    this.#connection.start()
  }

  get ended(): boolean {
    return this.#status === 'stopped' || this.#status === 'failed'
  }

  snapshot(): StreamSnapshot {
    return {
      streamId: this.#stream.streamId,
      status: this.#status,
      framesSent: (this.#inbound?.sent ?? 0) + (this.#outbound?.sent ?? 0),
      framesDropped: (this.#inbound?.dropped ?? 0) + (this.#outbound?.dropped ?? 0),
      endedReason: this.#endedReason,
    }
  }

  counters(): StreamCounters {
    return { ...this.#counters }
  }

  /** When `advance` is due [ms]; Infinity when nothing is. */
  get deadline(): number {
    return Math.min(this.#connection.deadline, this.#flushBy)
  }

  // ------------------------------------------------------------------------------------------------ from the call

  /** Takes one frame of 20 ms at 8 kHz; a track that the stream does not carry is ignored. */
  write(track: Track, frame: Frame): void {
    const to = track === 'inbound' ? this.#inbound : this.#outbound
    if (to === null || this.#stopping !== null || this.ended) return
    if (to.slot === this.#slot) {
      // The other track has left the slot out; what waits for it must not wait longer.
      if (!this.#slotComplete()) this.#pump()
      this.#slot++
    }
    to.slot = this.#slot
    to.write(frame, ++this.#order, this.#slot * FRAME_MS)
    if (this.#slotComplete()) this.#pump()
  }

  /** A key that the caller pressed, in order with the audio. Not called during a card-payment pause. */
  dtmf(key: string): void {
    if (this.#stopping !== null || this.ended) return
    if (this.#keys.length === MAX_WAITING_KEYS) {
      this.#keys.shift()
      this.#counters.keysDropped++
    }
    this.#keys.push({ key, order: ++this.#order })
    this.#pump()
  }

  /** Takes no more audio, sends what waits for at most 1 s, then `stop`, then closes. Idempotent. */
  stop(reason: 'stopped' | 'call_ended'): void {
    if (this.#stopping !== null || this.ended) return
    this.#stopping = reason === 'stopped' ? 'stop' : 'callEnded'
    this.#flushBy = this.#ports.now() + FLUSH_MS
    // A connection that is being made may still open in time; a retry that is only planned is not worth waiting for.
    if (this.#connection.wire === null) this.#finish()
    else this.#pump()
  }

  /** The call is over: `stop('call_ended')`. */
  close(): void {
    this.stop('call_ended')
  }

  // ------------------------------------------------------------------------------------------------ from the wire

  /** The upgrade was answered 101. Reports of a wire that has been given up are ignored, here and below. */
  opened(wire: Wire): void {
    if (wire !== this.#connection.wire || this.#status === 'streaming') return
    const again = this.#status === 'reconnecting'
    this.#connection.opened()
    this.#sequence = 0
    const { framesDropped } = this.snapshot()
    wire.cork()
    wire.send(connectedMessage())
    wire.send(startMessage(this.#stream, ++this.#sequence, again ? { framesDropped } : null))
    wire.uncork()
    if (again) this.#counters.reconnects++
    this.#apply('opened')
    this.#pump()
  }

  /** The connection is gone, or was never made (`code` 1006). `code`: RFC 6455 §7.1.5. */
  closed(wire: Wire, code: number): void {
    if (wire !== this.#connection.wire) return
    this.#connection.forget()
    this.#disconnected(code)
  }

  /**
   * The receiver sent more than 64 KiB in one message; the wire is closing with 1009. That ends the stream as if the receiver had
   * closed it: dialled again, it would do the same again.
   */
  oversized(wire: Wire): void {
    if (wire !== this.#connection.wire) return
    this.#connection.forget()
    this.#disconnected(NORMAL_CLOSURE)
  }

  pong(wire: Wire): void {
    if (wire === this.#connection.wire) this.#connection.pong()
  }

  received(wire: Wire): void {
    if (wire === this.#connection.wire) this.#counters.messagesIgnored++
  }

  /** The kernel has taken what was sent. */
  drained(wire: Wire): void {
    if (wire === this.#connection.wire) this.#pump()
  }

  // ------------------------------------------------------------------------------------------------ time

  /** Does what is due by now. */
  advance(): void {
    if (this.#ports.now() >= this.#flushBy) {
      this.#finish()
      return
    }
    const outcome = this.#connection.advance()
    if (outcome === 'broken') this.#disconnected(ABNORMAL_CLOSURE)
    else if (outcome === 'gave up') this.#end(this.#stopping ?? 'unreachable')
  }

  #disconnected(code: number): void {
    this.#inbound?.lose()
    this.#outbound?.lose()
    if (this.#stopping !== null) this.#end(this.#stopping)
    else if (this.#status === 'streaming') this.#closedOpen(code)
    else if (!this.#connection.retry()) this.#end('unreachable')
  }

  #closedOpen(code: number): void {
    if (code === NORMAL_CLOSURE || code === NO_STATUS) {
      this.#end('receiverClosed')
      return
    }
    this.#connection.broke()
    this.#connection.retry()
    this.#apply('dropped')
  }

  // ------------------------------------------------------------------------------------------------ sending

  #slotComplete(): boolean {
    return (this.#inbound?.slot ?? this.#slot) === this.#slot && (this.#outbound?.slot ?? this.#slot) === this.#slot
  }

  /** Hands over what waits, a message of each track at a time, for as long as the kernel takes all of it. */
  #pump(): void {
    const { wire } = this.#connection
    if (wire === null || this.#status !== 'streaming') return
    while (wire.buffered() === 0) {
      this.#inbound?.confirm()
      this.#outbound?.confirm()
      if (this.#nextOrder() === Infinity) {
        if (this.#stopping !== null) this.#finish()
        return
      }
      wire.cork()
      this.#sendNext(wire)
      this.#sendNext(wire)
      wire.uncork()
    }
  }

  #nextOrder(): number {
    return Math.min(
      this.#inbound?.headOrder ?? Infinity,
      this.#outbound?.headOrder ?? Infinity,
      this.#keys[0]?.order ?? Infinity,
    )
  }

  #sendNext(wire: Wire): void {
    const order = this.#nextOrder()
    if (order === Infinity) return
    this.#sequence++
    if (this.#inbound?.headOrder === order) wire.send(this.#inbound.next(this.#sequence))
    else if (this.#outbound?.headOrder === order) wire.send(this.#outbound.next(this.#sequence))
    else wire.send(dtmfMessage(this.#stream, this.#sequence, this.#keys.shift()!.key))
  }

  // ------------------------------------------------------------------------------------------------ ending

  /** The flush is over, because all is sent, because its time is up, or because there is nobody to send to. */
  #finish(): void {
    const { wire } = this.#connection
    if (wire !== null && this.#status === 'streaming') {
      // What the wire still holds goes out before `stop` if anything does: it counts as sent.
      this.#inbound?.confirm()
      this.#outbound?.confirm()
      wire.send(stopMessage(this.#stream, ++this.#sequence))
      wire.close(NORMAL_CLOSURE)
      this.#connection.forget()
    }
    this.#end(this.#stopping ?? 'callEnded')
  }

  #end(input: StreamInput): void {
    this.#inbound?.close()
    this.#outbound?.close()
    this.#keys.length = 0
    this.#connection.close()
    this.#flushBy = Infinity
    this.#apply(input)
  }

  #apply(input: StreamInput): void {
    const move = streamMove(this.#status, input)
    if (move === undefined) return
    this.#status = move.status
    this.#endedReason = move.endedReason
    this.#ports.changed(this.snapshot())
  }
}
