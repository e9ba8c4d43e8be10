import { readdirSync } from 'node:fs'
import * as assert from 'uvu/assert'
import { insertParty } from '../../../control/calls/records.ts'
import { ERRORS } from '../../../control/http/errors.ts'
import { newId } from '../../../control/kernel/ids.ts'
import { vaultOf } from '../../../control/kernel/vault.ts'
import { buildApp } from '../../../control/wiring/app.ts'
import type { AppParts } from '../../../control/wiring/parts.ts'
import type { Failure, MediaStats } from '../../../media/protocol.ts'
import { suite } from '../../harness.ts'
import { ask, makeWorld, START, silent } from '../app-harness.ts'

const test = suite('control/wiring/app')

const STATS: MediaStats = {
  counters: {
    rtp_packets_received_total: 7,
    'bad name': 1,
    'thread_busy_seconds_total{thread="0"}': 1.5,
    'thread_busy_seconds_total{thread="1"}': 0.25,
  },
  gauges: { legs: 3, 'thread_legs{thread="0"}': 1, 'thread_legs{thread="1"}': 2, 'thread_odd{other="1"}': 1 },
  histograms: { clock_lateness_seconds: { bounds: [0.002, 0.005], counts: [8, 1], sum: 0.03, count: 10 } },
}

const media = {
  state: 'ready' as 'ready' | 'disconnected',
  request: async (name: string): Promise<MediaStats | Failure> =>
    name === 'media.stats' ? STATS : { failure: 'not_found', message: 'not here' },
  settled: async () => {},
  counters: { eventsLost: 2 },
  batchSizes: { bounds: [1, 2], counts: [5, 2], sum: 12, count: 8 },
}

const world = await makeWorld()
const config = {
  allowPrivateUrls: [],
  dataDir: '/nowhere',
  httpHost: '127.0.0.1',
  httpPort: 8080,
  publicIps: [],
  sipHosts: ['127.0.0.1'],
}
const vault = vaultOf(new Uint8Array(32))
const parts = { store: world.store, media, config, vault, now: world.clock.now, log: silent } as unknown as AppParts
const app = await buildApp(parts)
const { live } = world.ours.keys

interface Operation {
  line: string
  operation: { operationId: string; responses: Record<string, unknown>; description: string }
}
const document = (await ask(app, 'GET /openapi.json')).body
const operations: Operation[] = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods as Record<string, Operation['operation']>).map(([method, operation]) => ({
    line: `${method.toUpperCase()} ${path}`,
    operation,
  })),
)

/** A call of our organisation in live mode; its ID. */
async function makeCall(): Promise<string> {
  const tenant = { organisationId: world.ours.organisationId, livemode: true }
  const [callId, legId] = [newId('call'), newId('participant')]
  await world.store.transaction(trx =>
    insertParty(
      trx,
      tenant,
      {
        callId,
        legId,
        direction: 'inbound',
        to: '1',
        from: '2',
        target: 'park',
        roomId: null,
        connectionId: null,
        metadata: {},
        role: 'member',
        muted: false,
      },
      START.toISOString(),
    ),
  )
  return callId
}

test('counters of media that make no sense are ignored and counted: who asks whether we are ready is answered', async () => {
  const odd = [{}, { counters: null, gauges: 'many' }, { counters: {}, gauges: {}, histograms: { late: [3] } }]
  const strange = { ...media, request: async () => odd.shift() ?? STATS }
  const product = await buildApp({ ...parts, media: strange } as unknown as AppParts)
  for (let i = 0; i < 2; i++) {
    const { status, body } = await ask(product, 'GET /readyz')
    assert.equal([status, body.status, body.speech], [200, 'ready', null])
  }
  assert.match((await ask(product, 'GET /metrics')).text, /^tandem_media_up 0$/m)
  const { text } = await ask(product, 'GET /metrics')
  assert.match(text, /^tandem_channel_bad_stats_total 3$/m)
  assert.match(text, /^tandem_media_up 1$/m)
  await product.close()
})

test("a call's events are those of this call, newest first", async () => {
  const id = await makeCall()
  const { body } = await ask(app, `GET /v1/calls/${id}/events`, { key: live })
  assert.is(body.url, `/v1/calls/${id}/events`)
  assert.equal(
    body.data.map((event: { type: string; data: { object: { id: string } } }) => [event.type, event.data.object.id]),
    [['call.created', id]],
  )
})

