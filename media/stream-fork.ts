import { FRAME_MS, type Frame } from '../codecs/audio.ts'
import type { Resampler } from '../codecs/resample.ts'
import type { StreamEndedReason, StreamSnapshot, StreamStatus } from './protocol.ts'
import type { Sink, Track } from './sink.ts'
import { connectedMessage, dtmfMessage, type StreamIdentity, startMessage, stopMessage } from './stream-messages.ts'
import { type StreamInput, streamMove } from './stream-status.ts'
import { StreamTrack } from './stream-track.ts'

/** One WebSocket connection, from its dialling on. Nothing but `terminate` is called before it has been reported opened. */
export interface Wire {
  /** One text message; the bytes are borrowed. */
  send(text: Buffer): void
  /** What is sent between the two may be written at once; what `uncork` leaves over counts as buffered. */
  cork(): void
  uncork(): void
  /** What the kernel has not taken yet [bytes]; Infinity when nothing can be sent any more. */
  buffered(): number
  ping(): void
  /** Starts the closing handshake and looks after the rest of it. */
  close(code: number): void
  terminate(): void
}

export interface StreamForkPorts {
  /** Starts to connect; the outcome is reported by `opened` or `closed`, never before this returns. */
  dial(): Wire
  /** The status has changed. */
  changed(snapshot: StreamSnapshot): void
  /** Monotonic [ms]. */
  now(): number
  /** Uniform in [0, 1). */
  random(): number
  /** From 8 to 16 kHz; called once per track of an `l16_16000` stream. */
  resampler(): Resampler
}

/** Time limits of a stream [ms]. */
export const STREAM_TIMERS = {
  /** An upgrade that is not answered by then has failed, whatever trickles in. */
  handshake: 3_000,
  connect: 10_000,
  reconnect: 30_000,
  firstRetry: 250,
  longestRetry: 4_000,
  /** A connection that lasted less long does not start the retries from 250 ms again: some receivers accept and hang up. */
  stable: 5_000,
  ping: 20_000,
  pong: 10_000,
  flush: 1_000,
} as const

