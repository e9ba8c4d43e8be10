import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { isOutage } from '../kernel/store/outage.ts'
import type { Store } from '../kernel/store/store.ts'
import { CURRENT_VERSION, VERSIONS } from '../kernel/versions/current.ts'
import { asItIs, baseUrlOf, EMPTY_PART, hasEmptyPart, NOT_JSON, pathOf, sendProblem, sendText } from './answer.ts'
import { authenticate, type Identity, keyHash, refusal } from './auth.ts'
import { type Asking, contextOf } from './context.ts'
import { type ErrorCode, isProblem, type Problem, problem } from './errors.ts'
import { type Attempt, beginAttempt, type Entry, endAttempt, MAX_KEY_LENGTH, type Outcome } from './idempotency.ts'
import { RateLimiter } from './limits.ts'
import { isRaw, type Route, type Upload } from './route.ts'
import { type Deprecation, deprecationAt, deprecationHeaders, deprecationsOf } from './versions/deprecation.ts'
import { contentProblem } from './wire/content.ts'
import { type KnownKeys, knownKeysOf } from './wire/known-keys.ts'
import { readMultipart, uploadBodyLimit } from './wire/multipart.ts'
import { type OlderRoute, olderVersionsOf } from './wire/older-versions.ts'
import { describedSchema, routeSchema } from './wire/openapi.ts'
import { loggedPath, type RequestLog } from './wire/request-log.ts'

export interface PipelineParts {
  store: Store
  now: () => Date
  log: Logger
  rate: { burst: number; perSecond: number }
  /** Absent: requests are not written down. */
  requestLog?: RequestLog
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Whose key it is, as soon as that is known. */
    identity: Identity | null
    context: Asking | null
    attempt: (Attempt & { entry: Entry }) | null
    /** The error that it is answered with. */
    failure: ErrorCode | null
  }
  interface FastifyContextConfig {
    upload?: Upload
  }
}

const JSON_TYPE = 'application/json'
const CONTEXT_OF_NOBODY = 'a handler runs only behind authentication'

/**
 * Puts operations below `/v1`: each request passes key, mode, scope, rate, version, idempotency and schema, in this order,
 * before its handler.
 */
export async function mountOperations(app: FastifyInstance, routes: Route[], parts: PipelineParts): Promise<void> {
  const limiter = new RateLimiter(parts.rate)
  const keys = knownKeysOf(parts.store)
  const add = async (v1: FastifyInstance): Promise<void> => {
    for (const route of routes) addOperation(v1, route, { limiter, keys }, parts)
  }
  await app.register(add, { prefix: '/v1' })
}

interface Doors {
  limiter: RateLimiter
  keys: KnownKeys
}

function addOperation(v1: FastifyInstance, route: Route, doors: Doors, parts: PipelineParts): void {
  const versions = olderVersionsOf(route)
  const deprecations = new Map(VERSIONS.map(version => [version, deprecationsOf({ version, operation: route.id })]))
  const toPath = loggedPath(`/v1${route.path}`)
  v1.route({
    method: route.method,
    url: route.path,
    exposeHeadRoute: route.method === 'GET',
    schema: routeSchema(route),
    ...(route.upload === undefined ? {} : { bodyLimit: uploadBodyLimit(route.upload) }),
    config: {
      swaggerTransform: ({ url }) => ({ schema: describedSchema(route), url }),
      ...(route.upload === undefined ? {} : { upload: route.upload }),
    },
    onRequest: (request, reply) => admit(parts, { ...doors, deprecations }, route, request, reply),
    preValidation: async (request, reply) => {
      await enterAttempt(parts, route, request, reply)
      if (!reply.sent) await readOlder(versions, request, reply)
    },
    onSend: (request, reply, payload) => leaveAttempt(parts, request, reply, payload),
    onResponse: (request, reply, done) => {
      logRequest(parts, { route, toPath }, request, reply)
      done()
    },
    handler: (request, reply) => handle(parts, route, versions, request, reply),
  })
}