test('the description of the API is OpenAPI 3.1 with unique operation IDs, scopes and the standard errors', () => {
  assert.is(document.openapi, '3.1.0')
  const ids = operations.map(({ operation }) => operation.operationId)
  assert.is(new Set(ids).size, ids.length)
  for (const { line, operation } of operations) {
    for (const status of ['400', '401', '403', '429', '500']) assert.ok(status in operation.responses, line)
    assert.ok(
      Object.keys(operation.responses).some(status => status.startsWith('2')),
      line,
    )
    assert.match(operation.description, /Scope: `[a-z_]+:(read|write)`/)
    assert.is(line.includes('{id}') && !('404' in operation.responses), false, `${line} does not tell of 404`)
  }
})

test('the operations of the first issue are there', () => {
  const lines = new Set(operations.map(({ line }) => line))
  for (const line of [
    'POST /v1/api_keys',
    'POST /v1/calls',
    'POST /v1/calls/{id}/hangup',
    'GET /v1/calls/{id}/events',
    'GET /v1/calls/{id}/participants',
    'GET /v1/calls/{id}/recording/content',
    'DELETE /v1/calls/{id}/streams/{stream_id}',
    'POST /v1/calls/{id}/pci',
    'POST /v1/conference_rooms',
    'GET /v1/conference_rooms/{id}/participants',
    'PATCH /v1/inbound_routes/{id}',
    'PATCH /v1/phone_numbers/{id}',
    'DELETE /v1/connections/{id}',
    'GET /v1/events/{id}',
    'PATCH /v1/organisation',
  ]) {
    assert.ok(lines.has(line), line)
  }
})

