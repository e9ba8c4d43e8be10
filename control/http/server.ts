import { isUtf8 } from 'node:buffer'
import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { Newcomers } from '../../media/protocol.ts'
import { newId } from '../kernel/ids.ts'
import { isStoreOutage } from '../kernel/store/faults.ts'
import { StoreOutage } from '../kernel/store/outage.ts'
import { CURRENT_VERSION } from '../kernel/versions/current.ts'
import { EMPTY_PART, hasEmptyPart, NOT_JSON, OPERATIONS, pathOf, sendProblem } from './answer.ts'
import { ERRORS, type Problem, problem, storeUnavailable } from './errors.ts'
import type { Upload } from './route.ts'
import { answerMalformed } from './wire/malformed.ts'
import { acceptMultipart, tooLarge } from './wire/multipart.ts'
import type { Operation } from './wire/operation.ts'
import type { OtherNodes } from './wire/other-nodes.ts'
import { Paths, segmentsOf } from './wire/paths.ts'
import { readQuery } from './wire/query-string.ts'
import { compileRequestValidator, validationProblem } from './wire/validation.ts'

/** Of what needs no key: the largest form, each of its characters escaped. Operations have limits of their own. */
const MAX_BODY_BYTES = 32 * 1024
/** A request must be complete by then, its header sooner, or its connection is closed. Checked at this interval [ms]. */
const REQUEST_MS = 45_000
const HEADERS_MS = 20_000
const CHECK_MS = 5_000
/** Maximum number of connections from one network without a valid key. */
const MAX_NEWCOMERS = 200

/** Of a request. */
const KNOWN_LATER = ['identity', 'operation', 'context', 'attempt', 'spooled', 'failure', 'rawBody'] as const

declare module 'fastify' {
  interface FastifyInstance {
    /** All that is served. */
    paths: Paths<Operation>
  }
}

/** An HTTP server without operations: request IDs, bodies, and the error envelope. */
export async function createServer(parts: {
  log: Logger
  /** Proxies that forward others' connections (CIDR). */
  trustedProxies?: readonly string[]
  otherNodes?: Pick<OtherNodes, 'idOf'>
  /** Replaces the product's own [ms]. */
  requestMs?: number
  checkMs?: number
}): Promise<FastifyInstance> {
  const { requestMs = REQUEST_MS, checkMs = CHECK_MS } = parts
  const app = Fastify({
    requestTimeout: requestMs,
    http: {
      headersTimeout: Math.min(HEADERS_MS, requestMs),
      connectionsCheckingInterval: checkMs,
      // Node would answer it without our envelope.
      requireHostHeader: false,
    },
    bodyLimit: MAX_BODY_BYTES,
    exposeHeadRoutes: false,
    genReqId: ({ headers }) => parts.otherNodes?.idOf(headers) ?? newId('request'),
    routerOptions: { maxParamLength: 200, querystringParser: readQuery },
    forceCloseConnections: 'idle',
    clientErrorHandler: answerMalformed,
    // A path that cannot be decoded or is too long is unknown. No hook has run by then.
    frameworkErrors: (_error, request, reply) =>
      sendProblem(
        request as FastifyRequest,
        identify(request as FastifyRequest, reply as FastifyReply),
        problem('resource_missing', 'No such operation.'),
      ),
  })
  limitNewcomers(app, new Newcomers(MAX_NEWCOMERS, parts.trustedProxies ?? []))
  for (const known of KNOWN_LATER) app.decorateRequest(known, null)
  app.setValidatorCompiler(({ schema }) => compileRequestValidator(schema as object))
  app.addHook('onRequest', (request, reply, done) => {
    identify(request, reply)
    if (request.headers.host === undefined && request.raw.httpVersion === '1.1') sendProblem(request, reply, NO_HOST)
    else done()
  })
  // RFC 9110 §10.1.1 allows an unknown expectation to be ignored. Node would answer 417 without the envelope.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  readBodies(app)
  await acceptMultipart(app)
  const outage = new StoreOutage(parts.log)
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const failure = translate(error, request.routeOptions.bodyLimit, request.operation?.route.upload)
    const isOurs = ERRORS[failure.problem].status >= 500
    if (isOurs && !outage.note(error)) parts.log.error({ err: error, requestId: request.id }, 'request failed')
    return sendProblem(request, reply, failure)
  })
  const paths = new Paths<Operation>()
  app.decorate('paths', paths)
  // Operations add themselves: one route of Fastify's serves them all.
  app.addHook('onRoute', ({ method, url }) => {
    if (!url.startsWith(`${OPERATIONS}/`)) paths.add(method, url)
  })
  app.setNotFoundHandler((request, reply) => sendProblem(request, reply, noOperation(request, paths)))
  return app
}

