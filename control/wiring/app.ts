import type { FastifyInstance } from 'fastify'
import { servePages } from '../browsers/pages.ts'
import { serveDocs } from '../http/pages/routes.ts'
import { DEFAULT_RATE, mountOperations } from '../http/pipeline.ts'
import { createServer } from '../http/server.ts'
import { forgetStreams, OpenStreams } from '../http/wire/open-streams.ts'
import { OtherNodes } from '../http/wire/other-nodes.ts'
import { RequestLog } from '../http/wire/request-log.ts'
import { measureRequests } from '../http/wire/request-metrics.ts'
import { wsUrlOf } from '../kernel/addresses.ts'
import { storeCounters } from '../kernel/store/shortcut.ts'
import { serveInvitations } from '../organisation/invitation-pages.ts'
import { organisationSettings } from '../organisation/routes.ts'
import { serveForms } from '../sites/form.ts'
import { type Counters, serveHealth } from './health.ts'
import type { AppParts } from './parts.ts'
import { routes } from './routes/all.ts'

/** Builds and wires the whole HTTP side. It does not listen, so that tests can inject requests. */
export async function buildApp(parts: AppParts): Promise<FastifyInstance> {
  const { store, media, now, log, rate = DEFAULT_RATE } = parts
  const { trustedProxies = [] } = parts.config
  const otherNodes = new OtherNodes(parts)
  const app = await createServer({ log, trustedProxies, otherNodes })
  const registry = measureRequests(app)
  const requestLog = new RequestLog({ store, log })
  await forgetStreams(store.db)
  const live = { streams: new OpenStreams(store, now, log) }
  // Open streams would keep the server from closing.
  app.addHook('preClose', async () => live.streams.close())
  const operations = routes(parts, requestLog, live)
  const { maxObjects } = parts.config
  await mountOperations(app, operations, { store, now, log, rate, maxObjects, requestLog, otherNodes })
  app.addHook('onClose', () => requestLog.flush())
  const counters = (): Counters => ({
    ...parts.counters?.(),
    request_logs: requestLog.counters,
    store: storeCounters(store.db),
  })
  const { isStoreAway = () => false } = parts
  const speechPreload = parts.config.speechPreload ?? true
  serveHealth(app, { store, media, registry, now, counters, isStoreAway, speechPreload })
  serveDocs(app, operations, now)
  serveInvitations(app, { store, now })
  const pages = { store, vault: parts.vault, now, trustedProxies }
  servePages(app, { ...pages, wsUrl: wsUrlOf(parts.config) })
  serveForms(app, { ...pages, settings: organisationSettings })
  await app.ready()
  return app
}
