import type { FastifyInstance } from 'fastify'
import type { Registry } from 'prom-client'
import type { Failure, MediaStats } from '../../media/protocol.ts'
import type { Store } from '../store.ts'

/** What health needs of the media process. */
export interface MediaHealth {
  /** `ready`: connected, and nothing that happened meanwhile is left to be told. */
  readonly state: 'disconnected' | 'reconciling' | 'ready'
  /** What went wrong on the channel, in camel case. */
  readonly counters: Readonly<Record<string, number>>
  request(name: 'media.stats', body: Record<string, never>): Promise<MediaStats | Failure>
}

/** `/healthz`, `/readyz` and `/metrics`: without a key, for load balancers and collectors. */
export function serveHealth(
  app: FastifyInstance,
  deps: { store: Store; media: MediaHealth; registry: Registry },
): void {
  app.get('/healthz', async () => ({ status: 'ok' }))
  app.get('/readyz', async (_request, reply) => {
    const store = await answers(deps.store)
    const media = deps.media.state === 'ready'
    const ready = store && media
    return reply.code(ready ? 200 : 503).send({ status: ready ? 'ready' : 'not_ready', store, media })
  })
  app.get('/metrics', async (_request, reply) => {
    const ours = await deps.registry.metrics()
    const theirs = deps.media.state === 'ready' ? await deps.media.request('media.stats', {}) : null
    const media = theirs === null || 'failure' in theirs ? '' : mediaMetrics(theirs)
    const up = `# TYPE tandem_media_up gauge\ntandem_media_up ${media === '' ? 0 : 1}\n`
    return reply
      .type('text/plain; version=0.0.4; charset=utf-8')
      .send(`${ours}\n${up}${channelMetrics(deps.media.counters)}${media}`)
  })
}

async function answers(store: Store): Promise<boolean> {
  try {
    await store.db.selectFrom('settings').select('name').limit(1).execute()
    return true
  } catch {
    return false
  }
}

/** The media process' numbers in the text format of Prometheus; its names get our prefix. */
export function mediaMetrics(stats: MediaStats): string {
  const lines = (type: string, values: Record<string, number>): string[] =>
    Object.entries(values)
      .filter(([name, value]) => /^[a-z_][a-z0-9_]*$/.test(name) && Number.isFinite(value))
      .flatMap(([name, value]) => [`# TYPE tandem_media_${name} ${type}`, `tandem_media_${name} ${value}`])
  return `${[...lines('counter', stats.counters), ...lines('gauge', stats.gauges)].join('\n')}\n`
}

const channelMetrics = (counters: Readonly<Record<string, number>>): string =>
  Object.entries(counters)
    .map(([name, value]) => {
      const full = `tandem_channel_${name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)}_total`
      return `# TYPE ${full} counter\n${full} ${value}\n`
    })
    .join('')
