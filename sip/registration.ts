import { type AgentCore, ALLOW } from './agent-core.ts'
import type { HeaderFields, Peer, Watch, Watching } from './agent-types.ts'
import { PING } from './message/framer.ts'
import { parseDeltaSeconds, parseNameAddr } from './message/headers.ts'
import { type SipResponse, toText } from './message/message.ts'
import { paramValue } from './message/params.ts'
import { parseUri, uriParam, userOf } from './message/uri.ts'
import { askOptions, giveUp, newOutsideSender, type OutsideSender, sendOutside, targetsOf } from './outside-request.ts'
import type { Deadline } from './transaction/deadlines.ts'

/** The expiry that we request, and the longest that a registrar may demand (423) [s]. */
const EXPIRES_S = 600
const MAX_EXPIRES_S = 86_400
/** Of a Service-Route: proxies, and characters of each. */
const MAX_HOPS = 5
const MAX_HOP = 500
/** A refresh is sent after this share of the granted time, at the earliest after this long [s]. */
const REFRESH_SHARE = 0.7
const REFRESH_SPREAD = 0.15
const MIN_REFRESH_S = 5
/** Interval of keep-alives (RFC 5626 §4.4.2), which keep NATs and firewalls open for the registrar's calls [s]. */
const KEEP_ALIVE_S = 24
const KEEP_ALIVE_SPREAD_S = 5
/**
 * Over UDP only OPTIONS shows whether the registrar can still be reached. One that has answered before has this long for each further
 * answer [ms].
 */
const ANSWER_MS = 10_000
/** Delay until a closed connection is opened again, counted from the registration, since some registrars close it after each answer [ms]. */
const REOPEN_MS = 1000
const LEAST_LASTED_MS = 60_000
/** Backoff after the first failure; it doubles with each further one up to the second value [s]. */
const RETRY_S = 10
const MAX_RETRY_S = 600

/**
 * The client's half of RFC 3261 §10.2: registers, refreshes before the expiry, retries with growing random backoff
 * (RFC 5626 §4.5), and unregisters when it is stopped.
 */
export class Registration implements Watching {
  readonly watch: Watch
  readonly #core: AgentCore
  readonly #sender: OutsideSender
  readonly #over: (now: number) => void
  #askS = EXPIRES_S
  #failures = 0
  #isRegistered = false
  #isStopping = false
  #timer: Deadline | null = null
  /** Where the last REGISTER went. */
  #peer: Peer | null = null
  #keepAlive: Deadline | null = null
  #grantedAt = 0
  /** Our address as the registrar saw it. It changes if a NAT has dropped our binding. */
  #seenAs: string | null = null
  /** Whether it answers OPTIONS; null: not known yet. */
  #answers: boolean | null = null
  #asker: OutsideSender | null = null
  #limit: Deadline | null = null

  /** @param over called once, after the stop, when the far end knows, or cannot be told */
  constructor(core: AgentCore, watch: Watch, over: (now: number) => void) {
    this.#core = core
    this.watch = watch
    this.#over = over
    this.#sender = newOutsideSender(core, targetsOf(watch), watch.credentials)
  }

  start(now: number): void {
    this.#register(now)
  }

  stop(now: number): void {
    if (this.#isStopping) return
    this.#isStopping = true
    this.#core.deadlines.cancel(this.#timer)
    this.#leaveWay()
    // A pending REGISTER may still succeed: its answer decides.
    if (this.#sender.isAsking) return
    if (this.#isRegistered) this.#unregister(now)
    else this.#over(now)
  }

  /** The registrar's calls arrive over this connection, so a new one is opened soon (RFC 5626 §4.5). */
  disconnected({ transport, host, port }: Peer, now: number): void {
    const peer = this.#peer
    if (peer === null || peer.transport !== transport || peer.host !== host || peer.port !== port) return
    this.#wayIsGone(now)
  }

  #wayIsGone(now: number): void {
    if (!this.#isRegistered || this.#isStopping || this.#sender.isAsking) return
    this.#core.deadlines.cancel(this.#timer)
    this.#leaveWay()
    const afterMs = Math.max(REOPEN_MS * (1 + this.#core.fraction()), this.#grantedAt + LEAST_LASTED_MS - now)
    this.#again(afterMs / 1000, now)
  }

  #register(now: number): void {
    this.#send(this.#askS, now, {
      response: (response, at) => this.#answered(response, at),
      failed: (cause, at) => this.#failed(cause === 'timeout' ? 408 : 503, null, at),
    })
  }

  #unregister(now: number): void {
    this.#send(0, now, { response: (_, at) => this.#over(at), failed: (_, at) => this.#over(at) })
  }

  #send(expiresS: number, now: number, user: Parameters<typeof sendOutside>[3]): void {
    const { uri, from, contactUser } = this.watch
    const headers = (to: Peer): HeaderFields => {
      this.#peer = to
      return [
        ['Contact', this.#core.contact(to, contactUser)],
        ['Expires', String(expiresS)],
        ['Allow', ALLOW],
      ]
    }
    sendOutside(this.#core, this.#sender, { method: 'REGISTER', uri, from, to: from, headers }, user, now)
  }

  #answered(response: SipResponse, now: number): void {
    const { status, headers } = response
    if (status < 300) {
      this.#seenAs = seenAs(response)
      this.#granted(this.#grantedS(response), serviceRouteOf(response), now)
      return
    }
    const wantedS = status === 423 ? (parseDeltaSeconds(headers.get('min-expires') ?? '') ?? 0) : 0
    if (!this.#isStopping && wantedS > this.#askS && wantedS <= MAX_EXPIRES_S) {
      this.#askS = wantedS
      this.#register(now)
      return
    }
    this.#failed(status, parseDeltaSeconds(headers.get('retry-after') ?? ''), now)
  }

  #granted(grantedS: number, serviceRoute: readonly string[], now: number): void {
    this.#isRegistered = true
    this.#failures = 0
    this.#grantedAt = now
    this.#answers ||= null
    if (this.#isStopping) {
      this.#unregister(now)
      return
    }
    this.#core.report(this.watch.watchId, 'registered', null, serviceRoute)
    this.#keepOpen(now)
    const share = REFRESH_SHARE + REFRESH_SPREAD * this.#core.fraction()
    this.#again(Math.max(MIN_REFRESH_S, Math.min(grantedS, MAX_EXPIRES_S) * share), now)
  }

