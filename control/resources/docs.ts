import type { FastifyInstance } from 'fastify'
import { problem } from '../http/errors.ts'
import { baseUrlOf, sendProblem } from '../http/server.ts'
import { CURRENT_VERSION, VERSIONS } from '../http/version.ts'
import { documentOf } from '../versions/openapi.ts'
import { changelogFeed, changelogPage } from '../web/changelog.ts'
import { docsPage, errorsPage, type OpenApiDocument } from '../web/docs.ts'

const HTML = 'text/html; charset=utf-8'

/** `/openapi.json`, `/docs`, `/docs/errors`, `/changelog` and its feeds: without a key, made of the routes and the version files. */
export function serveDocs(app: FastifyInstance): void {
  const document = () => app.swagger() as unknown as OpenApiDocument
  const [errors, changelog] = [errorsPage(), changelogPage()]
  app.get<{ Querystring: { version?: string | string[] } }>('/openapi.json', async (request, reply) => {
    const { version } = request.query
    if (version === undefined || version === CURRENT_VERSION) return document()
    if (typeof version === 'string' && VERSIONS.includes(version)) return documentOf(document(), version)
    return sendProblem(
      request,
      reply,
      problem('unknown_version', `There is no version ${version}.`, { param: 'version' }),
    )
  })
  app.get('/docs', async (request, reply) => reply.type(HTML).send(docsPage(document(), baseUrlOf(request))))
  app.get('/docs/errors', async (_request, reply) => reply.type(HTML).send(errors))
  app.get('/changelog', async (_request, reply) => reply.type(HTML).send(changelog))
  app.get('/changelog.xml', async (request, reply) =>
    reply.type('application/atom+xml; charset=utf-8').send(changelogFeed(baseUrlOf(request)).atom),
  )
  app.get('/changelog.json', async (request, reply) =>
    reply.type('application/feed+json; charset=utf-8').send(changelogFeed(baseUrlOf(request)).json),
  )
}
