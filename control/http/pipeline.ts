import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { type Rate, RateLimits, RefusalLog } from '../../media/protocol.ts'
import { isOutage } from '../kernel/store/outage.ts'
import type { Store } from '../kernel/store/store.ts'
import { ownedBy } from '../kernel/tenancy.ts'
import type { Later, Rates } from './admission.ts'
import { asItIs, NOT_JSON, OPERATIONS, pathOf, sendProblem, sendText } from './answer.ts'
import type { Identity } from './auth.ts'
import { type Asking, BOUNDED, RequestContext } from './context.ts'
import { type ErrorCode, invalid, isProblem, type Problem } from './errors.ts'
import { type Attempt, beginAttempt, type Entry, endAttempt, MAX_KEY_LENGTH, type Outcome } from './idempotency.ts'
import { RememberedAnswers, type Slot } from './remembered.ts'
import { isRaw, type Route, type Spooled } from './route.ts'
import { contentProblem, queryProblem } from './wire/content.ts'
import { knownKeysOf } from './wire/known-keys.ts'
import { readMultipart, unspool, uploadBodyLimit } from './wire/multipart.ts'
import { takesIdempotencyKey } from './wire/openapi.ts'
import { Operation } from './wire/operation.ts'
import { isPassedOn, type OtherNodes } from './wire/other-nodes.ts'
import { segmentsOf } from './wire/paths.ts'
import type { RequestLog } from './wire/request-log.ts'
import { SharedRates } from './wire/shared-rates.ts'

/** Requests of a key. */
export const DEFAULT_RATE: Rate = { burst: 300, perSecond: 100 }

interface PipelineParts {
  store: Store
  now: () => Date
  log: Logger
  rate: Rate
  /** The most of each of an organisation's bounded collections (`BOUNDED`) in each mode. */
  maxObjects: number
  /** Absent: requests are not logged. */
  requestLog?: RequestLog
  /** Absent: what another node has to do is refused. */
  otherNodes?: OtherNodes
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Owner of the key, once it is known. */
    identity: Identity | null
    /** What is asked for, once that is known. */
    operation: Operation | null
    context: Asking | null
    attempt: (Attempt & { entry: Entry }) | null
    spooled: Spooled | null
    /** The error of the answer. */
    failure: ErrorCode | null
  }
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']
const MAX_BODY_BYTES = 1024 * 1024
const CONTEXT_OF_NOBODY = 'a handler runs only behind authentication'

/** Mounts operations below `/v1`. Each request passes key, mode, scope, rate, version, idempotency and schema, in this order, before its handler. */
export async function mountOperations(app: FastifyInstance, routes: Route[], parts: PipelineParts): Promise<void> {
  const admission = {
    store: parts.store,
    now: parts.now,
    rates: ratesOf(parts),
    rate: parts.rate,
    keys: knownKeysOf(parts.store),
  }
  const answers = new RememberedAnswers(parts.store)
  const shared = { ...parts, answers, refusals: new RefusalLog(parts.log, 'request') }
  const add = async (v1: FastifyInstance): Promise<void> => {
    serveOperations(v1, '/*', shared)
    for (const route of routes) {
      const path = OPERATIONS + route.path
      const methods = route.method === 'GET' ? ['GET', 'HEAD'] : route.method
      app.paths.add(methods, path, new Operation(route, path, admission))
      // Its bodies have a limit of their own.
      if (route.upload !== undefined) serveOperations(v1, route.path, shared, route)
    }
  }
  await app.register(add, { prefix: OPERATIONS })
}

/** Nodes on a shared database share the limits. SQLite has one node, which counts alone. */
function ratesOf({ store, now, rate }: PipelineParts): Rates {
  if (store.engine === 'postgres') return new SharedRates(store.db, now, rate)
  const limits = new RateLimits(rate)
  // A different limit is a different bucket.
  return { take: (subject, of) => limits.take(`${subject} ${of.perSecond}`, now().getTime(), of) }
}

interface OperationParts extends PipelineParts {
  answers: RememberedAnswers
  refusals: RefusalLog
}

/** A hook that makes Fastify wait only if there is something to wait for. */
const hook =
  (run: (request: FastifyRequest, reply: FastifyReply) => Later) =>
  (request: FastifyRequest, reply: FastifyReply, done: () => void): Promise<unknown> | undefined => {
    const later = run(request, reply)
    if (later === undefined) done()
    // After an answer nothing may follow.
    return later instanceof Promise ? later : undefined
  }