/** Prevents clients without a key from using up all connections. */
function limitNewcomers(app: FastifyInstance, newcomers: Newcomers): void {
  app.server.on('connection', socket => {
    if (!newcomers.enter(socket)) socket.destroy()
  })
  // The first hook after the key is known.
  app.addHook('preParsing', (request, _reply, payload, done) => {
    if (request.identity !== null) newcomers.known(request.raw.socket)
    done(null, payload)
  })
}

function noOperation(request: FastifyRequest, paths: Paths<Operation>): Problem {
  const path = pathOf(request)
  if (hasEmptyPart(path)) return problem('resource_missing', EMPTY_PART)
  const methods = paths.methods(segmentsOf(request.url) ?? [])
  if (methods.length === 0) return problem('resource_missing', `No such operation: ${request.method} ${path}`)
  const Allow = methods.join(', ')
  return problem('method_not_allowed', `${path} takes ${Allow}.`, { headers: { Allow } })
}

/** Headers of every answer. The version is replaced by the key's once that is known. */
const identify = (request: FastifyRequest, reply: FastifyReply): FastifyReply =>
  reply.headers({
    'Request-Id': request.id,
    'Service-Version': CURRENT_VERSION,
    // Browsers must not guess another type for clients' content.
    'X-Content-Type-Options': 'nosniff',
  })

const NO_HOST = problem('request_malformed', 'Send the header Host (RFC 9112 §3.2).')

/** The only place where exceptions of the framework become our errors. */
function translate(error: FastifyError, maxBodyBytes: number | undefined, upload?: Upload): Problem {
  if (error.validation !== undefined) return validationProblem(error.validation as never)
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    if (upload !== undefined && upload.orText === undefined) return tooLarge(upload)
    return problem('parameter_invalid', `The body is longer than ${maxBodyBytes ?? MAX_BODY_BYTES} bytes.`)
  }
  if (error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return NOT_JSON
  if (error instanceof UnreadableBody || error.code?.startsWith('FST_ERR_CTP_') || error.statusCode === 400) {
    return problem('invalid_json', error.message)
  }
  if (isStoreOutage(error)) return storeUnavailable(STORE_RETRY_S)
  return problem('internal_error', 'Something failed on our side.')
}

/** [s] */
const STORE_RETRY_S = 5

class UnreadableBody extends Error {}

/** Of a body that the parser refuses: names that would change what an object is are JSON too. */
function faultOf(text: string): string {
  try {
    JSON.parse(text)
    return 'The body has a key "__proto__" or "constructor", which no object here takes.'
  } catch {
    return 'The body is not valid JSON.'
  }
}

/** Bodies are JSON. An empty body is no body, whatever its content type. */
function readBodies(app: FastifyInstance): void {
  const parseJson = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const bytes = body as Buffer
    if (bytes.length === 0) return done(null, undefined)
    request.rawBody = bytes
    const coding = request.headers['content-encoding'] ?? 'identity'
    if (coding !== 'identity')
      return done(new UnreadableBody(`The body is ${coding}: send it without Content-Encoding.`))
    // RFC 8259 §8.1. Otherwise invalid bytes would be stored as other characters.
    if (!isUtf8(bytes)) return done(new UnreadableBody('The body is not UTF-8.'))
    parseJson(request, bytes.toString(), (error, value) =>
      error ? done(new UnreadableBody(faultOf(bytes.toString()))) : done(null, value),
    )
  })
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, bytes, done) =>
    bytes.length === 0 ? done(null, undefined) : done(new UnreadableBody(NOT_JSON.message)),
  )
}
