import type { Frame } from '../../codecs/audio.ts'
import type { StreamEndedReason, StreamSnapshot, StreamStatus } from '../protocol.ts'
import type { Sink, Track } from '../rooms/sink.ts'
import type { Source } from '../rooms/source.ts'
import {
  CONNECTION_TIMERS,
  type ConnectionPorts,
  StreamConnection,
  type Wire,
  type WireEvents,
} from './stream-connection.ts'
import type { StreamIdentity } from './stream-messages.ts'
import { type OutboxPorts, StreamOutbox } from './stream-outbox.ts'
import type { AnswerPorts, StreamReceiver } from './stream-receiver.ts'
import { type StreamInput, streamMove } from './stream-status.ts'

export interface StreamForkPorts extends ConnectionPorts, OutboxPorts {
  /** The status has changed. */
  changed(snapshot: StreamSnapshot): void
  /** `deadline` may have moved. */
  moved(): void
  /** An exception while handling the call's audio or the wire: `fail` is called after this turn. */
  broke(error: unknown): void
}

/** How long queued audio may take to be sent when the stream is stopped [ms]. */
const FLUSH_MS = 1000
const NORMAL_CLOSURE = 1000
/** A close frame without a code (RFC 6455 §7.1.5), what `ws.close()` sends: as deliberate as 1000. */
const NO_STATUS = 1005
const ABNORMAL_CLOSURE = 1006
const NO_ANSWER = 'the receiver did not answer in time'
const BROKEN = 'the connection broke'
const OVERSIZED = 'a message of the receiver was too long'
const FAULT = 'an error in Tandem itself'

/** Counters of frequent events that are not part of the API's MediaStream. */
export interface StreamCounters {
  reconnects: number
  keysDropped: number
  /** Messages that the receiver sent and that were none, or to which a fork does not listen. */
  messagesIgnored: number
}

/**
 * A media stream of a leg or a room: a copy of its audio to a WebSocket receiver (`docs/streams.md`) and, if it is bidirectional,
 * the receiver's audio (`receiver`). Sans-IO: the owner dials, reports the connection's events, and calls `advance` at `deadline`.
 */
export class StreamFork implements Sink, WireEvents {
  readonly onPause = 'silence'
  readonly #streamId: string
  readonly #ports: StreamForkPorts
  readonly #outbox: StreamOutbox
  readonly #connection: StreamConnection
  readonly #receiver: StreamReceiver | null
  #status: StreamStatus = 'connecting'
  #endedReason: StreamEndedReason | null = null
  #endedDetail: string | null = null
  /** What the last try to connect met, or ended the last connection. */
  #problem: string | null = null
  #stopping: 'stop' | 'callEnded' | null = null
  #flushBy = Infinity
  #reconnects = 0
  #messagesIgnored = 0

  /** `receiver`: gets the receiver's messages; null: they are ignored. Closed with the stream. */
  constructor(
    stream: StreamIdentity,
    ports: StreamForkPorts,
    receiver: ((answer: AnswerPorts) => StreamReceiver) | null = null,
  ) {
    this.#streamId = stream.streamId
    this.#ports = ports
    this.#outbox = new StreamOutbox(stream, ports)
    this.#connection = new StreamConnection(ports)
    this.#receiver =
      receiver?.({
        maySay: () => this.#isOpen && this.#stopping === null && this.#outbox.maySay,
        say: message => this.#outbox.say(message),
      }) ?? null
  }

  /** Dials for the first time. */
  start(): void {
    this.#connection.start()
  }

  /** The receiver's audio for the call; null: it is not played. */
  get voice(): Source | null {
    return this.#receiver?.voice ?? null
  }

  get ended(): boolean {
    return this.#status === 'stopped' || this.#status === 'failed'
  }

