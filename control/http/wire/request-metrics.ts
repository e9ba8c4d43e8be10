import type { FastifyInstance } from 'fastify'
import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client'

const BUCKETS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]

/** What the process says of itself, by a timer and an observer of garbage collections that it keeps: made once for all its servers. */
const shared = new Registry()

/** Measures every request by method, route and status. The route's pattern replaces its IDs, which keeps the number of series small. */
export function measureRequests(app: FastifyInstance): Registry {
  if (shared.getMetricsAsArray().length === 0) collectDefaultMetrics({ register: shared, prefix: 'tandem_control_' })
  const registry = Registry.merge([shared])
  const durations = new Histogram({
    name: 'tandem_http_request_duration_seconds',
    help: 'Time from the request to the end of its answer',
    labelNames: ['method', 'route', 'status'],
    buckets: BUCKETS_S,
    registers: [registry],
  })
  const keyed = new Counter({
    name: 'tandem_idempotent_requests_total',
    help: 'Requests with an Idempotency-Key, by whether an earlier answer was repeated',
    labelNames: ['replayed'],
    registers: [registry],
  })
  app.addHook('onResponse', (request, reply, done) => {
    if (request.headers['idempotency-key'] !== undefined) {
      keyed.inc({ replayed: String(reply.hasHeader('idempotent-replayed')) })
    }
    const route = request.operation?.path ?? request.routeOptions.url ?? 'unknown'
    durations.observe({ method: request.method, route, status: reply.statusCode }, reply.elapsedTime / 1000)
    done()
  })
  return registry
}