test('/docs shows every operation and loads nothing from elsewhere', async () => {
  const { status, text, headers } = await ask(app, 'GET /docs')
  assert.is(status, 200)
  assert.match(String(headers['content-type']), 'text/html')
  for (const { operation } of operations) assert.match(text, `id="${operation.operationId}"`)
  assert.not.match(text, /<(link|img|iframe)|@import|url\(/)
  assert.equal(text.match(/<script[^>]*>/g), ['<script src="/docs/try.js" type="module">'])
  assert.match(String(headers['content-security-policy']), "default-src 'none'; script-src 'self'")
  assert.match((await ask(app, 'GET /docs/try.js')).text, "'Service-Playground'")
})

test('/docs leads to every guide of docs/, which are pages as they stand there: headings, tables, code', async () => {
  const { text } = await ask(app, 'GET /docs')
  const names = readdirSync(new URL('../../../docs', import.meta.url)).filter(name => name.endsWith('.md'))
  assert.ok(names.length > 20)
  for (const name of names) assert.match(text, `href="/docs/guides/${name}"`)
  const streams = await ask(app, 'GET /docs/guides/streams.md')
  assert.match(String(streams.headers['content-type']), 'text/html')
  assert.match(streams.text, '<h2 id="what-the-receiver-gets">What the receiver gets</h2>')
  assert.match(streams.text, '<td><code>start</code></td>')
  assert.match(streams.text, 'import { WebSocketServer } from')
  assert.not.match(
    (await ask(app, 'GET /docs/guides/sip.md')).text,
    'href="../',
    'files that are not served are no links',
  )
  assert.is((await ask(app, 'GET /docs/guides/none.md')).status, 404)
})

test('who opens the address in a browser is led to /docs', async () => {
  const { status, headers } = await ask(app, 'GET /')
  assert.equal([status, headers.location], [302, '/docs'])
  assert.is((await ask(app, 'GET /favicon.ico')).status, 204)
})

test('the doc_url of every error leads to a line of its own', async () => {
  const { text } = await ask(app, 'GET /docs/errors')
  for (const code of Object.keys(ERRORS)) assert.match(text, `id="${code}"`)
  const { body } = await ask(app, 'GET /v1/calls')
  assert.match(body.error.doc_url, /^http:\/\/[^/]+\/docs\/errors#api_key_missing$/)
})

test('/readyz answers 200 only when the store and media are there', async () => {
  assert.is((await ask(app, 'GET /healthz')).status, 200)
  assert.equal((await ask(app, 'GET /readyz')).body, {
    ...{ status: 'ready', store: true, media: true },
    ...{ speech: 'loading', certificates: 'current', files: 'free' },
  })
  media.state = 'disconnected'
  const away = await ask(app, 'GET /readyz')
  assert.is(away.status, 503)
  assert.equal(away.body, {
    ...{ status: 'not_ready', store: true, media: false },
    ...{ speech: null, certificates: null, files: null },
  })
  media.state = 'ready'
})

test('/readyz answers 503 while media is connected but stands still', async () => {
  const asked: unknown[] = []
  const still = (...given: unknown[]) => {
    asked.push(given)
    return Promise.resolve({ failure: 'unanswered', message: 'no reply' })
  }
  const product = await buildApp({ ...parts, media: { ...media, request: still } } as unknown as AppParts)
  const { status, body } = await ask(product, 'GET /readyz')
  assert.equal([status, body.status, body.media], [503, 'not_ready', false])
  assert.equal(asked, [['media.stats', {}, 3000]])
  await product.close()
})

test('/readyz says when speech is ready, and is ready for calls before', async () => {
  STATS.gauges.speech_ready = 1
  assert.is((await ask(app, 'GET /readyz')).body.speech, 'ready')
  delete STATS.gauges.speech_ready
  const { status, body } = await ask(app, 'GET /readyz')
  assert.equal([status, body.speech], [200, 'loading'])
})

test('/readyz says when new certificates cannot be used, and stays ready', async () => {
  STATS.gauges.credential_files_outdated = 1
  const { status, body } = await ask(app, 'GET /readyz')
  assert.equal([status, body.certificates], [200, 'outdated'])
  delete STATS.gauges.credential_files_outdated
})

test('/readyz says when no call can be taken because no more files may be open', async () => {
  STATS.gauges.files_used_up = 1
  const { status, body } = await ask(app, 'GET /readyz')
  assert.equal([status, body.status, body.files], [503, 'not_ready', 'used_up'])
  delete STATS.gauges.files_used_up
})

test('/metrics has the durations of requests and the numbers of media', async () => {
  const { text } = await ask(app, 'GET /metrics')
  assert.match(text, 'tandem_media_rtp_packets_received_total 7')
  assert.match(text, 'tandem_media_legs 3')
  assert.match(text, 'tandem_media_up 1')
  assert.match(text, 'tandem_media_clock_lateness_seconds_bucket{le="0.005"} 9\n')
  assert.match(text, 'tandem_channel_events_lost_total 2')
  assert.match(text, 'tandem_channel_batch_events_bucket{le="1"} 5\ntandem_channel_batch_events_bucket{le="2"} 7\n')
  assert.match(text, 'tandem_channel_batch_events_bucket{le="+Inf"} 8\ntandem_channel_batch_events_sum 12\n')
  for (const name of ['webhooks_pending', 'webhooks_overdue', 'webhook_endpoints_disabled', 'jobs_waiting']) {
    assert.match(text, new RegExp(`# TYPE tandem_${name} gauge\ntandem_${name} \\d+`))
  }
  assert.match(text, 'tandem_request_logs_written_total')
  const ofThreads = text.split('\n').filter(line => line.includes('tandem_media_thread_'))
  assert.equal(ofThreads, [
    '# HELP tandem_media_thread_busy_seconds_total Time that an engine thread has worked, or has waited for a core',
    '# TYPE tandem_media_thread_busy_seconds_total counter',
    'tandem_media_thread_busy_seconds_total{thread="0"} 1.5',
    'tandem_media_thread_busy_seconds_total{thread="1"} 0.25',
    '# HELP tandem_media_thread_legs Legs whose packets come to an engine thread',
    '# TYPE tandem_media_thread_legs gauge',
    'tandem_media_thread_legs{thread="0"} 1',
    'tandem_media_thread_legs{thread="1"} 2',
  ])
  assert.not.match(text, 'bad name')
  assert.match(text, /tandem_http_request_duration_seconds_count\{method="GET",route="\/healthz",status="200"\} 1/)
  media.state = 'disconnected'
  assert.match((await ask(app, 'GET /metrics')).text, 'tandem_media_up 0')
  media.state = 'ready'
})

test.run()
