/** One WebSocket connection, from dialling on. Before it is reported open, only `terminate` is called. */
export interface Wire {
  /** One text message; the bytes are borrowed. */
  send(text: Buffer): void
  /** Data sent between the two may be written at once; what `uncork` leaves over counts as buffered. */
  cork(): void
  uncork(): void
  /** Reads received data in each slot, if that does not happen by itself. */
  look?(): void
  /** From now on that happens by itself. */
  listen?(): void
  /** Bytes that the kernel has not accepted yet; Infinity if nothing can be sent any more. */
  buffered(): number
  /** Sends a ping behind all that was sent; returns its number, from 1 on. The pong is reported with the number. */
  ping(): number
  /** Starts the closing handshake and looks after the rest of it. */
  close(code: number): void
  terminate(): void
}

/** Events of a wire. */
export interface WireEvents {
  opened(wire: Wire): void
  /** `problem`: why it could not be made, for people. */
  closed(wire: Wire, code: number, problem?: string): void
  oversized(wire: Wire): void
  /** `ping`: the number of the ping that is answered; 0 for a pong that answers none of ours. */
  pong(wire: Wire, ping: number): void
  /** `text`: null when it was none. */
  received(wire: Wire, text: Buffer | null): void
  drained(wire: Wire): void
  /** One of these callbacks has thrown, or the wire's own work after a write. */
  broke(error: unknown): void
}

export interface ConnectionPorts {
  /** Starts to connect; the outcome is reported as opened or closed, never before this returns. */
  dial(): Wire
  /** Monotonic [ms]. */
  now(): number
  /** Uniform in [0, 1). */
  random(): number
}

/** Time limits of a stream's connections [ms]. */
export const CONNECTION_TIMERS = {
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
  /**
   * A receiver that has not answered a ping for this long is reported as `stalled`: half of the time that ends the
   * connection.
   */
  stalled: 5_000,
} as const

const CONNECT_TRIES = 3

/**
 * Makes the connections of one media stream, one after the other, and watches over them: tries, back-off, time limits, pings.
 * Sans-IO: `advance` is called at `deadline`.
 */
export class StreamConnection {
  /** The wire that is being dialled or is open. Reports of any other are stale. */
  wire: Wire | null = null
  /** Since when a ping that watches over the connection has not been answered [ms]; Infinity: none is under way. */
  unansweredSince = Infinity
  readonly #ports: ConnectionPorts
  #everOpened = false
  #dialledAt = 0
  #openedAt = 0
  #tries = 0
  #giveUpAt = Infinity
  /** When trying to connect again ends; a connection that does not last is no end of the trouble. */
  #reconnectBy = Infinity
  #retryAt = Infinity
  #handshakeBy = Infinity
  #pingAt = Infinity

  constructor(ports: ConnectionPorts) {
    this.#ports = ports
  }

  /** [ms]; Infinity when nothing is due. */
  get deadline(): number {
    return Math.min(this.#giveUpAt, this.#retryAt, this.#handshakeBy, this.#pingAt, this.#pongBy)
  }

  /**
   * Estimate of the round trip [ms] from how long the open connection took to be made, since that takes two at least: TCP's handshake
   * and the upgrade. Rather too long than too short.
   */
  get roundTripMs(): number {
    return (this.#openedAt - this.#dialledAt) / 2
  }

  /** Dials for the first time. */
  start(): void {
    this.#giveUpAt = this.#ports.now() + CONNECTION_TIMERS.connect
    this.#dial()
  }

  opened(): void {
    const now = this.#ports.now()
    if (!this.#everOpened) this.#tries = 0
    this.#everOpened = true
    this.#openedAt = now
    this.#handshakeBy = Infinity
    this.#giveUpAt = Infinity
    this.#pingAt = now + CONNECTION_TIMERS.ping
  }

  /** Any pong is a sign of life. */
  pong(): void {
    this.unansweredSince = Infinity
  }

  get #pongBy(): number {
    return this.unansweredSince + CONNECTION_TIMERS.pong
  }

  /** An open connection broke: there are 30 s to make another, since the last one that lasted. */
  broke(): void {
    const now = this.#ports.now()
    if (now - this.#openedAt >= CONNECTION_TIMERS.stable) {
      this.#tries = 0
      this.#reconnectBy = Infinity
    }
    if (this.#reconnectBy === Infinity) this.#reconnectBy = now + CONNECTION_TIMERS.reconnect
    this.#giveUpAt = this.#reconnectBy
  }

  /**
   * Plans the next try; false when the first connect has used up its own.
   * Exponential back-off with full jitter: any time up to 250 ms, 500 ms, 1, 2, 4, 4 … s.
   */
  retry(): boolean {
    if (!this.#everOpened && this.#tries === CONNECT_TRIES) return false
    const waits = this.#everOpened ? this.#tries : this.#tries - 1
    const longest = Math.min(CONNECTION_TIMERS.longestRetry, CONNECTION_TIMERS.firstRetry * 2 ** waits)
    this.#retryAt = this.#ports.now() + this.#ports.random() * longest
    return true
  }

  /** Carries out what is due. `broken`: the handshake or a pong did not come in time; `gave up`: no more tries. */
  advance(): 'broken' | 'gave up' | null {
    const now = this.#ports.now()
    if (now >= this.#giveUpAt) {
      this.#abandon()
      return 'gave up'
    }
    if (now >= this.#handshakeBy || now >= this.#pongBy) {
      this.#abandon()
      return 'broken'
    }
    if (now >= this.#retryAt) this.#dial()
    else if (now >= this.#pingAt) this.#ping(now)
    return null
  }

  /** The wire is gone, or closes by itself. */
  forget(): void {
    this.wire = null
    this.#handshakeBy = Infinity
    this.#pingAt = Infinity
    this.unansweredSince = Infinity
  }

  /** Breaks off what there is and plans nothing more. Idempotent. */
  close(): void {
    this.#giveUpAt = Infinity
    this.#retryAt = Infinity
    this.#abandon()
  }

  #abandon(): void {
    const wire = this.wire
    this.forget()
    wire?.terminate()
  }

  #dial(): void {
    this.#retryAt = Infinity
    this.#dialledAt = this.#ports.now()
    this.#handshakeBy = this.#dialledAt + CONNECTION_TIMERS.handshake
    this.#tries++
    this.wire = this.#ports.dial()
  }

  #ping(now: number): void {
    this.#pingAt = now + CONNECTION_TIMERS.ping
    this.unansweredSince = now
    this.wire?.ping()
  }
}
