import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { Destination, HeaderFields, Peer } from '../../sip/agent-types.ts'
import { destinationOfUri } from '../../sip/destination.ts'
import { dialledNumber } from '../../sip/identity/dialled-number.ts'
import type { Redirect } from '../../sip/identity/redirects.ts'
import { canonicalNumber } from '../../sip/identity/telephone-number.ts'
import { parseUri } from '../../sip/message/uri.ts'
import { atMost } from '../protocol/at-most.ts'
import { type DialTarget, type EndedReason, MAX_REDIRECTS as MAX_TOLD } from '../protocol.ts'
import { firstHop } from './proxies.ts'

/** A far end that has not even sent 100 by then, or whose name nobody has told, is abandoned for the next, if there is one or it was silent before [ms]. */
export const PATIENCE_MS = 4000
/** Final statuses after which the next way is tried, where a target names none (RFC 3263 §4.3). */
const TRY_NEXT_ON: readonly number[] = [503]
/** A host that did not answer, or said 503 without a time, is tried after all others for this long [ms]. */
const REST_MS = 30_000
const MAX_REST_MS = 10 * 60_000
const MAX_RESTING = 10_000
/** Redirections of one call that are followed (RFC 3261 §8.1.3.4). */
const MAX_REDIRECTS = 5

/** RFC 3261 §21.3.4. */
const USE_PROXY = 305

/** One address for a call, and the parameters of a call there. */
export interface Way {
  target: DialTarget
  peer: Peer
  /** Makes the signature, as header fields; absent: none. */
  signature?: HeaderFields
}

/** Why an attempt failed. */
export interface Refusal {
  status: number
  /** `local`: 408, nothing came back; 503, it could not be sent. */
  origin: 'local' | 'remote'
  retryAfterS: number | null
  /** Contact URIs of a 3xx, most preferred first. */
  contacts: readonly string[]
  /** Whom the call was for before, as a 3xx says. */
  redirects: readonly Redirect[]
}

/** Far ends that were of no use a moment ago: they are tried last. Bounded. */
export class Resting {
  readonly #resting: LRUCache<string, true>

  constructor(now: () => number) {
    this.#resting = new LRUCache({ ...atMost(MAX_RESTING), ttl: REST_MS, ttlResolution: 0, perf: { now } })
  }

  has(peer: Peer): boolean {
    return this.#resting.has(keyOf(peer))
  }

  add(peer: Peer, { retryAfterS }: Pick<Refusal, 'retryAfterS'>): void {
    const ttl = retryAfterS === null ? REST_MS : Math.min(retryAfterS * 1000, MAX_REST_MS)
    if (ttl > 0) this.#resting.set(keyOf(peer), true, { ttl })
  }

  remove(peer: Peer): void {
    this.#resting.delete(keyOf(peer))
  }
}

const keyOf = ({ transport, host, port }: Peer): string => `${transport} ${host} ${port}`

/**
 * The targets named by a far end that may be called. `reason`: if there are none, the call ends with it; null: as after any refusal.
 */
export interface Allowed {
  to: readonly string[]
  reason: EndedReason | null
}

/** The targets that a far end has named (3xx), until it is known which may be called. */
interface Named {
  by: DialTarget
  redirects: readonly Redirect[]
  /** By Contact: what differs from the far end that named it. */
  contacts: ReadonlyMap<string, Partial<DialTarget>>
}

/** Signs a call as its target requires. `received`: Identity header fields of the forwarded call. Never rejects. */
export type Sign = (target: DialTarget, received?: readonly string[]) => Promise<HeaderFields>

interface WaysOptions {
  targets: readonly DialTarget[]
  locate: (to: Destination) => Promise<Peer[]>
  /** How long silent name servers hold the call up if there is another host [ms]; absent: as long as a silent host. */
  patienceMs?: number
  resting: Resting
  /** Absent: no call is signed. */
  sign?: Sign
  /** Decides which targets named by a far end may be called. Never rejects. */
  mayCall: (by: DialTarget, contacts: readonly string[]) => Promise<Allowed>
}

interface Host {
  target: DialTarget
  to: Destination
}

