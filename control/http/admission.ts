import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Rate } from '../../media/protocol.ts'
import { isOutage } from '../kernel/store/outage.ts'
import type { Store } from '../kernel/store/store.ts'
import { CURRENT_VERSION, VERSIONS } from '../kernel/versions/current.ts'
import { baseUrlOf, sendProblem } from './answer.ts'
import { authenticate, type Identity, keyHash, refusal } from './auth.ts'
import { isProblem, type Problem, problem } from './errors.ts'
import type { Route } from './route.ts'
import { type Deprecation, deprecationAt, deprecationHeaders, deprecationsOf } from './versions/deprecation.ts'
import type { KnownKeys } from './wire/known-keys.ts'
import { isPassedOn } from './wire/other-nodes.ts'

export interface AdmissionParts {
  store: Store
  now: () => Date
  rates: Rates
  /** Of each key. */
  rate: Rate
  keys: KnownKeys
}

/** 0: one more request of this subject may pass; otherwise the whole seconds after which to retry. */
export interface Rates {
  take(subject: string, rate: Rate): number | Promise<number>
}

/** Result of a Fastify hook that is still running, or has answered; undefined: the request continues. */
export type Later = Promise<unknown> | FastifyReply | undefined

/** The key of a request. */
interface KeyInUse {
  hash: string
  /** The client organisation inside which it acts; null: its own. */
  account: string | null
  /** Cache name of the key together with the account. */
  name: string
}

/** Admission to one operation: key, mode, scope, rate, version. A cached key passes synchronously. */
export class Admission {
  readonly #parts: AdmissionParts
  readonly #route: Route
  /** By version; each is derived at its first use. */
  readonly #deprecations = new Map<string, Deprecation[]>()

  constructor(parts: AdmissionParts, route: Route) {
    this.#parts = parts
    this.#route = route
  }

  #deprecationsIn(version: string): Deprecation[] {
    const known = this.#deprecations.get(version)
    if (known !== undefined) return known
    const found = deprecationsOf({ version, operation: this.#route.id })
    this.#deprecations.set(version, found)
    return found
  }

  admit(request: FastifyRequest, reply: FastifyReply): Later {
    const now = this.#parts.now()
    const hash = keyHash(request.headers.authorization)
    if (isProblem(hash)) return sendProblem(request, reply, hash)
    const account = headerText(request.headers['service-account'])
    const asking = { hash, account, name: account === null ? hash : `${hash} ${account}` }
    const believed = this.#parts.keys.believed(asking.name, now)
    if (believed !== undefined) return this.#enter(believed, now, request, reply)
    return this.#identityOf(asking, now).then(identity =>
      isProblem(identity) ? sendProblem(request, reply, identity) : this.#enter(identity, now, request, reply),
    )
  }

  /** The identity of the key from the store; while the store is unavailable, the cached one. */
  async #identityOf({ name, ...asking }: KeyInUse, now: Date): Promise<Identity | Problem> {
    const { store, keys } = this.#parts
    const read = { at: now, revision: keys.revision }
    try {
      const identity = await authenticate(store, asking, now)
      if (isProblem(identity)) keys.forget(name)
      else keys.remember(name, identity, read)
      return identity
    } catch (error) {
      const known = this.#route.withoutStore === true && isOutage(error) ? keys.find(name, now) : undefined
      if (known === undefined) throw error
      return known
    }
  }

  #enter(identity: Identity, now: Date, request: FastifyRequest, reply: FastifyReply): Later {
    request.identity = identity
    this.#tellVersion(versionOf(request, identity), now, request, reply)
    const refused = playgroundProblem(request, identity) ?? refusal(identity, this.#route)
    if (refused !== null) return sendProblem(request, reply, refused)
    const waitS = isPassedOn(request) ? 0 : this.#waitS(identity)
    return typeof waitS === 'number'
      ? this.#pass(waitS, identity, request, reply)
      : waitS.then(later => this.#pass(later, identity, request, reply))
  }

  /** The version that renders the answer, be it a refusal. */
  #tellVersion(apiVersion: string, now: Date, request: FastifyRequest, reply: FastifyReply): void {
    if (!VERSIONS.includes(apiVersion)) return
    if (apiVersion !== CURRENT_VERSION) reply.header('Service-Version', apiVersion)
    const deprecation = deprecationAt(this.#deprecationsIn(apiVersion), now)
    if (deprecation !== null) reply.headers(deprecationHeaders(deprecation, baseUrlOf(request)))
  }

  #pass(waitS: number, identity: Identity, request: FastifyRequest, reply: FastifyReply): Later {
    if (waitS > 0) {
      return sendProblem(request, reply, problem('rate_limited', 'Too many requests.', { retryAfterS: waitS }))
    }
    // The version that a key is pinned to may also be gone, after its sunset.
    const apiVersion = versionOf(request, identity)
    if (!VERSIONS.includes(apiVersion)) {
      const message = `There is no version ${apiVersion}; the current one is ${CURRENT_VERSION}.`
      return sendProblem(request, reply, problem('unknown_version', message, { param: 'Service-Version' }))
    }
    const idempotencyKey = headerText(request.headers['idempotency-key'])
    request.context = { ...identity, apiVersion, requestId: request.id, idempotencyKey }
    return undefined
  }

  /** Checks the key first, so that a key over its limit uses nothing of its organisation's. 0: it may pass. */
  #waitS({ apiKeyId, organisationId, requestsPerSecond }: Identity): number | Promise<number> {
    const { rates, rate } = this.#parts
    const waitS = rates.take(apiKeyId, rate)
    if (requestsPerSecond === null) return waitS
    const ofAll = { burst: BURST_S * requestsPerSecond, perSecond: requestsPerSecond }
    const next = (keyS: number) => (keyS > 0 ? keyS : rates.take(organisationId, ofAll))
    return typeof waitS === 'number' ? next(waitS) : waitS.then(next)
  }
}

/** Burst of an organisation's limit [s]. */
const BURST_S = 3

/** Specification, "Authentication" 3: the page under `/docs` sends this header. */
const playgroundProblem = ({ headers }: FastifyRequest, { livemode }: Identity): Problem | null =>
  livemode && headers['service-playground'] !== undefined
    ? problem('test_key_required', 'The playground takes test keys only.')
    : null

const versionOf = ({ headers }: FastifyRequest, { apiVersion }: Identity): string =>
  headerText(headers['service-version']) ?? apiVersion

const headerText = (value: string | string[] | undefined): string | null => (value === undefined ? null : String(value))
