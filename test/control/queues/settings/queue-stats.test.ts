import * as assert from 'uvu/assert'
import { insertParty } from '../../../../control/calls/records.ts'
import { liveAnswer } from '../../../../control/http/wire/live-answer.ts'
import { OpenStreams } from '../../../../control/http/wire/open-streams.ts'
import { newId } from '../../../../control/kernel/ids.ts'
import { openStore } from '../../../../control/kernel/store/store.ts'
import { joinQueue, leaveQueue } from '../../../../control/queues/waiting-calls.ts'
import { suite } from '../../../harness.ts'
import { ask } from '../../app-harness.ts'
import { makeDatabase } from '../../database.ts'
import { addMember, makeWholeApp, refusal, type WholeApp } from '../../whole-app.ts'

const test = suite('control/queues/settings/queue-stats')

/** A caller gets in line; the call's ID. */
async function join({ store, ours, clock }: WholeApp, queueId: string, livemode = true): Promise<string> {
  const tenant = { organisationId: ours.organisationId, livemode }
  const [callId, legId, at] = [newId('call'), newId('participant'), clock.now().toISOString()]
  await store.transaction(async trx => {
    await insertParty(
      trx,
      tenant,
      {
        callId,
        legId,
        direction: 'inbound',
        to: '1004',
        from: '+15550001111',
        target: 'queue',
        roomId: null,
        connectionId: null,
        metadata: {},
        role: 'member',
        muted: false,
      },
      at,
    )
    await joinQueue(trx, tenant, { callId, legId, queueId, at })
  })
  return callId
}

async function leave({ store, ours, clock }: WholeApp, callId: string, outcome: string): Promise<void> {
  const tenant = { organisationId: ours.organisationId, livemode: true }
  await store.transaction(trx => leaveQueue(trx, tenant, callId, { outcome, at: clock.now().toISOString() }))
}

test('a queue tells who waits and for how long, how many were answered and have given up, and its service level', async () => {
  const app = await makeWholeApp()
  const { live, clock } = app
  const queue = (await live('POST /v1/queues', { name: 'Support' })).body.id
  const stats = async (query = '') => (await live(`GET /v1/queues/${queue}/stats${query}`)).body
  assert.equal(await stats(), {
    object: 'queue_stats',
    livemode: true,
    queue_id: queue,
    name: 'Support',
    waiting: 0,
    longest_wait_since: null,
    from: '2026-11-21T00:00:00.000Z',
    answered: 0,
    abandoned: 0,
    other: 0,
    average_wait_ms: null,
    service_level_seconds: 20,
    service_level_pct: null,
  })
  const [soon, late, gone, voicemail, first] = [
    await join(app, queue),
    await join(app, queue),
    await join(app, queue),
    await join(app, queue),
    await join(app, queue),
  ]
  const since = clock.now().toISOString()
  clock.advance(10_000)
  await leave(app, soon, 'answered')
  clock.advance(20_000)
  await leave(app, late, 'answered')
  await leave(app, gone, 'abandoned')
  await leave(app, voicemail, 'voicemail')
  const second = await join(app, queue)
  const now = await stats()
  assert.equal([now.waiting, now.longest_wait_since], [2, since])
  assert.equal([now.answered, now.abandoned, now.other, now.average_wait_ms], [2, 1, 1, 20_000])
  assert.is(now.service_level_pct, 33.3)
  assert.is((await stats('?service_level_seconds=30')).service_level_pct, 66.7)
  const late20 = new Date(clock.now().getTime() - 5000).toISOString()
  assert.equal((await stats(`?from=${late20}`)).answered, 1)
  await leave(app, first, 'answered')
  await leave(app, second, 'answered')
  assert.equal([(await stats()).waiting, (await stats()).longest_wait_since], [0, null])
  assert.equal(refusal(await live(`GET /v1/queues/${queue}/stats?from=2026-09-01T00:00:00Z`)).slice(0, 2), [
    400,
    'from',
  ])
  assert.is((await live('GET /v1/queues/q_none/stats')).status, 404)
  assert.is((await app.test(`GET /v1/queues/${queue}/stats`)).status, 404)
  await app.close()
})

test('how long somebody waited is told by a clock that no operator sets: an hour back changes nothing', async () => {
  const app = await makeWholeApp()
  const { live, clock } = app
  const queue = (await live('POST /v1/queues', { name: 'Support' })).body.id
  const call = await join(app, queue)
  clock.advance(20_000)
  clock.set(-3_600_000)
  assert.is((await live(`GET /v1/queues/${queue}/calls`)).body.data[0].wait_ms, 20_000)
  const later = await join(app, queue)
  assert.match((await ask(app.app, 'GET /metrics')).text, /^tandem_queue_longest_wait_seconds 20$/m)
  await leave(app, later, 'abandoned')
  await leave(app, call, 'answered')
  clock.set(3_600_000)
  const [left] = (await live('GET /v1/events?type=queue.call.left')).body.data
  assert.is(left.data.object.wait_ms, 20_000)
  assert.is((await live(`GET /v1/queues/${queue}/stats`)).body.average_wait_ms, 20_000)
  await app.close()
})

test('the statistics of all queues are a list, page by page', async () => {
  const app = await makeWholeApp()
  const ids = []
  for (const name of ['a', 'b', 'c']) ids.push((await app.live('POST /v1/queues', { name })).body.id)
  await join(app, ids[1])
  const { body } = await app.live('GET /v1/queues/stats?limit=2')
  const seen = body.data.map((one: { name: string; waiting: number }) => [one.name, one.waiting])
  assert.equal(
    [seen, body.has_more],
    [
      [
        ['c', 0],
        ['b', 1],
      ],
      true,
    ],
  )
  const next = (await app.live(`GET /v1/queues/stats?limit=2&starting_after=${body.next_cursor}`)).body
  assert.equal(
    next.data.map(({ name }: { name: string }) => name),
    ['a'],
  )
  await app.close()
})