  #keepOpen(now: number): void {
    const { deadlines } = this.#core
    this.#leaveWay()
    const afterS = KEEP_ALIVE_S + KEEP_ALIVE_SPREAD_S * this.#core.fraction()
    this.#keepAlive = deadlines.set(now + afterS * 1000, at => {
      this.#core.send(PING, this.#peer!)
      this.#keepOpen(at)
      if (this.#peer!.transport === 'udp' && this.#answers !== false) this.#ask(this.#peer!, at)
    })
  }

  #leaveWay(): void {
    this.#core.deadlines.cancel(this.#keepAlive)
    this.#core.deadlines.cancel(this.#limit)
    if (this.#asker !== null) giveUp(this.#core, this.#asker)
    this.#asker = null
  }

  #ask(peer: Peer, now: number): void {
    const asker = newOutsideSender(this.#core, [peer], null)
    const unanswered = (at: number): void => {
      if (this.#answers === true) this.#wayIsGone(at)
      else this.#answers = false
    }
    this.#asker = asker
    this.#limit = this.#core.deadlines.set(now + ANSWER_MS, at => {
      giveUp(this.#core, asker)
      unanswered(at)
    })
    askOptions(
      this.#core,
      asker,
      this.watch,
      {
        response: (response, at) => {
          this.#core.deadlines.cancel(this.#limit)
          this.#answers = true
          const seen = seenAs(response)
          if (seen !== null && this.#seenAs !== null && seen !== this.#seenAs) this.#wayIsGone(at)
        },
        failed: (_, at) => {
          this.#core.deadlines.cancel(this.#limit)
          unanswered(at)
        },
      },
      now,
    )
  }

  /** The time of our own contact among all that the registrar lists (RFC 3261 §10.2.4). */
  #grantedS({ headers }: SipResponse): number {
    for (const value of headers.list('contact')) {
      const contact = parseNameAddr(value)
      const uri = contact === null ? null : parseUri(contact.uri)
      if (contact === null || uri === null || 'error' in uri || userOf(uri) !== this.watch.contactUser) continue
      const given = parseDeltaSeconds(paramValue(contact.params, 'expires') ?? '')
      if (given !== null) return given
    }
    return parseDeltaSeconds(headers.get('expires') ?? '') ?? this.#askS
  }

  #failed(status: number, retryAfterS: number | null, now: number): void {
    if (this.#isStopping) {
      this.#over(now)
      return
    }
    this.#isRegistered = false
    this.#leaveWay()
    this.#core.report(this.watch.watchId, 'unreachable', status)
    const pauseS = Math.min(MAX_RETRY_S, RETRY_S * 2 ** this.#failures++)
    const spreadS = pauseS * (0.5 + this.#core.fraction() / 2)
    this.#again(Math.max(spreadS, Math.min(retryAfterS ?? 0, MAX_RETRY_S)), now)
  }

  #again(afterS: number, now: number): void {
    this.#timer = this.#core.deadlines.set(now + afterS * 1000, at => this.#register(at))
  }
}

/** The address from which our request arrived (RFC 3581 §4), if the response states it. */
function seenAs({ via }: SipResponse): string | null {
  const received = paramValue(via.params, 'received')
  return received === null || via.rport === null ? null : `${received} ${via.rport}`
}

/** The way of calls from now on, as the registrar wants it (RFC 3608 §6.1); none where it is too long, or not a way of loose routers. */
function serviceRouteOf({ headers }: SipResponse): string[] {
  const values = headers.list('service-route')
  const isWay = (value: string): boolean => {
    const hop = parseNameAddr(value)
    const uri = hop === null ? null : parseUri(hop.uri)
    return uri !== null && 'host' in uri && uriParam(uri, 'lr') !== null && value.length <= MAX_HOP
  }
  return values.length <= MAX_HOPS && values.every(isWay) ? values.map(toText) : []
}