/** Specification, "Authentication" 3: the page under `/docs` sends this header. */
const playgroundProblem = ({ headers }: FastifyRequest, { livemode }: Identity): Problem | null =>
  livemode && headers['service-playground'] !== undefined
    ? problem('test_key_required', 'The playground takes test keys only.')
    : null

/** Whose key it is, as the store says; or as it said, while it is away. */
async function identityOf(
  { store }: PipelineParts,
  keys: KnownKeys,
  route: Route,
  { hash, now }: { hash: string; now: Date },
): Promise<Identity | Problem> {
  const read = { at: now, revision: keys.revision }
  try {
    const identity = await authenticate(store, hash, now)
    if (isProblem(identity)) keys.forget(hash)
    else keys.remember(hash, identity, read)
    return identity
  } catch (error) {
    const known = route.withoutStore === true && isOutage(error) ? keys.find(hash, now) : undefined
    if (known === undefined) throw error
    return known
  }
}

/** Key, mode, scope, rate, version. */
async function admit(
  parts: PipelineParts,
  { limiter, keys, deprecations }: Doors & { deprecations: ReadonlyMap<string, Deprecation[]> },
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  if (hasEmptyPart(pathOf(request))) return sendProblem(request, reply, problem('resource_missing', EMPTY_PART))
  const now = parts.now()
  const hash = keyHash(request.headers.authorization)
  if (isProblem(hash)) return sendProblem(request, reply, hash)
  const identity = keys.believed(hash, now) ?? (await identityOf(parts, keys, route, { hash, now }))
  if (isProblem(identity)) return sendProblem(request, reply, identity)
  request.identity = identity
  const refused = playgroundProblem(request, identity) ?? refusal(identity, route)
  if (refused !== null) return sendProblem(request, reply, refused)
  const waitS = limiter.take(identity.apiKeyId, now.getTime())
  if (waitS > 0) {
    return sendProblem(request, reply, problem('rate_limited', 'Too many requests.', { retryAfterS: waitS }))
  }
  // The version that a key is pinned to may be gone as well, once it is past its sunset.
  const apiVersion = headerText(request.headers['service-version']) ?? identity.apiVersion
  if (!VERSIONS.includes(apiVersion)) {
    const message = `There is no version ${apiVersion}; the current one is ${CURRENT_VERSION}.`
    return sendProblem(request, reply, problem('unknown_version', message, { param: 'Service-Version' }))
  }
  reply.header('Service-Version', apiVersion)
  const deprecation = deprecationAt(deprecations.get(apiVersion) ?? [], now)
  if (deprecation !== null) reply.headers(deprecationHeaders(deprecation, baseUrlOf(request)))
  const idempotencyKey = headerText(request.headers['idempotency-key'])
  request.context = { ...identity, apiVersion, requestId: request.id, idempotencyKey }
}

/** Idempotency, and `{}` for an absent body, so that the schema names the parameter that is missing. */
async function enterAttempt(
  parts: PipelineParts,
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  if (request.isMultipart()) {
    const read = route.upload === undefined ? NOT_JSON : await readMultipart(request, route.upload)
    if (isProblem(read)) return sendProblem(request, reply, read)
    request.body = read
  }
  if (route.method !== 'GET') request.body ??= {}
  const refused = contentProblem(request.params) ?? contentProblem(request.query) ?? contentProblem(request.body)
  if (refused !== null) return sendProblem(request, reply, refused)
  const key = request.context?.idempotencyKey ?? null
  if (key === null || request.context === null || (route.method !== 'POST' && route.method !== 'DELETE')) return
  if (key.length > MAX_KEY_LENGTH || key === '') {
    const message = `Idempotency-Key must have 1 to ${MAX_KEY_LENGTH} characters.`
    return sendProblem(request, reply, problem('parameter_invalid', message, { param: 'Idempotency-Key' }))
  }
  const attempt = { tenant: request.context, method: route.method, path: pathOf(request), key }
  const parameters = { version: request.context.apiVersion, query: request.query, body: request.body }
  const earlier = await beginAttempt(parts.store, attempt, parameters, parts.now()).catch((error: unknown) => {
    if (route.withoutStore === true && isOutage(error)) return null
    throw error
  })
  // What is done twice without harm needs no memory of the first time.
  if (earlier === null) return
  if (earlier === 'first' || earlier === 'resumed') {
    request.attempt = { ...attempt, entry: earlier }
    return
  }
  if (isProblem(earlier)) return sendProblem(request, reply, earlier)
  return sendText(reply.header('Idempotent-Replayed', 'true'), earlier.status, earlier.body)
}