test('GET /agents tells the presence of all, by status, queue and team', async () => {
  const app = await makeWholeApp()
  const { live } = app
  const team = (await live('POST /v1/teams', { name: 'Night' })).body.id
  const ann = await addMember(live, 'ann@example.com')
  const bob = await addMember(live, 'bob@example.com', { team_id: team })
  const eve = await addMember(live, 'eve@example.com')
  await live('POST /v1/invitations', { email: 'not-yet@example.com' })
  const queue = (await live('POST /v1/queues', { name: 'q', member_user_ids: [ann], member_team_ids: [team] })).body.id
  await live(`PUT /v1/agents/${ann}/status`, { status: 'available' })
  await live(`PUT /v1/agents/${eve}/status`, { status: 'offline' })
  const ids = async (query = '') =>
    (await live(`GET /v1/agents${query}`)).body.data.map((one: { user_id: string }) => one.user_id)
  assert.equal(await ids(), [eve, bob, ann])
  assert.equal(await ids('?status=available'), [ann])
  assert.equal(await ids('?status=offline'), [eve, bob])
  assert.equal(await ids(`?queue_id=${queue}`), [bob, ann])
  assert.equal(await ids(`?team_id=${team}`), [bob])
  const [, , shown] = (await live('GET /v1/agents')).body.data
  assert.equal(shown, (await live(`GET /v1/agents/${ann}/status`)).body)
  assert.equal(shown.queue_ids, [queue])
  assert.equal(refusal(await live('GET /v1/agents?queue_id=q_none')).slice(0, 2), [400, 'queue_id'])
  await app.close()
})

/** The events of a stream, as far as they have come. */
async function watch(url: string, key: string) {
  const gone = new AbortController()
  const headers = { authorization: `Bearer ${key}`, accept: 'text/event-stream' }
  const response = await fetch(url, { headers, signal: gone.signal })
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  return {
    response,
    /** The next block that is no comment. */
    next: async () => {
      for (;;) {
        const end = text.indexOf('\n\n')
        const block = end < 0 ? '' : text.slice(0, end)
        if (end >= 0) text = text.slice(end + 2)
        if (block !== '' && !block.startsWith(':')) {
          const [, event, data] = /^event: (.*)\ndata: (.*)$/.exec(block) ?? []
          return { event, data: JSON.parse(data ?? 'null') }
        }
        if (end >= 0) continue
        const { done, value } = await reader.read()
        if (done) return null
        text += value
      }
    },
    leave: () => gone.abort(),
  }
}

test(
  'statistics come live, by server-sent events: at once, and again when they have changed',
  async () => {
    const app = await makeWholeApp()
    const queue = (await app.live('POST /v1/queues', { name: 'Support' })).body.id
    const base = await app.app.listen({ port: 0, host: '127.0.0.1' })
    const one = await watch(`${base}/v1/queues/${queue}/stats`, app.ours.keys.live)
    assert.is(one.response.headers.get('content-type'), 'text/event-stream')
    assert.equal([(await one.next())?.event, one.response.status], ['snapshot', 200])
    const all = await watch(`${base}/v1/queues/stats`, app.ours.keys.live)
    assert.is((await all.next())?.data.data[0].waiting, 0)
    await join(app, queue)
    assert.is((await one.next())?.data.waiting, 1)
    assert.is((await all.next())?.data.data[0].waiting, 1)
    await app.live(`PATCH /v1/queues/${queue}`, { name: 'Renamed' })
    assert.is((await one.next())?.data.name, 'Renamed')
    assert.is((await all.next())?.data.data[0].name, 'Renamed')
    one.leave()
    // The server does not wait for those that never end by themselves.
    await app.close()
    assert.is(await all.next(), null)
  },
  { timeoutMs: 30_000, together: true },
)

test(
  'a key has a bounded number of live streams, which it gets back',
  async () => {
    const app = await makeWholeApp()
    const base = await app.app.listen({ port: 0, host: '127.0.0.1' })
    const open = []
    for (let i = 0; i < 10; i++) open.push(await watch(`${base}/v1/agents`, app.ours.keys.live))
    const refused = await watch(`${base}/v1/agents`, app.ours.keys.live)
    assert.equal([refused.response.status, refused.response.headers.get('retry-after')], [429, '5'])
    const other = await watch(`${base}/v1/agents`, app.ours.keys.test)
    assert.is(other.response.status, 200)
    for (const stream of open) stream.leave()
    const again = async (): Promise<number> => {
      const next = await watch(`${base}/v1/agents`, app.ours.keys.live)
      next.leave()
      return next.response.status
    }
    for (let status = 0, i = 0; status !== 200; i++) {
      assert.ok(i < 200, 'a place is free again')
      status = await again()
    }
    other.leave()
    refused.leave()
    await app.close()
  },
  { timeoutMs: 30_000, together: true },
)

test('a stream on which nothing happens sends heartbeats, and ends after its time', async () => {
  const { target, remove } = await makeDatabase()
  const store = await openStore(target)
  const parts = { streams: new OpenStreams(store, () => new Date()), everyMs: 1, heartbeatMs: 4, longestMs: 12 }
  const answer = await liveAnswer(parts, { apiKeyId: 'key_1' } as never, 'text/event-stream', async () => ({ a: 1 }))
  let text = ''
  for await (const chunk of (answer as { raw: AsyncIterable<Buffer> }).raw) text += chunk
  assert.is(text, `event: snapshot\ndata: {"a":1}\n\n${': heartbeat\n\n'.repeat(3)}`)
  await store.close()
  await remove()
})

test.run()
