import type {
  Action,
  AskEvent,
  Destination,
  MessageReport,
  Peer,
  RegisterEvent,
  UaEvent,
  UserAgentOptions,
  WatchReport,
} from '../../sip/user-agent.ts'
import { UserAgent } from '../../sip/user-agent.ts'

export interface Sent {
  at: number
  text: string
  to: Peer
}

type Handler = (event: UaEvent, party: Party) => void

/** A user agent with a log of the messages that it sent and the events that it reported. */
export class Party {
  readonly agent: UserAgent
  readonly peer: Peer
  readonly events: UaEvent[] = []
  readonly sent: Sent[] = []
  onEvent: Handler = () => {}
  onRegister: (register: RegisterEvent) => void = () => {}
  readonly registers: RegisterEvent[] = []
  readonly watched: WatchReport[] = []
  onAsk: (ask: AskEvent) => void = () => {}
  readonly asks: AskEvent[] = []
  readonly unsubscribed: string[] = []
  readonly messages: MessageReport[] = []
  /** Resolves a name; null: the answer comes later, see `waiting`. */
  locate: (target: Destination) => Peer[] | null = ({ transport, host, port, ...marks }) => [
    { ...marks, transport: transport ?? 'udp', host, port: port ?? 5060 },
  ]
  readonly waiting: Extract<Action, { kind: 'locate' }>[] = []
  readonly pipe: Pipe

  constructor(pipe: Pipe, host: string, options: Partial<UserAgentOptions> = {}, transport: Peer['transport'] = 'udp') {
    this.pipe = pipe
    this.peer = { transport, host, port: 5060 }
    let count = 0
    this.agent = new UserAgent({
      name: 'Test',
      local: () => ({ host, port: 5060 }),
      random: () => `${host.replaceAll('.', 'x')}n${++count}`,
      ...options,
    })
    pipe.parties.push(this)
  }

  do(actions: Action[]): void {
    for (const action of actions) {
      if (action.kind === 'event') {
        this.events.push(action.event)
        this.onEvent(action.event, this)
      } else if (action.kind === 'register') {
        this.registers.push(action.register)
        this.onRegister(action.register)
      } else if (action.kind === 'watch') this.watched.push(action.report)
      else if (action.kind === 'ask') {
        this.asks.push(action.ask)
        this.onAsk(action.ask)
      } else if (action.kind === 'unsubscribed') this.unsubscribed.push(action.subscriptionId)
      else if (action.kind === 'message') this.messages.push(action.report)
      else if (action.kind === 'locate') {
        const ways = this.locate(action.target)
        if (ways !== null) this.do(this.agent.located(action.locationId, ways, this.pipe.now))
        else this.waiting.push(action)
      } else {
        this.sent.push({ at: this.pipe.now, text: Buffer.from(action.bytes).toString('latin1'), to: action.to })
        this.pipe.carry(this, action.bytes, action.to)
      }
    }
  }

  kinds(): string[] {
    return this.events.map(event => event.kind)
  }

  /** The only event of a kind. */
  event<K extends UaEvent['kind']>(kind: K): Extract<UaEvent, { kind: K }> {
    const found = this.events.filter(event => event.kind === kind)
    if (found.length !== 1) throw new Error(`${found.length} ${kind} events, wanted one: ${this.kinds()}`)
    return found[0] as Extract<UaEvent, { kind: K }>
  }

  /** Sent messages whose first line starts with this. */
  sentLike(start: string): Sent[] {
    return this.sent.filter(({ text }) => text.startsWith(start))
  }
}

interface Flight {
  at: number
  bytes: Uint8Array
  from: Party
  to: Peer
}

/** A network and a clock in memory: datagrams take `delayMs`, and may be lost (`lose`) or delayed further (`jitterMs`). */
export class Pipe {
  now = 0
  readonly parties: Party[] = []
  delayMs = 1
  lose: (text: string, from: Party) => boolean = () => false
  /** Changes to a message in transit, for example an Allow without a method. */
  alter: (text: string, from: Party) => string = text => text
  jitterMs: () => number = () => 0
  #flights: Flight[] = []

  carry(from: Party, bytes: Uint8Array, to: Peer): void {
    const text = Buffer.from(bytes).toString('latin1')
    if (this.lose(text, from)) return
    const altered = Buffer.from(this.alter(text, from), 'latin1')
    this.#flights.push({ at: this.now + this.delayMs + this.jitterMs(), bytes: altered, from, to })
  }

  /** Moves the clock on, and does everything that falls due meanwhile. */
  run(untilMs: number): void {
    for (;;) {
      const flight = this.#flights.reduce<Flight | null>((a, b) => (a === null || b.at < a.at ? b : a), null)
      const due = this.parties.map(party => party.agent.nextDeadline() ?? Infinity)
      const next = Math.min(flight?.at ?? Infinity, ...due)
      if (next > untilMs) break
      this.now = Math.max(this.now, next)
      if (flight !== null && flight.at <= next) {
        this.#flights = this.#flights.filter(one => one !== flight)
        const target = this.parties.find(party => party.peer.host === flight.to.host)
        target?.do(target.agent.receive(flight.bytes, flight.from.peer, this.now))
      } else for (const party of this.parties) party.do(party.agent.advance(this.now))
    }
    this.now = untilMs
  }
}

/** An `alter` for far ends that do not support UPDATE. */
export const withoutUpdate = (text: string): string => text.replace(/, UPDATE\b/, '')

export const body = (text: string) => ({ type: 'application/sdp', bytes: Buffer.from(text) })
export const textOf = (one: { bytes: Uint8Array } | null): string | null =>
  one === null ? null : Buffer.from(one.bytes).toString()

/** Joins lines to a message, with CRLF. */
export const message = (...lines: string[]): Uint8Array => Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'utf8')