/** Serves all operations whose path is below `url`, or one of them. */
function serveOperations(v1: FastifyInstance, url: string, parts: OperationParts, one?: Route): void {
  v1.route({
    method: one?.method ?? METHODS,
    url,
    bodyLimit: one?.upload === undefined ? MAX_BODY_BYTES : uploadBodyLimit(one.upload),
    onRequest: hook((request, reply) => {
      const found = v1.paths.find(request.method, segmentsOf(request.url) ?? [])
      if (found === undefined) {
        reply.callNotFound()
        return reply
      }
      request.operation = found.value
      request.params = found.params
      return found.value.admit(request, reply)
    }),
    preValidation: hook((request, reply) => enter(parts, operationOf(request), request, reply)),
    onSend: (request, reply, payload, done) => {
      const later = leave(parts, request, reply, payload)
      if (later !== undefined) return later
      done(null, request.method === 'HEAD' ? withoutBody(reply, payload) : payload)
      return undefined
    },
    onResponse: (request, reply, done) => {
      logRequest(parts, request, reply)
      if (request.spooled !== null)
        unspool(request.spooled).catch(error => parts.log.warn({ err: error }, 'an upload stays'))
      done()
    },
    handler: (request, reply) => {
      const operation = operationOf(request)
      const wrong = operation.fault(request)
      if (wrong !== null) return sendProblem(request, reply, wrong)
      const known = parts.answers.find(operation.route, request)
      if (typeof known !== 'string') return handle(parts, operation, known, request, reply)
      return sendText(reply, operation.route.status, known)
    },
  })
}

function operationOf({ operation }: FastifyRequest): Operation {
  if (operation === null) throw new Error('a hook runs only once the operation is known')
  return operation
}

/** RFC 9110 §9.3.2: the length is that of GET's answer. */
function withoutBody(reply: FastifyReply, payload: unknown): null {
  if (typeof payload === 'string' || Buffer.isBuffer(payload))
    reply.header('Content-Length', Buffer.byteLength(payload))
  return null
}

/** Reads the body, then checks idempotency, then converts a body of an older version. */
function enter(parts: PipelineParts, operation: Operation, request: FastifyRequest, reply: FastifyReply): Later {
  const { route } = operation
  const entered = (): Later => {
    if (route.method !== 'GET') request.body ??= {}
    const { params, query, body } = request
    const refused = queryProblem(request.url) ?? contentProblem(params) ?? contentProblem(query) ?? contentProblem(body)
    if (refused !== null) return sendProblem(request, reply, refused)
    const key = request.context?.idempotencyKey ?? null
    if (key === null || !takesIdempotencyKey(route)) return readOlder(operation, request, reply)
    return enterAttempt(parts, route, key, request, reply).then(() =>
      reply.sent ? undefined : readOlder(operation, request, reply),
    )
  }
  if (!request.isMultipart()) return entered()
  return readParts(route, request).then(refused =>
    refused === null ? entered() : sendProblem(request, reply, refused),
  )
}

async function readParts({ upload, body }: Route, request: FastifyRequest): Promise<Problem | null> {
  const read = upload === undefined ? NOT_JSON : await readMultipart(request, { upload, body })
  if (isProblem(read)) return read
  request.body = read.body
  request.spooled = read.spooled
  return null
}

async function enterAttempt(
  parts: PipelineParts,
  route: Route,
  key: string,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  if (request.context === null) throw new Error(CONTEXT_OF_NOBODY)
  if (key.length > MAX_KEY_LENGTH || key === '') {
    const message = `Idempotency-Key must have 1 to ${MAX_KEY_LENGTH} characters.`
    return sendProblem(request, reply, invalid('Idempotency-Key', message))
  }
  const attempt = { tenant: request.context, method: route.method, path: pathOf(request), key }
  const parameters = { version: request.context.apiVersion, query: request.query, body: request.body }
  const earlier = await beginAttempt(parts.store, attempt, parameters, parts.now()).catch((error: unknown) => {
    if (route.withoutStore === true && isOutage(error)) return null
    throw error
  })
  // An idempotent operation needs no stored answer.
  if (earlier === null) return
  if (earlier === 'first' || earlier === 'resumed') {
    request.attempt = { ...attempt, entry: earlier }
    return
  }
  if (isProblem(earlier)) return sendProblem(request, reply, earlier)
  return sendText(reply.header('Idempotent-Replayed', 'true'), earlier.status, earlier.body)
}