/** A body of an older version is checked in that version's words, and handed on in ours. */
async function readOlder(
  versions: ReadonlyMap<string, OlderRoute>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const read = versions.get(request.context?.apiVersion ?? '')?.read(request.body)
  if (read === undefined) return
  if (isProblem(read)) return sendProblem(request, reply, read)
  request.body = read.body
}

/** Stores the answer, and what was written, before it is sent: whoever has seen it will see the same one again. */
async function leaveAttempt(
  parts: PipelineParts,
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): Promise<unknown> {
  const attempt = request.attempt
  if (attempt !== null) {
    request.attempt = null
    // Its effect is committed: who asked gets the answer, whatever becomes of our note of it.
    await endAttempt(parts.store, attempt, outcomeOf(request, reply, payload)).catch((error: unknown) => {
      parts.log.error({ err: error, requestId: request.id }, 'the answer of a request could not be kept')
    })
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') await parts.store.durable()
  return payload
}

/** A refusal of ours is to be tried again, and so is what has begun to stream; of what broke nobody knows how far it came. */
function outcomeOf({ failure }: FastifyRequest, { statusCode: status }: FastifyReply, payload: unknown): Outcome {
  if (failure === 'internal_error' || failure === 'store_unavailable') return 'broken'
  if (status >= 500 || status === 429 || payload instanceof Readable) return 'forgotten'
  return { status, body: String(payload) }
}

async function handle(
  parts: PipelineParts,
  route: Route,
  versions: ReadonlyMap<string, OlderRoute>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  if (request.context === null) throw new Error(CONTEXT_OF_NOBODY)
  const { params, query, body, headers } = request
  const older = versions.get(request.context.apiVersion)
  const render = (answer: unknown): string => {
    const status = String(route.status)
    // Under the content type, where there are several.
    const serialize = reply.getSerializationFunction(status, JSON_TYPE) ?? reply.getSerializationFunction(status)
    const current = serialize?.(answer as Record<string, unknown>) ?? JSON.stringify(answer)
    return older === undefined ? current : older.write(current)
  }
  const log = (): Logger => parts.log.child({ requestId: request.id, operation: route.id })
  const context = contextOf({ store: parts.store, log }, request.context, request.attempt, answer => ({
    status: route.status,
    body: render(answer),
  }))
  const result = await route.handler(context, { params, query, body, headers } as never)
  if (isProblem(result)) return sendProblem(request, reply, older?.renamed(result) ?? result)
  if (isRaw(result)) {
    // Fastify would read all of it, to throw it away.
    if (request.method === 'HEAD' && result.raw instanceof Readable) result.raw.destroy()
    return reply.headers(result.headers).code(result.status).serializer(asItIs).send(result.raw)
  }
  return sendText(reply, route.status, render(result))
}

/** A request without a valid key is nobody's, and is not written down. */
function logRequest(
  { requestLog, now }: PipelineParts,
  { route, toPath }: { route: Route; toPath: (params: unknown) => string },
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const { identity } = request
  if (identity === null) return
  requestLog?.add({
    id: request.id,
    organisation_id: identity.organisationId,
    livemode: identity.livemode ? 1 : 0,
    method: route.method,
    path: toPath(request.params),
    operation: route.id,
    status: reply.statusCode,
    error_code: request.failure,
    api_key_id: identity.apiKeyId,
    api_version: String(reply.getHeader('service-version')),
    duration_ms: Math.round(reply.elapsedTime),
    created: now().toISOString(),
  })
}

const headerText = (value: string | string[] | undefined): string | null => (value === undefined ? null : String(value))
