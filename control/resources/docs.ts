import type { FastifyInstance } from 'fastify'
import { docsPage, errorsPage, type OpenApiDocument } from '../web/docs.ts'

const HTML = 'text/html; charset=utf-8'

/** `/openapi.json`, `/docs` and `/docs/errors`: without a key, made of the routes. */
export function serveDocs(app: FastifyInstance): void {
  const document = () => app.swagger() as unknown as OpenApiDocument
  const errors = errorsPage()
  app.get('/openapi.json', async () => document())
  app.get('/docs', async (request, reply) =>
    reply.type(HTML).send(docsPage(document(), `${request.protocol}://${request.host || 'localhost'}`)),
  )
  app.get('/docs/errors', async (_request, reply) => reply.type(HTML).send(errors))
}