const CONNECT_TRIES = 3
/** Keys that may wait; a person presses fewer in the 2 s that audio may wait. The oldest makes room. */
const MAX_WAITING_KEYS = 32
const NORMAL_CLOSURE = 1000
/** A close frame without a code (RFC 6455 §7.1.5), what `ws.close()` sends: as deliberate as 1000. */
const NO_STATUS = 1005

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
  #wire: Wire | null = null
  #sequence = 0
  #order = 0
  #slot = 0
  #tries = 0
  #openedAt = 0
  #giveUpAt = Infinity
  #retryAt = Infinity
  #handshakeBy = Infinity
  #pingAt = Infinity
  #pongBy = Infinity
  #flushBy = Infinity

  constructor(stream: StreamIdentity, ports: StreamForkPorts) {
    this.#stream = stream
    this.#ports = ports
    const track = (name: Track): StreamTrack =>
      new StreamTrack(stream.streamId, name, stream.format, stream.format === 'l16_16000' ? ports.resampler() : null)
    this.#inbound = stream.tracks === 'outbound' ? null : track('inbound')
    this.#outbound = stream.tracks === 'inbound' ? null : track('outbound')
  }

  /** Dials for the first time. */
  start(): void {
    this.#giveUpAt = this.#ports.now() + STREAM_TIMERS.connect
    this.#dial()
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
    return Math.min(this.#giveUpAt, this.#retryAt, this.#handshakeBy, this.#pingAt, this.#pongBy, this.#flushBy)
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
    this.#flushBy = this.#ports.now() + STREAM_TIMERS.flush
    this.#giveUpAt = Infinity
    // A connection that is being made may still open in time; a retry that is only planned is not worth waiting for.
    if (this.#wire === null) this.#finish()
    else this.#pump()
  }

  /** The call is over: `stop('call_ended')`. */
  close(): void {
    this.stop('call_ended')
  }

  // ------------------------------------------------------------------------------------------------ from the wire

  /** The upgrade was answered 101. Reports of a wire that has been given up are ignored, here and below. */
  opened(wire: Wire): void {
    if (wire !== this.#wire || this.#status === 'streaming') return
    const again = this.#status === 'reconnecting'
    if (!again) this.#tries = 0
    const now = this.#ports.now()
    this.#handshakeBy = Infinity
    this.#giveUpAt = Infinity
    this.#pingAt = now + STREAM_TIMERS.ping
    this.#openedAt = now
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
    if (wire !== this.#wire) return
    this.#forgetWire()
    if (this.#stopping !== null) this.#finish()
    else if (this.#status !== 'streaming') this.#retry()
    else if (code === NORMAL_CLOSURE || code === NO_STATUS) this.#end('receiverClosed')
    else this.#drop()
  }

  /**
   * The receiver sent more than 64 KiB in one message; the wire is closing with 1009. That ends the stream as if the receiver had
   * closed it: dialled again, it would do the same again.
   */
  oversized(wire: Wire): void {
    if (wire !== this.#wire) return
    this.#forgetWire()
    if (this.#stopping !== null) this.#finish()
    else this.#end('receiverClosed')
  }

  pong(wire: Wire): void {
    if (wire === this.#wire) this.#pongBy = Infinity
  }

  received(wire: Wire): void {
    if (wire === this.#wire) this.#counters.messagesIgnored++
  }

  /** The kernel has taken what was sent. */
  drained(wire: Wire): void {
    if (wire === this.#wire) this.#pump()
  }

  // ------------------------------------------------------------------------------------------------ time

  /** Does what is due by now. */
  advance(): void {
    const now = this.#ports.now()
    if (now >= this.#flushBy) this.#finish()
    else if (now >= this.#giveUpAt) this.#giveUp()
    else if (now >= this.#handshakeBy) this.#handshakeFailed()
    else if (now >= this.#retryAt) this.#dial()
    else if (now >= this.#pongBy) this.#pongMissed()
    else if (now >= this.#pingAt) this.#ping(now)
  }

  #giveUp(): void {
    this.#abandonWire()
    this.#end('unreachable')
  }

  #handshakeFailed(): void {
    this.#abandonWire()
    if (this.#stopping !== null) this.#finish()
    else this.#retry()
  }

  #pongMissed(): void {
    this.#abandonWire()
    if (this.#stopping !== null) this.#finish()
    else this.#drop()
  }

  #ping(now: number): void {
    this.#pingAt = now + STREAM_TIMERS.ping
    this.#pongBy = now + STREAM_TIMERS.pong
    this.#wire?.ping()
  }

  // ------------------------------------------------------------------------------------------------ connecting

  #dial(): void {
    this.#retryAt = Infinity
    this.#handshakeBy = this.#ports.now() + STREAM_TIMERS.handshake
    this.#tries++
    this.#wire = this.#ports.dial()
  }

  /** Exponential back-off with full jitter: any time up to 250 ms, 500 ms, 1, 2, 4, 4 … s. */
  #retry(): void {
    if (this.#status === 'connecting' && this.#tries === CONNECT_TRIES) {
      this.#end('unreachable')
      return
    }
    const waits = this.#status === 'connecting' ? this.#tries - 1 : this.#tries
    const longest = Math.min(STREAM_TIMERS.longestRetry, STREAM_TIMERS.firstRetry * 2 ** waits)
    this.#retryAt = this.#ports.now() + this.#ports.random() * longest
  }

  #drop(): void {
    const now = this.#ports.now()
    if (now - this.#openedAt >= STREAM_TIMERS.stable) this.#tries = 0
    this.#giveUpAt = now + STREAM_TIMERS.reconnect
    this.#apply('dropped')
    this.#retry()
  }

  #forgetWire(): void {
    this.#wire = null
    this.#inbound?.lose()
    this.#outbound?.lose()
    this.#handshakeBy = Infinity
    this.#pingAt = Infinity
    this.#pongBy = Infinity
  }

  #abandonWire(): void {
    const wire = this.#wire
    this.#forgetWire()
    wire?.terminate()
  }

  // ------------------------------------------------------------------------------------------------ sending

  #slotComplete(): boolean {
    return (this.#inbound?.slot ?? this.#slot) === this.#slot && (this.#outbound?.slot ?? this.#slot) === this.#slot
  }

  /** Hands over what waits, a message of each track at a time, for as long as the kernel takes all of it. */
  #pump(): void {
    const wire = this.#wire
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
    const wire = this.#wire
    if (wire !== null && this.#status === 'streaming') {
      // What the wire still holds goes out before `stop` if anything does: it counts as sent.
      this.#inbound?.confirm()
      this.#outbound?.confirm()
      wire.send(stopMessage(this.#stream, ++this.#sequence))
      wire.close(NORMAL_CLOSURE)
      this.#forgetWire()
    } else this.#abandonWire()
    this.#end(this.#stopping ?? 'callEnded')
  }

  #end(input: StreamInput): void {
    this.#inbound?.close()
    this.#outbound?.close()
    this.#keys.length = 0
    this.#giveUpAt = Infinity
    this.#retryAt = Infinity
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
