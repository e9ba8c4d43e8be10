import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { Registry } from 'prom-client'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import type { Failure, MediaStats } from '../../media/protocol.ts'
import {
  counterLines,
  gaugeLines,
  histogramLines,
  namedCounterLines,
  type Sizes,
} from '../kernel/metrics/metrics-text.ts'
import { steadyMsOf } from '../kernel/store/node.ts'
import type { Store } from '../kernel/store/store.ts'
import { BacklogReader } from './backlog.ts'
import { CallMetrics } from './call-metrics.ts'
import { StoreGauges } from './store-gauges.ts'

/** What health needs from the media process. */
export interface MediaHealth {
  /** `ready`: connected, and everything that happened meanwhile has been handled. */
  readonly state: 'disconnected' | 'reconciling' | 'ready'
  /** Counters of the channel's faults, in camel case. */
  readonly counters: Readonly<Record<string, number>>
  /** How many events of media were committed together. */
  readonly batchSizes: Sizes
  /** The media process is being ended. */
  readonly isDraining: boolean
  request(name: 'media.stats', body: Record<string, never>, deadlineMs: number): Promise<MediaStats | Failure>
}

/** Asks media for its counters. An invalid answer is counted and ignored. */
class StatsReader {
  readonly counters = { badStats: 0 }
  /** It gave no answer the last time: it stands still, and takes no calls. */
  isSilent = false
  readonly #media: MediaHealth

  constructor(media: MediaHealth) {
    this.#media = media
  }

  async read(): Promise<MediaStats | null> {
    if (this.#media.state !== 'ready') return null
    const stats = await this.#media.request('media.stats', {}, PATIENCE_MS)
    this.isSilent = 'failure' in stats
    if ('failure' in stats) return null
    if (Value.Check(statsSchema, stats)) return stats
    this.counters.badStats++
    return null
  }
}

const tally = Type.Record(Type.String(), Type.Number())
const numbers = Type.Array(Type.Number())
const sizes = Type.Object({ bounds: numbers, counts: numbers, sum: Type.Number(), count: Type.Number() })
const statsSchema = Type.Object({ counters: tally, gauges: tally, histograms: Type.Record(Type.String(), sizes) })

/** Counters of this process's parts, by their names. */
export type Counters = Readonly<Record<string, Readonly<Record<string, number>>>>

interface HealthParts {
  store: Store
  media: MediaHealth
  registry: Registry
  now: () => Date
  counters: () => Counters
  /** Whether the store cannot be written. A full disk can still be read, but takes no calls. */
  isStoreAway: () => boolean
  /** Whether the offline engines are loaded at the start, not at first use. */
  speechPreload: boolean
}

/** How long the database and media are waited for: a collector wants its answer within ten seconds [ms]. */
const PATIENCE_MS = 3000

/** `/healthz`, `/readyz` and `/metrics`: without a key, for load balancers and collectors. */
export function serveHealth(app: FastifyInstance, deps: HealthParts): void {
  const { store, media, registry, now, counters } = deps
  const backlog = new BacklogReader(store.db, now)
  const gauges = new StoreGauges(registry, store.db, now)
  const stats = new StatsReader(media)
  const clocks = () => ({ wallMs: now().getTime(), steadyMs: steadyMsOf(store.db) ?? 0 })
  const unwatch = new CallMetrics(registry, clocks).watch(store)
  app.addHook('onClose', async () => unwatch())
  app.get('/healthz', async () => ({ status: 'ok' }))
  app.get('/readyz', async (_request, reply) => {
    const isStoreUp = !deps.isStoreAway() && (await answers(store))
    const theirs = await stats.read()
    const isMediaUp = media.state === 'ready' && !stats.isSilent
    const files = theirs && (theirs.gauges.files_used_up === 1 ? 'used_up' : 'free')
    const ready = isStoreUp && isMediaUp && !media.isDraining && files !== 'used_up'
    const status = ready ? 'ready' : media.isDraining ? 'draining' : 'not_ready'
    const speech = theirs && speechState(theirs, deps.speechPreload)
    const certificates = theirs && certificateState(theirs)
    return reply
      .code(ready ? 200 : 503)
      .send({ status, store: isStoreUp, media: isMediaUp, speech, certificates, files })
  })
  app.get('/metrics', async (_request, reply) => {
    const theirs = await stats.read()
    const read = Promise.all([backlog.read(), gauges.refresh()]).then(([waiting]) => waiting)
    const waiting = await Promise.race([read, sleep(PATIENCE_MS, null, { ref: false })])
    const parts = [
      await registry.metrics(),
      '\n',
      gaugeLines('tandem_media', { up: theirs === null ? 0 : 1 }),
      gaugeLines('tandem_store', { up: waiting === null || deps.isStoreAway() ? 0 : 1 }),
      gaugeLines('tandem_control', memoryOfThis()),
      counterLines('tandem_channel', { ...media.counters, ...stats.counters }),
      histogramLines('tandem_channel_batch_events', media.batchSizes),
      ...Object.entries(counters()).map(([name, values]) => counterLines(`tandem_${name}`, values)),
      ...(waiting === null ? [] : [gaugeLines('tandem', { ...waiting })]),
      ...(theirs === null
        ? []
        : [
            namedCounterLines('tandem_media', theirs.counters),
            gaugeLines('tandem_media', theirs.gauges),
            ...Object.entries(theirs.histograms).map(([name, sizes]) => histogramLines(`tandem_media_${name}`, sizes)),
          ]),
    ]
    return reply.type('text/plain; version=0.0.4; charset=utf-8').send(parts.join(''))
  })
}

/** [bytes] */
function memoryOfThis(): Record<string, number> {
  const { rss, heapUsed, external } = process.memoryUsage()
  return { resident_bytes: rss, heap_bytes: heapUsed, external_bytes: external }
}

/** `loading`: ready in some seconds; `on_demand`: loaded at first use. Calls are answered in any case. */
function speechState(stats: MediaStats, isPreloaded: boolean): 'ready' | 'loading' | 'on_demand' {
  if (stats.gauges.speech_ready === 1) return 'ready'
  return isPreloaded ? 'loading' : 'on_demand'
}

/** `outdated`: one in use has expired, or the files contain new ones that cannot be used. Calls are answered in any case. */
function certificateState(stats: MediaStats): 'current' | 'outdated' {
  return (stats.gauges.credential_files_outdated ?? 0) > 0 ? 'outdated' : 'current'
}

function answers({ db }: Store): Promise<boolean> {
  const asked = db.selectFrom('settings').select('name').limit(1).execute()
  const isUp = asked.then(() => true).catch(() => false)
  return Promise.race([isUp, sleep(PATIENCE_MS, false, { ref: false })])
}