/** All that one call may be placed over, in order: target by target, of each host by host, of each address by address. */
export class Ways {
  readonly #options: WaysOptions
  /** What the call was for, and over which connection, when it was dialled. */
  readonly first: DialTarget
  readonly #targets: DialTarget[]
  /** Hosts of the current target that are not looked up yet. */
  #hosts: Host[] = []
  #found: Way[] = []
  /** Resting hosts: tried if there is nothing better. */
  #later: Way[] = []
  /** Hosts whose name servers were silent: looked up again last, and then awaited. */
  #unlocated: Host[] = []
  #awaitsNames = false
  #redirects = 0
  #named: Named | null = null
  /** Targets that a 3xx has led to. */
  readonly #contacts = new Set<DialTarget>()
  /** None of the targets that a far end named may be called: the call ends with that reason. */
  refusal: EndedReason | null = null

  constructor(options: WaysOptions) {
    this.#options = options
    this.first = options.targets[0]!
    this.#targets = [...options.targets]
  }

  /** Whether one more may follow. */
  get hasMore(): boolean {
    const left = [this.#found, this.#hosts, this.#targets, this.#later, this.#unlocated]
    return left.some(({ length }) => length > 0)
  }

  /** The next one to try; null: that was all. Never rejects. */
  async next(): Promise<Way | null> {
    const { sign } = this.#options
    const way = await this.#find()
    if (way?.target.identity?.sign === undefined || sign === undefined) return way
    return { ...way, signature: await sign(way.target) }
  }

  async #find(): Promise<Way | null> {
    const { resting } = this.#options
    for (;;) {
      if (this.#named !== null) await this.#follow(this.#named)
      const way = this.#found.shift()
      if (way !== undefined) {
        if (!resting.has(way.peer)) return way
        this.#later.push(way)
        continue
      }
      const host = this.#hosts.shift()
      if (host !== undefined) {
        await this.#locate(host)
        continue
      }
      const target = this.#targets.shift()
      if (target === undefined) {
        const last = this.#later.shift() ?? null
        if (last !== null || this.#unlocated.length === 0) return last
        this.#awaitsNames = true
        this.#hosts = this.#unlocated.splice(0)
        continue
      }
      this.#hosts = destinationsOf(target).map(to => ({ target, to }))
    }
  }

  async #locate(host: Host): Promise<void> {
    const { locate, patienceMs = PATIENCE_MS } = this.#options
    const found = locate(host.to)
    const inTime = this.#awaitsNames || !this.hasMore ? found : within(found, patienceMs)
    const peers = await inTime
    if (peers === null) this.#unlocated.push(host)
    else this.#found = peers.map(peer => ({ target: host.target, peer }))
  }

  /** Nothing else of this target, whose turn it is, is tried. */
  #leave(left: DialTarget): void {
    this.#found = []
    this.#hosts = []
    this.#unlocated = this.#unlocated.filter(({ target }) => target !== left)
  }

  /** Whether the call continues elsewhere after a failed attempt. */
  mayGoOn({ target, peer }: Way, refusal: Refusal): boolean {
    const { status, origin } = refusal
    const isRedirect = status >= 300 && status < 400 && target.followRedirects === true
    if (isRedirect) return this.#redirect(target, refusal)
    const isOfNoUse = origin === 'local' || status === 503
    if (isOfNoUse) this.#options.resting.add(peer, refusal)
    const isCause = origin === 'local' || (target.tryNextOn ?? TRY_NEXT_ON).includes(status)
    return isCause ? this.hasMore : status < 600 && this.#mayTryNextContact(target)
  }

  /** Whether, after the failure of a Contact of a 3xx, the next one is tried: unless the failure is global (RFC 3261 §8.1.3.4). */
  #mayTryNextContact(failed: DialTarget): boolean {
    const next = this.#targets[0]
    if (next === undefined || !this.#contacts.has(failed) || !this.#contacts.has(next)) return false
    this.#leave(failed)
    return true
  }

  /** It has answered, in whatever way. */
  heard({ peer }: Way): void {
    this.#options.resting.remove(peer)
  }

  #redirect(target: DialTarget, { status, contacts, redirects }: Refusal): boolean {
    if (status === USE_PROXY) return this.#useProxy(target, contacts)
    const named = contacts.flatMap(contact => namedBy(target, contact)).slice(0, MAX_REDIRECTS)
    if (named.length === 0 || this.#redirects++ >= MAX_REDIRECTS) return false
    this.#named = { by: target, redirects, contacts: new Map(named) }
    return true
  }

