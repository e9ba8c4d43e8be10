import { connect, isIP, type LookupFunction, type NetConnectOpts, type Socket } from 'node:net'
import WebSocket, { type ClientOptions } from 'ws'
import { allowedLookup } from '../kernel/allowed-lookup.ts'
import { ReadingShare, shareReading } from '../kernel/reading-share.ts'
import { type AddressPolicy, isAllowedAddress } from '../protocol.ts'
import type { Connections } from '../rtp/datagrams/datagrams.ts'
import type { Wire, WireEvents } from './stream-connection.ts'
import { ClientFrames, PING, PONG, StreamLane, TEXT } from './stream-lane.ts'

/** In how many parts such a message may arrive, before its bookkeeping costs more memory than itself. */
const MAX_RECEIVED_PARTS = 4096
/** How long the receiver may take to answer our close frame before the socket is destroyed [ms]. */
const CLOSE_TIMEOUT_MS = 1000
const ABNORMAL_CLOSURE = 1006
/** A certificate names what it likes. */
const MAX_PROBLEM_CHARACTERS = 300
/** A ping carries its number. */
const PING_BYTES = 4
/** What is read at a time: whatever frames it holds, they are handled before anything else [bytes]. */
const PIECE_BYTES = 4096

/** Dials `url`. Never throws: what cannot be dialled is reported as closed with 1006, like a receiver that does not answer. */
export function dialWire(
  url: string,
  headers: Record<string, string>,
  addresses: AddressPolicy,
  /** A longer message of the receiver closes with 1009 [bytes]. */
  maxPayload: number,
  receiver: WireEvents,
  /** For one that nobody listens to: the system's own calls, where they work. */
  calls: Connections | null,
): Wire {
  const events = guarded(receiver)
  let problem = 'this URL may not be dialled'
  if (isDialable(url, addresses)) {
    try {
      const own = new URL(url).protocol === 'ws:' ? { createConnection: connectInPieces } : {}
      const options = { ...OPTIONS, ...own, maxPayload, headers, lookup: allowedLookup(addresses) }
      return new SocketWire(url, options, events, calls)
    } catch (error) {
      // A URL that `ws` refuses, for one with a fragment.
      problem = problemOf(error)
    }
  }
  const wire = new RefusedWire()
  setImmediate(() => events.closed(wire, ABNORMAL_CLOSURE, problem))
  return wire
}

/** What OpenSSL says is between numbers and the lines of its sources. */
const OPENSSL = /^.*error:\w+:([^:]+):[^:]*:([^:]+):.*\s*$/

/** In the words of Node, `ws` and OpenSSL; of several addresses each has its own. */
function problemOf(error: unknown): string {
  const all: { message: string }[] = error instanceof AggregateError ? error.errors : [error]
  return all
    .map(({ message }) => message.replace(OPENSSL, '$1: $2'))
    .join('; ')
    .slice(0, MAX_PROBLEM_CHARACTERS)
}

/** Literal addresses are judged here, since they are dialled without a look-up. */
function isDialable(url: string, addresses: AddressPolicy): boolean {
  if (!URL.canParse(url)) return false
  const { protocol, hostname } = new URL(url)
  const host = hostname.replace(/^\[|\]$/g, '')
  return (protocol === 'ws:' || protocol === 'wss:') && (isIP(host) === 0 || isAllowedAddress(host, addresses))
}

/** Options of `ws` and of the socket below it that its types do not list. */
interface DialOptions extends ClientOptions {
  closeTimeout: number
  maxFragments: number
  maxBufferedChunks: number
  lookup?: LookupFunction
}

const OPTIONS: DialOptions = {
  perMessageDeflate: false,
  followRedirects: false,
  maxFragments: MAX_RECEIVED_PARTS,
  maxBufferedChunks: MAX_RECEIVED_PARTS,
  closeTimeout: CLOSE_TIMEOUT_MS,
  // Any message that is not a valid text of ours is ignored.
  skipUTF8Validation: true,
}

/** A socket that reads in small pieces. Those of TLS are its records, of 16 KiB at most. */
const connectInPieces = ((options: NetConnectOpts): Socket => {
  const socket: Socket = connect({
    ...options,
    onread: {
      buffer: Buffer.alloc(PIECE_BYTES),
      callback: (length, piece) => socket.push(Buffer.from(piece.subarray(0, length))),
    },
  })
  return socket
}) as typeof connect

/** An exception in a callback must affect only its own stream, not whoever sends or reads for many streams. */
function guarded(events: WireEvents): WireEvents {
  const guard = (work: () => void): void => {
    try {
      work()
    } catch (error) {
      events.broke(error)
    }
  }
  return {
    opened: wire => guard(() => events.opened(wire)),
    closed: (wire, code, problem) => guard(() => events.closed(wire, code, problem)),
    oversized: wire => guard(() => events.oversized(wire)),
    pong: (wire, ping) => guard(() => events.pong(wire, ping)),
    received: (wire, text) => guard(() => events.received(wire, text)),
    drained: wire => guard(() => events.drained(wire)),
    broke: error => events.broke(error),
  }
}

/**
 * `ws` makes the connection, reads, answers and closes. Data sent between `cork` and `uncork` is framed here and written at once:
 * both tracks of a slot are one write, without an object per message.
 */