/** Validates a body against its own version, and passes it on in the current one. */
function readOlder(operation: Operation, request: FastifyRequest, reply: FastifyReply): Later {
  const read = operation.olderVersion(request.context?.apiVersion ?? '')?.read(request.body)
  if (read === undefined) return undefined
  if (isProblem(read)) return sendProblem(request, reply, read)
  request.body = read.body
  return undefined
}

/** Stores the answer before it is sent: whoever has seen it gets the same one again. */
function leave(
  parts: PipelineParts,
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): Promise<unknown> | undefined {
  const { attempt } = request
  if (attempt !== null) {
    request.attempt = null
    return leaveAttempt(parts, attempt, request, outcomeOf(request, reply, payload)).then(() => payload)
  }
  if (request.method === 'GET' || request.method === 'HEAD') return undefined
  return parts.store.durable().then(() => payload)
}

async function leaveAttempt(
  { store, log }: PipelineParts,
  attempt: Attempt,
  request: FastifyRequest,
  outcome: Outcome,
): Promise<void> {
  // Its effect is committed: the client gets the answer even if it could not be stored.
  await endAttempt(store, attempt, outcome).catch((error: unknown) => {
    log.error({ err: error, requestId: request.id }, 'the answer of a request could not be kept')
  })
  await store.durable()
}

/** A refusal of ours may be retried, and so may an answer that has begun to stream. After an exception the state is unknown. */
function outcomeOf({ failure }: FastifyRequest, { statusCode: status }: FastifyReply, payload: unknown): Outcome {
  if (failure === 'internal_error' || failure === 'store_unavailable') return 'broken'
  if (status >= 500 || status === 429 || payload instanceof Readable) return 'forgotten'
  return { status, body: String(payload) }
}

async function handle(
  parts: OperationParts,
  operation: Operation,
  slot: Slot | null,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  if (request.context === null) throw new Error(CONTEXT_OF_NOBODY)
  const { route } = operation
  const { params, query, body, headers, spooled } = request
  const older = operation.olderVersion(request.context.apiVersion)
  const render = (answer: unknown): string => {
    const current = operation.serialize(answer)
    return older === undefined ? current : older.write(current)
  }
  const adds = route.method === 'POST' ? BOUNDED.exec(route.path)?.[1] : undefined
  const log = (): Logger => parts.log.child({ requestId: request.id, operation: route.id })
  const context = new RequestContext({ ...parts, log, adds }, request.context, request.attempt, answer => ({
    status: route.status,
    body: render(answer),
  }))
  const result = await route.handler(context, { params, query, body, headers, spooled } as never)
  const elsewhere = await parts.otherNodes?.wayTo(result, request)
  if (elsewhere != null) {
    if (request.attempt !== null) await endAttempt(parts.store, request.attempt, 'forgotten')
    request.attempt = null
    return parts.otherNodes!.passOn(elsewhere, request, reply)
  }
  if (isProblem(result)) return sendProblem(request, reply, older?.renamed(result) ?? result)
  if (isRaw(result)) {
    // Fastify would read the whole stream only to discard it.
    if (request.method === 'HEAD' && result.raw instanceof Readable) result.raw.destroy()
    return reply.headers(result.headers).code(result.status).serializer(asItIs).send(result.raw)
  }
  const json = render(result)
  if (slot !== null && context.isLasting) parts.answers.keep(route, slot, json)
  return sendText(reply, route.status, json)
}

/** Not logged: a request without a valid key, which belongs to nobody, and one that another node logs. */
function logRequest({ requestLog, refusals, now }: OperationParts, request: FastifyRequest, reply: FastifyReply): void {
  const { identity, operation } = request
  if (identity === null || operation === null || isPassedOn(request)) return
  const { route } = operation
  const what = () => ({ requestId: request.id, operation: route.id })
  if (reply.statusCode === 429) refusals.note(String(request.failure), identity.organisationId, what)
  requestLog?.add({
    id: request.id,
    ...ownedBy(identity),
    method: route.method,
    path: operation.loggedPath(request.params),
    operation: route.id,
    status: reply.statusCode,
    error_code: request.failure,
    api_key_id: identity.apiKeyId,
    api_version: String(reply.getHeader('service-version')),
    duration_ms: Math.round(reply.elapsedTime),
    created: now().toISOString(),
  })
}