  snapshot(): StreamSnapshot {
    return {
      streamId: this.#streamId,
      status: this.#status,
      framesSent: this.#outbox.framesSent,
      framesDropped: this.#outbox.framesDropped,
      framesReceived: this.#receiver?.framesReceived ?? 0,
      framesRefused: this.#receiver?.framesRefused ?? 0,
      endedReason: this.#endedReason,
      ...(this.#endedDetail === null ? {} : { endedDetail: this.#endedDetail }),
    }
  }

  counters(): StreamCounters {
    return {
      reconnects: this.#reconnects,
      keysDropped: this.#outbox.keysDropped,
      messagesIgnored: this.#messagesIgnored,
    }
  }

  /** When `advance` is due [ms]; Infinity when nothing is. */
  get deadline(): number {
    return Math.min(this.#connection.deadline, this.#flushBy)
  }

  // ------------------------------------------------------------------------------------------------ from the call

  /** Takes one frame of 20 ms at 8 kHz; a track that the stream does not carry is ignored. */
  write(track: Track, frame: Frame): void {
    if (this.#stopping !== null || this.ended) return
    try {
      const now = this.#ports.now()
      this.#outbox.write(track, frame, now)
      if (this.#status === 'streaming' && this.#isStalled(now)) this.#apply('unanswered')
    } catch (error) {
      this.broke(error)
    }
  }

  /** A key that the caller pressed, in order with the audio. Not called during a card-payment pause. */
  dtmf(key: string): void {
    if (this.#stopping === null && !this.ended) this.#outbox.dtmf(key)
  }

  /** Accepts no more audio, sends what waits for at most 1 s, then `stop`, then closes. Idempotent. */
  stop(reason: 'stopped' | 'call_ended'): void {
    if (this.#stopping !== null || this.ended) return
    this.#stopping = reason === 'stopped' ? 'stop' : 'callEnded'
    this.#flushBy = this.#ports.now() + FLUSH_MS
    this.#receiver?.close()
    // There are no more slots.
    this.#connection.wire?.listen?.()
    // A connection that is being made may still open in time; a retry that is only planned is not worth waiting for.
    if (this.#connection.wire === null) this.#finish()
    else this.#pump()
    this.#ports.moved()
  }

  /** Ends the stream as failed after a fault of ours, whatever of it still works. */
  fail(): void {
    this.#connection.close()
    this.#apply('fault')
    this.#end('fault')
  }

  /** The call is over: `stop('call_ended')`. */
  close(): void {
    try {
      this.stop('call_ended')
    } catch (error) {
      this.broke(error)
    }
  }

  // ------------------------------------------------------------------------------------------------ from the wire

  /** The upgrade was answered 101. Reports of a wire that has been given up are ignored, here and below. */
  opened(wire: Wire): void {
    if (wire !== this.#connection.wire || this.#isOpen) return
    const again = this.#status === 'reconnecting'
    this.#connection.opened()
    this.#outbox.attach(wire, again, this.#connection.roundTripMs)
    if (again) this.#reconnects++
    this.#apply('opened')
    this.#receiver?.opened()
    this.#pump()
    this.#ports.moved()
  }

  /** The connection is gone, or was never made (`code` 1006). `code`: RFC 6455 §7.1.5. */
  closed(wire: Wire, code: number, problem?: string): void {
    if (wire !== this.#connection.wire) return
    this.#connection.forget()
    this.#disconnected(code, problem ?? (code === ABNORMAL_CLOSURE ? BROKEN : `the receiver closed with ${code}`))
    this.#ports.moved()
  }

  /**
   * The receiver sent more in one message than it may; the wire is closing with 1009. That ends the stream as if the receiver had
   * closed it: dialled again, it would do the same again.
   */
  oversized(wire: Wire): void {
    if (wire !== this.#connection.wire) return
    this.#connection.forget()
    this.#endedDetail = OVERSIZED
    this.#disconnected(NORMAL_CLOSURE)
    this.#ports.moved()
  }

  /** `ping`: the number of the ping that is answered, or 0. */
  pong(wire: Wire, ping: number): void {
    if (wire !== this.#connection.wire) return
    if (this.#connection.unansweredSince !== Infinity) this.#watched()
    this.#outbox.pong(ping)
    this.#pump()
    if (this.#status === 'stalled' && !this.#isStalled()) this.#apply('answered')
  }

  #watched(): void {
    this.#connection.pong()
    this.#ports.moved()
  }

  /** `text`: null when it was none. */
  received(wire: Wire, text: Buffer | null): void {
    if (wire !== this.#connection.wire) return
    const isHeard = this.#receiver !== null && text !== null && this.#stopping === null && this.#receiver.hear(text)
    if (!isHeard) this.#messagesIgnored++
  }

  /** The kernel has accepted what was sent. */
  drained(wire: Wire): void {
    if (wire !== this.#connection.wire) return
    this.#receiver?.answer()
    this.#pump()
    if (this.#status === 'stalled' && !this.#isStalled()) this.#apply('answered')
  }

  broke(error: unknown): void {
    this.#ports.broke(error)
  }

  // ------------------------------------------------------------------------------------------------ time

  /** Carries out what is due. */
  advance(): void {
    if (this.#ports.now() >= this.#flushBy) {
      this.#finish()
      return
    }
    const outcome = this.#connection.advance()
    if (outcome === 'broken') this.#disconnected(ABNORMAL_CLOSURE)
    else if (outcome === 'gave up') this.#end(this.#stopping ?? 'unreachable')
  }

  get #isOpen(): boolean {
    return this.#status === 'streaming' || this.#status === 'stalled'
  }

  /** Judged with each frame, since one goes out every 20 ms for as long as the stream runs: no timer is set for it. */
  #isStalled(now = this.#ports.now()): boolean {
    const since = Math.min(this.#outbox.unreadSince, this.#connection.unansweredSince)
    return now - since >= CONNECTION_TIMERS.stalled
  }

  #disconnected(code: number, problem = NO_ANSWER): void {
    this.#problem = problem
    this.#outbox.detach()
    if (this.#stopping !== null) this.#end(this.#stopping)
    else if (this.#isOpen) this.#closedOpen(code)
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

  // ------------------------------------------------------------------------------------------------ ending

  #pump(): void {
    if (this.#outbox.pump() && this.#stopping !== null) this.#finish()
  }

  /** The flush is over, because all is sent, because its time is up, or because there is nobody to send to. */
  #finish(): void {
    const { wire } = this.#connection
    if (wire !== null && this.#isOpen) {
      this.#outbox.finish()
      wire.close(NORMAL_CLOSURE)
      this.#connection.forget()
    }
    this.#end(this.#stopping ?? 'callEnded')
  }

  #end(input: StreamInput): void {
    this.#outbox.close()
    this.#connection.close()
    this.#receiver?.close()
    this.#flushBy = Infinity
    this.#apply(input)
  }

  #apply(input: StreamInput): void {
    const move = streamMove(this.#status, input)
    if (move === undefined) return
    if (input === 'unreachable') this.#endedDetail = this.#problem
    else if (input === 'fault') this.#endedDetail = FAULT
    this.#status = move.status
    this.#endedReason = move.endedReason
    this.#ports.changed(this.snapshot())
  }
}