class SocketWire implements Wire {
  readonly #ws: WebSocket
  readonly #sent: (error?: Error | null) => void
  readonly #ping = Buffer.alloc(PING_BYTES)
  readonly #frames = new ClientFrames()
  #pings = 0
  #isCorked = false
  #socket: Socket | undefined
  #lane: StreamLane | null = null
  /** `buffered` has said that something is; `drained` is owed. */
  #stalled = false
  /** The last ping that came while what is sent waits. */
  #unanswered: Uint8Array | null = null

  constructor(url: string, options: DialOptions, events: WireEvents, calls: Connections | null) {
    const ws = new WebSocket(url, options)
    const share = new ReadingShare()
    let problem: string | undefined
    this.#ws = ws
    this.#sent = error => {
      if (!error) this.#answerLate()
      if (error || !this.#stalled) return
      this.#stalled = false
      events.drained(this)
    }
    ws.on('upgrade', response => (this.#socket = response.socket))
    ws.on('open', () => {
      shareReading(ws, this.#socket!, () => share)
      if (calls !== null) this.#openLane(calls, events)
      events.opened(this)
    })
    ws.on('message', (data, isBinary) => events.received(this, isBinary ? null : (data as Buffer)))
    ws.on('pong', payload => events.pong(this, numberOf(payload)))
    ws.on('error', error => {
      problem = problemOf(error)
      if ((error as NodeJS.ErrnoException).code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH') events.oversized(this)
    })
    ws.on('close', code => {
      this.#lane?.leave()
      events.closed(this, code, problem)
    })
  }

  #openLane(calls: Connections, events: WireEvents): void {
    this.#lane = StreamLane.open(calls, this.#socket!, {
      pong: payload => {
        const ping = numberOf(payload)
        if (ping === this.#pings) this.#lane!.isAwaiting = false
        events.pong(this, ping)
      },
      ping: payload => this.#answer(payload),
      ignored: () => events.received(this, null),
      taken: bytes => {
        try {
          this.#sendRest(bytes)
          if (!this.#stalled || this.buffered() > 0) return
          this.#stalled = false
          events.drained(this)
        } catch (error) {
          // Other streams are told behind this one.
          events.broke(error)
        }
      },
    })
  }

  /** One that pings and reads nothing gets one pong, for its last ping (RFC 6455 §5.5.3): others would wait here without end. */
  #answer(ping: Uint8Array): void {
    if ((this.#socket?.writableLength ?? 0) === 0) this.#write(PONG, ping)
    else this.#unanswered = Buffer.from(ping)
  }

  #answerLate(): void {
    const ping = this.#unanswered
    if (ping === null || this.#socket?.writableLength !== 0) return
    this.#unanswered = null
    this.#write(PONG, ping)
  }

  send(text: Buffer): void {
    this.#write(TEXT, text)
  }

  #write(type: number, payload: Uint8Array): void {
    this.#frames.add(type, payload)
    if (!this.#isCorked) this.#flush()
  }

  look(): void {
    this.#lane?.look()
  }

  listen(): void {
    this.#lane?.leave()
  }

  cork(): void {
    this.#isCorked = true
  }

  uncork(): void {
    this.#isCorked = false
    this.#flush()
  }

  #flush(): void {
    const frames = this.#frames
    const lane = this.#lane
    if (frames.length === 0 || lane?.hold(frames) === true) return
    this.#sendRest(lane?.send(frames) ?? 0)
  }

  /** Node writes what the system has not taken. */
  #sendRest(taken: number): void {
    const frames = this.#frames
    const socket = this.#socket
    if (socket !== undefined && this.#ws.readyState === WebSocket.OPEN) {
      if (taken < frames.length) socket.write(frames.bytes.subarray(taken, frames.length), this.#sent)
      if (socket.writableLength > 0) {
        frames.leave()
        return
      }
    }
    frames.clear()
  }

  buffered(): number {
    if (this.#ws.readyState !== WebSocket.OPEN) return Infinity
    const held = this.#lane?.isHolding === true ? this.#frames.length : 0
    const bytes = held + (this.#socket?.writableLength ?? 0)
    this.#stalled = bytes > 0
    return bytes
  }

  ping(): number {
    this.#ping.writeUInt32BE(++this.#pings)
    if (this.#lane !== null) this.#lane.isAwaiting = true
    this.#write(PING, this.#ping)
    return this.#pings
  }

  close(code: number): void {
    const lane = this.#lane
    lane?.leave()
    if (lane?.isHolding === true) {
      // Before the close frame.
      lane.release()
      this.#sendRest(lane.send(this.#frames))
    }
    this.#ws.close(code)
  }

  terminate(): void {
    this.#ws.terminate()
  }
}

const numberOf = (payload: Uint8Array): number =>
  payload.length === PING_BYTES ? new DataView(payload.buffer, payload.byteOffset).getUint32(0) : 0

/** Connections that were never dialled. */
class RefusedWire implements Wire {
  send(): void {}
  cork(): void {}
  uncork(): void {}
  buffered(): number {
    return Infinity
  }
  ping(): number {
    return 0
  }
  close(): void {}
  terminate(): void {}
}
