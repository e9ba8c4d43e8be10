import { randomFillSync } from 'node:crypto'
import { isIP, type LookupFunction, type Socket } from 'node:net'
import WebSocket, { type ClientOptions } from 'ws'
import { allowedLookup } from '../kernel/allowed-lookup.ts'
import { type AddressPolicy, isAllowedAddress } from '../protocol.ts'
import type { Wire } from './stream-connection.ts'

/** A longer message of the receiver closes with 1009 [bytes]. */
const MAX_RECEIVED_BYTES = 64 * 1024
/** In how many parts such a message may arrive, before its bookkeeping costs more memory than itself. */
const MAX_RECEIVED_PARTS = 4096
/** How long the receiver may take to answer our close frame before the socket is destroyed [ms]. */
const CLOSE_TIMEOUT_MS = 1000
const ABNORMAL_CLOSURE = 1006
/** A ping carries its number. */
const PING_BYTES = 4
const TEXT = { binary: false }

export interface WireEvents {
  opened(wire: Wire): void
  closed(wire: Wire, code: number): void
  oversized(wire: Wire): void
  /** `ping`: the number of the ping that is answered; 0 for a pong that answers none of ours. */
  pong(wire: Wire, ping: number): void
  received(wire: Wire): void
  drained(wire: Wire): void
}

/** Dials `url`. Never throws: what cannot be dialled is reported as closed with 1006, like a receiver that does not answer. */
export function dialWire(
  url: string,
  headers: Record<string, string>,
  addresses: AddressPolicy,
  events: WireEvents,
): Wire {
  if (isDialable(url, addresses)) {
    try {
      return new SocketWire(url, { ...OPTIONS, headers, lookup: allowedLookup(addresses) }, events)
    } catch {
      // A URL that `ws` refuses, for one with a fragment.
    }
  }
  const wire = new RefusedWire()
  setImmediate(() => events.closed(wire, ABNORMAL_CLOSURE))
  return wire
}

/** Literal addresses are judged here, since they are dialled without a look-up. */
function isDialable(url: string, addresses: AddressPolicy): boolean {
  if (!URL.canParse(url)) return false
  const { protocol, hostname } = new URL(url)
  const host = hostname.replace(/^\[|\]$/g, '')
  return (protocol === 'ws:' || protocol === 'wss:') && (isIP(host) === 0 || isAllowedAddress(host, addresses))
}

const maskPool = new Uint8Array(4096)
let maskAt = maskPool.length

/** An unpredictable mask (RFC 6455 §5.3), never zero: `ws` copies a message to mask it, but passes it on as it is when there is nothing to mask. */
function generateMask(mask: Buffer): void {
  do {
    if (maskAt === maskPool.length) {
      randomFillSync(maskPool)
      maskAt = 0
    }
    for (let i = 0; i < 4; i++) mask[i] = maskPool[maskAt++]!
  } while ((mask[0]! | mask[1]! | mask[2]! | mask[3]!) === 0)
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
  maxPayload: MAX_RECEIVED_BYTES,
  maxFragments: MAX_RECEIVED_PARTS,
  maxBufferedChunks: MAX_RECEIVED_PARTS,
  closeTimeout: CLOSE_TIMEOUT_MS,
  // What the receiver says is ignored, so it may say anything.
  skipUTF8Validation: true,
  generateMask,
}

class SocketWire implements Wire {
  readonly #ws: WebSocket
  readonly #sent: (error?: Error) => void
  readonly #ping = Buffer.alloc(PING_BYTES)
  #pings = 0
  #socket: Socket | undefined
  /** `buffered` has said that something is; `drained` is owed. */
  #stalled = false

  constructor(url: string, options: DialOptions, events: WireEvents) {
    const ws = new WebSocket(url, options)
    this.#ws = ws
    this.#sent = error => {
      if (error || !this.#stalled) return
      this.#stalled = false
      events.drained(this)
    }
    ws.on('upgrade', response => (this.#socket = response.socket))
    ws.on('open', () => events.opened(this))
    ws.on('message', () => events.received(this))
    ws.on('pong', payload => events.pong(this, payload.length === PING_BYTES ? payload.readUInt32BE(0) : 0))
    ws.on('error', error => {
      if ((error as NodeJS.ErrnoException).code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH') events.oversized(this)
    })
    ws.on('close', code => events.closed(this, code))
  }

  send(text: Buffer): void {
    this.#ws.send(text, TEXT, this.#sent)
  }

  cork(): void {
    this.#socket?.cork()
  }

  uncork(): void {
    this.#socket?.uncork()
  }

  buffered(): number {
    if (this.#ws.readyState !== WebSocket.OPEN) return Infinity
    const bytes = this.#ws.bufferedAmount
    this.#stalled = bytes > 0
    return bytes
  }

  ping(): number {
    this.#ping.writeUInt32BE(++this.#pings)
    this.#ws.ping(this.#ping, true, this.#sent)
    return this.#pings
  }

  close(code: number): void {
    this.#ws.close(code)
  }

  terminate(): void {
    this.#ws.terminate()
  }
}

/** What was never dialled. */
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