  /** Sends the call to its target through one of these proxies. No one else is called, so control is not asked. */
  #useProxy(target: DialTarget, contacts: readonly string[]): boolean {
    const proxies = contacts.filter(contact => destinationOfUri(contact) !== null).slice(0, MAX_REDIRECTS)
    if (proxies.length === 0 || this.#redirects++ >= MAX_REDIRECTS) return false
    const routes = proxies.map(proxy => [`<${/;lr\b/i.test(proxy) ? proxy : `${proxy};lr`}>`])
    this.#leave(target)
    this.#targets.unshift(...routes.map(route => ({ ...target, ...ELSEWHERE, route })))
    return true
  }

  async #follow({ by, redirects, contacts }: Named): Promise<void> {
    this.#named = null
    this.#leave(by)
    const { to, reason } = await this.#options.mayCall(by, [...contacts.keys()])
    if (to.length === 0) {
      // Other connections are not tried, since they would be redirected alike. Contacts named beside this one still are.
      const beside = this.#targets.filter(one => this.#contacts.has(one))
      this.#targets.splice(0, this.#targets.length, ...beside)
      this.#later = []
      this.#unlocated = []
      this.refusal = reason
    }
    // Targets named by a far end have the far end's restrictions.
    const named = to.map(uri => ({ ...sentOn(by, redirects, uri), ...contacts.get(uri), uri }))
    for (const one of named) this.#contacts.add(one)
    this.#targets.unshift(...named)
  }
}

/** How long an attempt may go without any answer; nothing: until the INVITE's transaction ends (RFC 3261 §17.1.1.2, Timer B). */
export const patienceWith = ({ target }: Way, { hasMore }: Ways): { patienceMs?: number } =>
  hasMore || target.isSilent === true ? { patienceMs: PATIENCE_MS } : {}

/** Null: it is not there after so long. */
async function within<T>(pending: Promise<T>, ms: number): Promise<T | null> {
  const end = new AbortController()
  const late = sleep(ms, null, { signal: end.signal }).catch(() => null)
  return Promise.race([pending, late]).finally(() => end.abort())
}

/** A target elsewhere gets no route of ours, and not our password. */
const ELSEWHERE = { hosts: [], route: [], credentials: null, isSilent: false }

/** The target that a Contact of a 3xx means; empty: it cannot be called. A number is called at the far end that named it (RFC 3261 §19.1.6). */
function namedBy(by: DialTarget, contact: string): (readonly [string, Partial<DialTarget>])[] {
  const uri = parseUri(contact)
  if ('error' in uri || uri.scheme !== 'tel') return destinationOfUri(contact) === null ? [] : [[contact, ELSEWHERE]]
  const number = dialledNumber(uri)?.replaceAll('#', '%23') ?? null
  return number === null ? [] : [[by.uri.replace(/^(sips?:)(?:[^@]*@)?/i, `$1${number}@`), {}]]
}

/** The next target is told whom the call was for (RFC 5806 §6.3). */
function sentOn(target: DialTarget, said: readonly Redirect[], to: string): DialTarget {
  const { identity, uri } = target
  if (identity === undefined) return target
  const own: Redirect = { uri, reason: 'unconditional', count: 1, isPrivate: false }
  const redirects = [...(said.length > 0 ? said : [own]), ...identity.redirects]
  const { sign, ...plain } = identity
  const signed = sign === undefined ? null : signedFor(to)
  return {
    ...target,
    identity: {
      ...plain,
      redirects: redirects.slice(0, MAX_TOLD),
      ...(sign === undefined || signed === null ? {} : { sign: { ...sign, to: signed } }),
    },
  }
}

/** The number that a call to this URI is signed for; null: none that is unambiguous. */
function signedFor(text: string): string | null {
  const uri = parseUri(text)
  const number = 'error' in uri ? null : dialledNumber(uri)
  return number?.startsWith('+') ? canonicalNumber(number) : null
}

function destinationsOf({ uri, hosts, route = [], publicOnly }: DialTarget): Destination[] {
  const next = route.length === 0 ? destinationOfUri(uri) : firstHop(route)
  const isNext = hosts.length === 0 || hosts[0]!.node !== undefined
  const named: Destination[] = isNext ? [next].filter(to => to !== null) : hosts
  return named.map(to => (publicOnly ? { ...to, publicOnly } : to))
}

/** What a call for a transfer says about it. */
export const transferFields = ({ replaces, referredBy }: DialTarget): HeaderFields => [
  ...(replaces === undefined ? [] : [['Require', 'replaces'] as const, ['Replaces', replaces] as const]),
  ...(referredBy === undefined ? [] : [['Referred-By', referredBy] as const]),
]
