import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { DEFAULT_RATE } from './http/limits.ts'
import { measureRequests } from './http/request-metrics.ts'
import type { Route } from './http/route.ts'
import { createServer, mountOperations } from './http/server.ts'
import { VERSION } from './package.ts'
import { apiKeyRoutes } from './resources/api-keys.ts'
import { serveDocs } from './resources/docs.ts'
import { eventRoutes } from './resources/events.ts'
import { type MediaHealth, serveHealth } from './resources/health.ts'
import { organisationRoutes } from './resources/organisation.ts'
import type { Store } from './store.ts'

export interface AppParts {
  store: Store
  media: MediaHealth
  now: () => Date
  log: Logger
  rate?: { burst: number; perSecond: number }
}

/** Builds and wires the whole HTTP side; listens to nothing, so that tests inject requests. */
export async function buildApp(parts: AppParts): Promise<FastifyInstance> {
  const { store, media, now, log, rate = DEFAULT_RATE } = parts
  const app = await createServer({ log, version: VERSION })
  const registry = measureRequests(app)
  await mountOperations(app, routes(parts), { store, now, log, rate })
  serveHealth(app, { store, media, registry })
  serveDocs(app)
  await app.ready()
  return app
}

function routes({ store, now }: AppParts): Route[] {
  return [...apiKeyRoutes({ store, now }), ...eventRoutes({ store }), ...organisationRoutes({ store, now })]
}
