import { readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { PACKAGE_ROOT, VERSION } from '../../kernel/package.ts'
import { CURRENT_VERSION, VERSIONS } from '../../kernel/versions/current.ts'
import { baseUrlOf, sendProblem } from '../answer.ts'
import { problem } from '../errors.ts'
import type { Route } from '../route.ts'
import { deprecationAt, deprecationsOf } from '../versions/deprecation.ts'
import { documentOf } from '../versions/openapi.ts'
import { samplesOf } from '../versions/samples.ts'
import { describeOperations } from '../wire/openapi.ts'
import { changelogFeed, changelogPage } from './changelog.ts'
import { docsPage, errorsPage, type OpenApiDocument } from './docs.ts'
import { GUIDES } from './guides.ts'
import { escapeHtml } from './html.ts'
import { publishedDocument } from './openapi-document.ts'

const HTML = 'text/html; charset=utf-8'

const TRY_SCRIPT = readFileSync(new URL('control/http/pages/docs-try.js', PACKAGE_ROOT), 'utf8')
/** A page in which keys are entered loads nothing from elsewhere, and sends nothing there. */
const DOCS_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/**
 * `/` (redirects to the docs), `/openapi.json`, `/docs` with errors and guides, `/changelog` and its feeds, without a key. Everybody gets the
 * same bytes: those who read slowly hold no copies.
 */
export function serveDocs(app: FastifyInstance, routes: readonly Route[], now: () => Date): void {
  let described: Promise<OpenApiDocument> | undefined
  const document = (): Promise<OpenApiDocument> => {
    described ??= describeOperations(routes, VERSION) as Promise<OpenApiDocument>
    return described
  }
  let page: Promise<Buffer[]> | undefined
  const printed = new Map<string, { day: string; text: Buffer }>()
  /** Generated at most once a day, since deprecations begin on a date. */
  const print = async (version: string): Promise<Buffer> => {
    const at = now()
    const day = at.toISOString().slice(0, 10)
    const known = printed.get(version)
    if (known?.day === day) return known.text
    const isDeprecated = (operation: string) => deprecationAt(deprecationsOf({ version, operation }), at) !== null
    const shown = { samples: samplesOf(version), isDeprecated }
    const text = Buffer.from(JSON.stringify(publishedDocument(documentOf(await document(), version), shown)))
    printed.set(version, { day, text })
    return text
  }
  app.get<{ Querystring: { version?: string | string[] } }>('/openapi.json', async (request, reply) => {
    const { version = CURRENT_VERSION } = request.query
    if (typeof version === 'string' && VERSIONS.includes(version))
      return reply.type('application/json; charset=utf-8').send(await print(version))
    const unknown = problem('unknown_version', `There is no version ${version}.`, { param: 'version' })
    return sendProblem(request, reply, unknown)
  })
  app.get('/', async (_request, reply) => reply.redirect('/docs'))
  // Every browser requests one.
  app.get('/favicon.ico', async (_request, reply) => reply.code(204).send())
  app.get('/docs', async (request, reply) => {
    // Once: it stops this process for 0.1 s, and whoever asks needs no key.
    page ??= document().then(described => docsPage(described).map(part => Buffer.from(part)))
    const baseUrl = Buffer.from(escapeHtml(baseUrlOf(request)))
    const parts = (await page).flatMap((part, at) => (at === 0 ? [part] : [baseUrl, part]))
    const length = parts.reduce((sum, part) => sum + part.length, 0)
    const headers = { 'Content-Security-Policy': DOCS_POLICY, 'Content-Length': length }
    return reply.type(HTML).headers(headers).send(Readable.from(parts))
  })
  app.get('/docs/try.js', async (_request, reply) => reply.type('text/javascript; charset=utf-8').send(TRY_SCRIPT))
  const pages = [{ path: '/docs/errors', page: errorsPage }, { path: '/changelog', page: changelogPage }, ...GUIDES]
  for (const { path, page } of pages) {
    let text: Buffer | undefined
    app.get(path, async (_request, reply) => {
      text ??= Buffer.from(page())
      return reply.type(HTML).send(text)
    })
  }
  app.get('/changelog.xml', async (request, reply) =>
    reply.type('application/atom+xml; charset=utf-8').send(changelogFeed(baseUrlOf(request)).atom),
  )
  app.get('/changelog.json', async (request, reply) =>
    reply.type('application/feed+json; charset=utf-8').send(changelogFeed(baseUrlOf(request)).json),
  )
}
