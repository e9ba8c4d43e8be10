import { OwnAddresses } from '../../media/kernel/own-addresses.ts'
import { SipEndpoint } from '../../media/signalling/endpoint/sip-endpoint.ts'
import { Names } from '../../media/signalling/names.ts'
import type { HeaderFields, UaEvent } from '../../sip/agent-types.ts'
import { bracketed } from '../../sip/message/uri.ts'
import { freePort } from '../free-port.ts'
import { PhoneAudio } from './phone-audio.ts'
import { type MediaOptions, PhoneCall } from './phone-call.ts'

const HOST = '127.0.0.1'
/** Maximum time for the last BYEs when a phone is closed [ms]. */
const FAREWELL_MS = 1000

export interface DialOptions extends MediaOptions {
  transport?: 'udp' | 'tcp'
  /** Sends INVITE without an offer: the other side offers in its 200, and we answer in the ACK. */
  lateOffer?: boolean
  headers?: HeaderFields
  /** Default 70. */
  maxForwards?: number
  /** Credentials, if the other side challenges the call. */
  account?: { username: string; password: string }
}

export interface SipAddress {
  host: string
  port: number
}

const open = new Set<Phone>()

/** A small SIP phone over real sockets: places and takes calls, sends the audio of its voice, and keeps what it hears. */
export class Phone {
  readonly name: string
  readonly host: string
  readonly port: number
  readonly #sip: SipEndpoint
  readonly #calls = new Map<string, PhoneCall>()
  readonly #waiting: PhoneCall[] = []
  readonly #takers: ((call: PhoneCall) => void)[] = []
  /** To be called with the result of a registration: null, or the status that refused it. */
  #registering: (refused: number | null) => void = () => {}
  /** Media options of calls that it takes. */
  readonly #incoming: MediaOptions

  private constructor(name: string, host: string, port: number, incoming: MediaOptions) {
    this.name = name
    this.host = host
    this.port = port
    this.#incoming = incoming
    this.#sip = new SipEndpoint({
      addresses: new OwnAddresses([host], []),
      port,
      names: new Names(),
      productName: 'tandem-phone',
      optionsStatus: () => ({ status: 200 }),
      onEvent: event => this.#onEvent(event),
      onWatch: ({ status, sipCode }) => this.#registering(status === 'registered' ? null : sipCode),
    })
  }

  /** Opens a phone on free ports of a loopback address. `incoming`: media options of calls that it takes. */
  static async open(name = 'phone', incoming: MediaOptions = {}, host = HOST): Promise<Phone> {
    const phone = new Phone(name, host, await freePort(host), incoming)
    await phone.#sip.listen()
    open.add(phone)
    return phone
  }

  /** Closes every phone of this process, such as those that a failed test left open. */
  static async closeAll(): Promise<void> {
    await Promise.all([...open].map(phone => phone.close()))
  }

  /** The URI at which the phone can be called. */
  get uri(): string {
    return `sip:${this.name}@${bracketed(this.host)}:${this.port}`
  }

  /** Registers at `server` with a member's SIP account; throws if the registrar refuses. */
  register(account: { username: string; password: string }, server: SipAddress): Promise<void> {
    const { username } = account
    const registered = new Promise<void>((resolve, reject) => {
      this.#registering = status => (status === null ? resolve() : reject(new Error(`REGISTER got ${status}`)))
    })
    const watch = {
      watchId: this.name,
      kind: 'register' as const,
      uri: `sip:${bracketed(server.host)}:${server.port}`,
      from: `sip:${username}@${bracketed(server.host)}`,
      contactUser: this.name,
      target: { transport: 'udp' as const, ...server },
      credentials: account,
    }
    this.#sip.do((agent, now) => agent.watch(watch, now))
    return registered
  }

  /** Dials `user` at `server` and resolves when the INVITE is on its way. */
  async dial(user: string, server: SipAddress, options: DialOptions = {}): Promise<PhoneCall> {
    const call = new PhoneCall(this.#sip, await PhoneAudio.open(this.host), this.host, options)
    const sessionId = this.#sip.invite({
      to: `sip:${user}@${bracketed(server.host)}:${server.port}`,
      from: options.account === undefined ? this.uri : `sip:${options.account.username}@${bracketed(server.host)}`,
      ...(options.account === undefined ? {} : { credentials: options.account }),
      target: { transport: options.transport ?? 'udp', ...server },
      ...(options.lateOffer === true ? {} : { body: call.makeFirstOffer() }),
      ...(options.headers === undefined ? {} : { headers: options.headers }),
      ...(options.maxForwards === undefined ? {} : { maxForwards: options.maxForwards }),
    })
    call.begin(sessionId)
    this.#calls.set(sessionId, call)
    return call
  }

  /** Dials, and resolves when the call is answered. Throws if it is refused. */
  async call(user: string, server: SipAddress, options: DialOptions = {}): Promise<PhoneCall> {
    const call = await this.dial(user, server, options)
    const outcome = await call.outcome
    if (!('origin' in outcome)) return call
    // Who refused, and when to try again, tell the reasons of one status apart.
    const { status, reason, origin, retryAfterS } = outcome
    const again = retryAfterS === null ? '' : `, Retry-After: ${retryAfterS}`
    throw new Error(`${this.name} called ${user} and got ${status} ${reason} (${origin}${again})`)
  }

  /** Resolves with the next incoming call, which is to be answered (`answer`), rung (`ring`) or refused (`reject`). */
  next(): Promise<PhoneCall> {
    const call = this.#waiting.shift()
    return call === undefined ? new Promise(resolve => this.#takers.push(resolve)) : Promise.resolve(call)
  }

  /** Hangs up all calls, waits until the far ends have confirmed that, and closes. Idempotent. */
  async close(): Promise<void> {
    if (!open.delete(this)) return
    for (const call of this.#calls.values()) void call.hangup()
    const limit = performance.now() + FAREWELL_MS
    while (this.#sip.sessionCount > 0 && performance.now() < limit) await new Promise(later => setTimeout(later, 5))
    this.#sip.close()
    for (const call of this.#calls.values()) call.audio.close()
  }

  #onEvent(event: UaEvent): void {
    if (event.kind === 'incoming') void this.#ringing(event)
    else this.#calls.get(event.sessionId)?.onEvent(event)
    if (event.kind === 'ended' || event.kind === 'rejected') this.#calls.delete(event.sessionId)
  }

  async #ringing({ sessionId, offer }: Extract<UaEvent, { kind: 'incoming' }>): Promise<void> {
    const call = new PhoneCall(this.#sip, await PhoneAudio.open(this.host), this.host, this.#incoming, offer)
    call.begin(sessionId)
    this.#calls.set(sessionId, call)
    const taker = this.#takers.shift()
    if (taker === undefined) this.#waiting.push(call)
    else taker(call)
  }
}
