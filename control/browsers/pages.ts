import { readdirSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import Type, { type Static } from 'typebox'
import { clientAddress, clientNetwork, RateLimits } from '../../media/protocol.ts'
import { beginTry, guestLimits, wasRight } from '../calls/conductor/rooms/pin-tries.ts'
import { sendProblem } from '../http/answer.ts'
import { isProblem, type Problem, problem } from '../http/errors.ts'
import { PACKAGE_ROOT } from '../kernel/package.ts'
import { input } from '../kernel/schema.ts'
import { tenantOf } from '../kernel/tenancy.ts'
import { readOrigin } from './client-token.ts'
import { admitGuest, type GuestDeps, guestState, opennessOf, roomOfLink } from './guests.ts'
import { guestPage, missingLinkPage, softphonePage, supervisorPage, webCallPage } from './pages/pages.ts'

interface PageDeps extends GuestDeps {
  /** Where browsers find the call WebSocket; no trailing slash. */
  wsUrl: string
  /** Trusted proxies for X-Forwarded-For (CIDR). */
  trustedProxies: readonly string[]
}

/** Rate limit of forms for one client's network (`clientNetwork`). */
const FORM_RATE = { burst: 20, perSecond: 1 }
/** Folder of the files that pages load. */
const ASSETS = new URL('control/browsers/pages/', PACKAGE_ROOT)
const TYPES: Record<string, string> = { '.css': 'text/css; charset=utf-8', '.js': 'text/javascript; charset=utf-8' }

const guestBody = input({
  name: Type.String({ minLength: 1, maxLength: 80, pattern: '^[^\\p{Cc}]*\\S[^\\p{Cc}]*$' }),
  pin: Type.Optional(Type.String({ maxLength: 8, pattern: '^[0-9]*$' })),
})
type LinkRequest = FastifyRequest<{ Params: { token: string }; Body: Static<typeof guestBody> }>

/** Serves the pages on which a browser is a telephone. They load nothing from other origins. */
export function servePages(app: FastifyInstance, deps: PageDeps): void {
  serveAssets(app)
  serveGuests(app, deps)
  app.get('/web_call', async (_request, reply) => sendPage(reply, webCallPage(deps.wsUrl), deps.wsUrl))
  app.get('/softphone', async (_request, reply) => sendPage(reply, softphonePage(deps.wsUrl), deps.wsUrl))
  app.get('/supervisor', async (_request, reply) => sendPage(reply, supervisorPage(deps.wsUrl), deps.wsUrl))
}

function serveAssets(app: FastifyInstance): void {
  for (const name of readdirSync(ASSETS)) {
    const type = TYPES[extname(name)]
    if (type === undefined) continue
    const content = readFileSync(new URL(name, ASSETS))
    app.get(`/calls/${name}`, async (_request, reply) =>
      reply.headers({ 'Content-Type': type, 'Cache-Control': 'no-cache' }).send(content),
    )
  }
}

/** Serves guest links. The link is the secret: whoever has it may join, within the room's rules. */
function serveGuests(app: FastifyInstance, deps: PageDeps): void {
  const { store, now, wsUrl } = deps
  const limiter = new RateLimits(FORM_RATE)
  app.get('/join/:token', async (request: LinkRequest, reply) => {
    const room = await roomOfLink(store.db, request.params.token)
    if (room === undefined) return sendPage(reply.code(404), missingLinkPage(), wsUrl)
    return sendPage(reply, guestPage(room, opennessOf(room, now())), wsUrl)
  })
  app.post('/join/:token', { schema: { body: guestBody } }, async (request: LinkRequest, reply) => {
    const answer = await join(deps, limiter, request)
    if (isProblem(answer)) return sendProblem(request, reply, answer)
    return reply.code(201).header('Cache-Control', 'no-store').send(answer)
  })
  app.get('/join/:token/calls/:callId', async (request: LinkRequest, reply) => {
    const { token, callId } = request.params as { token: string; callId: string }
    const room = await roomOfLink(store.db, token)
    const state = room === undefined ? null : await guestState(store.db, room, callId)
    if (state === null) return sendProblem(request, reply, NO_LINK)
    return reply.header('Cache-Control', 'no-store').send(state)
  })
}

const NO_LINK = problem('resource_missing', 'The link does not work any more; ask for a new one.')

/** For a guest who guesses nothing. */
const NO_TRY = { lockedS: 0, left: 0 }

async function join(deps: PageDeps, limiter: RateLimits, request: LinkRequest): Promise<object | Problem> {
  const now = deps.now().getTime()
  const forwardedFor = String(request.headers['x-forwarded-for'] ?? '')
  const address = clientNetwork(clientAddress(request.ip, forwardedFor, deps.trustedProxies))
  const waitS = limiter.take(address, now)
  if (waitS > 0) return problem('rate_limited', 'Too many requests.', { retryAfterS: waitS })
  const { token } = request.params
  const room = await roomOfLink(deps.store.db, token)
  if (room === undefined) return NO_LINK
  const { name, pin = '' } = request.body
  const limits = guestLimits(room.id, token, address)
  const tenant = tenantOf(room)
  // A PIN is judged only while the room is open.
  const isJudged = pin !== '' && opennessOf(room, new Date(now)) === 'open'
  const { lockedS, left } = isJudged
    ? await deps.store.transaction(trx => beginTry(trx, tenant, limits, new Date(now)))
    : NO_TRY
  if (lockedS > 0) {
    const message = 'Too many wrong PINs; wait a little before you try again.'
    return problem('rate_limited', message, { param: 'pin', retryAfterS: lockedS })
  }
  const origin = readOrigin(String(request.headers.origin ?? ''))
  const admitted = await admitGuest(deps, room, { name: name.trim(), pin, origin })
  if (isProblem(admitted)) {
    return admitted.param === 'pin' && pin !== '' ? { ...admitted, details: { tries_left: left } } : admitted
  }
  // A guest's own right PIN must not reset the count of wrong guesses at the moderators' PIN.
  const forgives = admitted.role === 'moderator' || room.moderator_pin_hash === null
  if (pin !== '') await deps.store.transaction(trx => wasRight(trx, tenant, limits, { forgives, at: new Date(now) }))
  return { call_id: admitted.callId, client_token: admitted.token, ws_url: `${deps.wsUrl}/v1/web_calls` }
}

/** Sends a page that may load scripts and styles and connect only to us, and use the microphone itself only. */
const sendPage = (reply: FastifyReply, page: string, wsUrl: string): FastifyReply =>
  reply
    .headers({
      'Referrer-Policy': 'no-referrer',
      'Content-Type': 'text/html; charset=utf-8',
      'Cache-Control': 'no-store',
      'Permissions-Policy': 'microphone=(self), camera=(), geolocation=()',
      'Content-Security-Policy': [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        `connect-src 'self' ${new URL(wsUrl).origin}`,
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
      ].join('; '),
    })
    .send(page)
