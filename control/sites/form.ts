import { readFileSync } from 'node:fs'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { clientAddress, clientNetwork, RateLimits } from '../../media/protocol.ts'
import { readOrigin } from '../browsers/client-token.ts'
import { sendProblem } from '../http/answer.ts'
import { isProblem, missing, type Problem, problem } from '../http/errors.ts'
import { PACKAGE_ROOT } from '../kernel/package.ts'
import { suspensionOf } from '../usage/allowance.ts'
import { newChallenge } from './proof.ts'
import { requestBody, type SiteRequest, settingsOf } from './schema.ts'
import { originProblem, type SubmissionDeps, submit } from './submission.ts'
import type { SiteRow } from './tables.ts'

interface FormDeps extends SubmissionDeps {
  /** Trusted proxies for X-Forwarded-For (CIDR). */
  trustedProxies: readonly string[]
}

/** Limits of one client's network (`clientNetwork`), and of one site; each node counts separately. */
const LOOK_RATE = { burst: 30, perSecond: 1 }
const ASK_RATE = { burst: 5, perSecond: 1 / 60 }
const SITE_RATE = { burst: 60, perSecond: 1 }

type FormRequest = FastifyRequest<{ Params: { id: string }; Body: SiteRequest }>

/** Requests of customers' pages, without a key: the script, the form's fields, and a visitor's request. */
export function serveForms(app: FastifyInstance, deps: FormDeps): void {
  const script = readFileSync(new URL('control/sites/pages/form.js', PACKAGE_ROOT))
  const [looks, asks, sites] = [new RateLimits(LOOK_RATE), new RateLimits(ASK_RATE), new RateLimits(SITE_RATE)]
  app.get('/sites/form.js', async (_request, reply) =>
    reply
      .headers({
        'Content-Type': 'text/javascript; charset=utf-8',
        'Cache-Control': 'public, max-age=300',
        // The script is for pages of other origins.
        'Cross-Origin-Resource-Policy': 'cross-origin',
      })
      .send(script),
  )
  app.get('/sites/:id/form', async (request: FormRequest, reply) => {
    const site = await admitted(deps, [[looks, networkOf(deps, request)]], request, reply)
    if (isProblem(site)) return sendProblem(request, reply, site)
    const { language, fields } = settingsOf(site)
    return { language, fields, ...newChallenge(deps.vault, site.id, deps.now()) }
  })
  app.post('/sites/:id/callbacks', { schema: { body: requestBody } }, async (request: FormRequest, reply) => {
    const limits: Limit[] = [
      [asks, networkOf(deps, request)],
      [sites, request.params.id],
    ]
    const site = await admitted(deps, limits, request, reply)
    const answer = isProblem(site) ? site : await submit(deps, site, originOf(request), request.body)
    return isProblem(answer) ? sendProblem(request, reply, answer) : reply.code(201).send(answer)
  })
  app.options('/sites/:id/callbacks', async (request: FormRequest, reply) => {
    const site = await admitted(deps, [[looks, networkOf(deps, request)]], request, reply)
    if (isProblem(site)) return sendProblem(request, reply, site)
    reply.headers({ 'Access-Control-Allow-Methods': 'POST', 'Access-Control-Allow-Headers': 'Content-Type' })
    return reply.header('Access-Control-Max-Age', '600').code(204).send()
  })
}

type Limit = [limits: RateLimits, key: string]

/** The site of the form, if the page may show it, whose browser may then read the answer. */
async function admitted(
  { store, now }: FormDeps,
  limits: Limit[],
  request: FormRequest,
  reply: FastifyReply,
): Promise<SiteRow | Problem> {
  reply.headers({ 'Cache-Control': 'no-store', Vary: 'Origin' })
  const { id } = request.params
  const site = await store.db.selectFrom('sites').selectAll().where('id', '=', id).executeTakeFirst()
  if (site === undefined || site.active === 0) return missing('site', id)
  const origin = originOf(request)
  const refused = originProblem(site, origin)
  if (refused !== null) return refused
  reply.headers({ 'Access-Control-Allow-Origin': origin, 'Access-Control-Expose-Headers': 'Retry-After' })
  for (const [limiter, key] of limits) {
    const retryAfterS = limiter.take(key, now().getTime())
    if (retryAfterS > 0) return problem('rate_limited', 'Too many requests; try again later.', { retryAfterS })
  }
  return (await suspensionOf(store.db, { organisationId: site.organisation_id })) ?? site
}

/** Browsers do not name it when they read from the page's own website, where a proxy before us may be. */
function originOf({ headers: { origin, referer = '' } }: FormRequest): string {
  return readOrigin(origin ?? (URL.canParse(referer) ? new URL(referer).origin : '')) ?? ''
}

function networkOf({ trustedProxies }: FormDeps, request: FormRequest): string {
  const forwardedFor = String(request.headers['x-forwarded-for'] ?? '')
  return clientNetwork(clientAddress(request.ip, forwardedFor, trustedProxies))
}
