import { CompiledQuery, type RootOperationNode, SelectQueryNode, sql, ValueNode } from 'kysely'
import * as assert from 'uvu/assert'
import { endLostPrograms } from '../../../../control/assistants/lost-programs.ts'
import { unstartedStreams } from '../../../../control/calls/capture/streams.ts'
import { connectionsFor } from '../../../../control/calls/conductor/inbound-rows.ts'
import { RunningCalls } from '../../../../control/calls/conductor/running-calls.ts'
import { runningLegs } from '../../../../control/calls/conductor/running-rows.ts'
import { insertParty } from '../../../../control/calls/records.ts'
import type { CallRow } from '../../../../control/calls/tables.ts'
import { unservedCalls } from '../../../../control/campaigns/unserved.ts'
import { appendEvent } from '../../../../control/kernel/events/log.ts'
import { newId } from '../../../../control/kernel/ids.ts'
import { rowBy } from '../../../../control/kernel/store/compiled.ts'
import type { Store, Trx } from '../../../../control/kernel/store/store.ts'
import { forTenant } from '../../../../control/kernel/tenancy.ts'
import { CURRENT_VERSION } from '../../../../control/kernel/versions/current.ts'
import { CallCentre } from '../../../../control/queues/call-centre.ts'
import { dueCallbacks, isCallbackDue } from '../../../../control/queues/callbacks/due.ts'
import { callbackReturnedBy } from '../../../../control/queues/ringing/returning.ts'
import { removeCall } from '../../../../control/retention/removal.ts'
import { insertConnection } from '../../../../control/trunks/networks.ts'
import { claimDue, forgetClosed } from '../../../../control/webhooks/claims.ts'
import { DeliveryShares } from '../../../../control/webhooks/shares.ts'
import { suite } from '../../../harness.ts'
import { ask, makeWorld, serve } from '../../app-harness.ts'
import { CATALOGUES } from '../../conformance/objects.ts'
import { productRoutes } from '../../conformance/product.ts'
import { testEngine } from '../../database.ts'

const test = suite(`control/kernel/store/plans on ${testEngine}`)

/** A store that keeps what it is asked: queries that are built each time, and queries that were compiled once. */
function listening(store: Store): { store: Store; nodes: RootOperationNode[]; executed: CompiledQuery[] } {
  const nodes: RootOperationNode[] = []
  const executed: CompiledQuery[] = []
  const db = store.db.withPlugin({
    transformQuery: ({ node }) => {
      nodes.push(node)
      return node
    },
    transformResult: async ({ result }) => result,
  })
  const execute = db.executeQuery.bind(db)
  db.executeQuery = async query => {
    if ('sql' in query) executed.push(query)
    return execute(query as never) as never
  }
  return { store: { ...store, db, reads: db }, nodes, executed }
}

/** How the database reads the rows of a query, in its own words; whatever is small enough to be read whole is taken for large. */
async function planOf(store: Store, query: CompiledQuery): Promise<string> {
  if (store.engine === 'sqlite') {
    const { rows } = await store.db.executeQuery<{ detail: string }>(
      CompiledQuery.raw(`explain query plan ${query.sql}`, [...query.parameters]),
    )
    return rows.map(({ detail }) => detail).join('; ')
  }
  return store.transaction(async trx => {
    for (const way of ['seqscan', 'sort', 'bitmapscan']) await sql.raw(`set local enable_${way} = off`).execute(trx)
    const explain = CompiledQuery.raw(`explain ${query.sql}`, [...query.parameters])
    const { rows } = await trx.executeQuery<{ 'QUERY PLAN': string }>(explain)
    return rows.map(row => row['QUERY PLAN'].trim()).join('; ')
  })
}

/** Reads a table from end to end, or puts rows in order that an index has in order. */
const SLOW = { sqlite: /SCAN|TEMP B-TREE/, postgres: /Seq Scan|Sort/ }[testEngine]

/** Reads the rows of one organisation alone. */
const OWN = { sqlite: /organisation_id=\?/, postgres: /Index Cond: .*organisation_id/ }[testEngine]

/** A page of twenty, and the row that tells whether there are more. */
const isPage = (node: RootOperationNode): boolean =>
  SelectQueryNode.is(node) &&
  node.limit !== undefined &&
  ValueNode.is(node.limit.limit) &&
  node.limit.limit.value === 21

const isCompiledPage = ({ query, parameters }: CompiledQuery): boolean =>
  SelectQueryNode.is(query) && query.limit !== undefined && parameters.at(-1) === 21

/** Filters that lists are asked for most. */
const FILTERS: Record<string, string[]> = {
  '/callbacks': ['status=pending'],
  '/calls': [
    'status=in_progress',
    'number=%2B15551234567',
    'to=1000&direction=inbound',
    'user_id=usr_1',
    'queue_id=q_1&answered=false',
    'assistant_id=asst_1',
    'ended_reason=busy',
    'metadata[order]=7&number=1000&assistant_id=asst_1',
    'created[gte]=2026-11-01T00:00:00Z&created[lt]=2026-11-02T00:00:00Z',
  ],
  '/agents': ['status=available', 'status=offline&team_id=team_1'],
  '/qa_evaluations': ['status=needs_model', 'review=wanted'],
  '/events': ['object_id=call_1', 'object_id=call_1&type=call.ended', 'type=call.ended'],
  '/copilot_sessions': ['call_id=call_1', 'status=ended', 'user_id=usr_1'],
  '/transcripts/search': ['call_id=call_1', 'queue_id=q_1'],
  '/webhook_deliveries': ['status=failed'],
}

/** Lists in which there are few rows among very many, or none, and the indexes by which these are found. */
const FOUND_BY = [
  ['/calls?status=in_progress', 'calls_unusual'],
  ['/calls?status=busy&direction=inbound', 'calls_unusual'],
  ['/calls?kind=conference', 'calls_conferences'],
  ['/events?type=call.held', 'events_of_type'],
  ['/usage/entries?source_id=call_1', 'usage_entries_of_source'],
  ['/copilot_sessions?call_id=call_1', 'copilot_sessions_of_call'],
] as const

test('running calls, conferences, events of a type, and what belongs to one call are found by indexes of their own', async () => {
  const world = await makeWorld()
  const { store, nodes, executed } = listening(world.store)
  const app = await serve({ ...world, store }, productRoutes({ ...world, store }))
  const key = world.ours.keys.live
  const plans = async (url: string): Promise<string> => {
    nodes.length = 0
    executed.length = 0
    assert.is((await ask(app, `GET /v1${url}`, { key })).status, 200, url)
    const built = nodes.filter(isPage).map(node => store.db.getExecutor().compileQuery(node, { queryId: 'plan' }))
    const pages = [...built, ...executed.filter(isCompiledPage)]
    return (await Promise.all(pages.map(query => planOf(world.store, query)))).join('; ')
  }
  for (const [url, index] of FOUND_BY) assert.match(await plans(url), index)
  const tenant = { organisationId: world.ours.organisationId, livemode: true }
  const id = newId('call')
  const ends = { legId: newId('participant'), direction: 'inbound', to: '1', from: '2', target: 'park' } as const
  const party = {
    callId: id,
    ...ends,
    roomId: null,
    connectionId: null,
    metadata: {},
    role: 'member',
    muted: false,
  } as const
  await world.store.transaction(trx => insertParty(trx, tenant, party, '2026-11-27T10:00:00.000Z'))
  assert.match(await plans(`/calls/${id}/events`), 'events_of_call')
  await app.close()
  await world.store.close()
})

if (testEngine === 'sqlite')
  test('what is deleted with a call is not looked for among all rows of its organisation', async () => {
    const world = await makeWorld()
    const { store, nodes, executed } = listening(world.store)
    const tenant = { organisationId: world.ours.organisationId, livemode: true }
    const scoped = forTenant(world.store.db, tenant)
    const id = newId('call')
    const ends = { legId: newId('participant'), direction: 'inbound', to: '1', from: '2', target: 'park' } as const
    const party = {
      callId: id,
      ...ends,
      roomId: null,
      connectionId: null,
      metadata: {},
      role: 'member',
      muted: false,
    } as const
    const at = '2026-11-27T10:00:00.000Z'
    await world.store.transaction(trx => insertParty(trx, tenant, party, at))
    await scoped.change('calls', id, { status: 'completed', ended_at: at })
    const transcript = {
      id,
      status: 'ready',
      language: null,
      duration_ms: 1,
      failed_reason: null,
      created: at,
    } as const
    await scoped.insert('transcripts', transcript)
    assert.is(await removeCall(store.db as Trx, tenant, id, at), null)
    const built = nodes.map(node => store.db.getExecutor().compileQuery(node, { queryId: 'plan' }))
    // Those with places for values are templates of what was executed.
    const queries = [
      ...executed,
      ...built.filter(({ parameters }) => parameters.every(value => Object(value) !== value)),
    ]
    assert.ok(queries.length > 20, 'the queries were heard')
    const plans = await Promise.all(queries.map(async query => `${query.sql}: ${await planOf(world.store, query)}`))
    assert.equal(
      plans.filter(plan => /SCAN (?!transcript_search)|livemode=\?\)/.test(plan)),
      [],
    )
    await world.store.close()
  })

test('evaluations that wait for somebody, and those that have been reviewed, are found by indexes of their own', async () => {
  const world = await makeWorld()
  const { store, nodes } = listening(world.store)
  const app = await serve({ ...world, store }, productRoutes({ ...world, store }))
  for (const [url, index] of [
    ['/qa_evaluations?status=needs_model', 'by_status'],
    ['/qa_evaluations?review=wanted', 'by_review'],
    ['/qa_calibration', 'reviewed'],
  ] as const) {
    nodes.length = 0
    assert.is((await ask(app, `GET /v1${url}`, { key: world.ours.keys.live })).status, 200)
    const built = nodes.map(node => store.db.getExecutor().compileQuery(node, { queryId: 'plan' }))
    const plans = built.filter(query => query.sql.includes('"qa_evaluations"')).map(query => planOf(world.store, query))
    assert.match((await Promise.all(plans)).join('; '), `qa_evaluations_${index}`)
  }
  await app.close()
  await world.store.close()
})

test(
  "a page of any list is read off an index of its organisation's rows in its order, so that the last one takes as long as the first",
  async () => {
    const world = await makeWorld()
    const { store, nodes, executed } = listening(world.store)
    const routes = productRoutes({ ...world, store })
    const app = await serve({ ...world, store }, routes)
    const lists = routes.filter(
      ({ method, path, query }) =>
        method === 'GET' &&
        !CATALOGUES.includes(path) &&
        !path.includes(':') &&
        'starting_after' in ((query as { properties?: object })?.properties ?? {}),
    )
    assert.ok(lists.length > 15, 'the lists were found')
    const slow: string[] = []
    const key = world.ours.keys.live
    const plansOf = async (url: string): Promise<string[]> => {
      nodes.length = 0
      executed.length = 0
      const { status } = await ask(app, `GET ${url}`, { key })
      assert.is(status, 200, url)
      const built = nodes.filter(isPage).map(node => store.db.getExecutor().compileQuery(node, { queryId: 'plan' }))
      const pages = [...built, ...executed.filter(isCompiledPage)]
      assert.ok(pages.length > 0, `${url} reads a page`)
      return Promise.all(pages.map(query => planOf(world.store, query)))
    }
    for (const { path } of lists) {
      const first = await plansOf(`/v1${path}`)
      slow.push(...first.filter(plan => SLOW.test(plan) || !OWN.test(plan)).map(plan => `${path}: ${plan}`))
      const [one] = (await ask(app, `GET /v1${path}?limit=1`, { key })).body.data
      const cursor = `${one?.id.split('_')[0] ?? 'x'}_${'0'.repeat(26)}`
      for (const filter of ['', ...(FILTERS[path] ?? [])]) {
        const plans = await plansOf(`/v1${path}?starting_after=${cursor}&${filter}`)
        slow.push(...plans.filter(plan => SLOW.test(plan)).map(plan => `${path}?${filter}: ${plan}`))
      }
    }
    assert.equal(slow, [])
    await app.close()
    await world.store.close()
  },
  { timeoutMs: 60_000 },
)

test('what is due is found by its time, what runs by its state: jobs, deliveries, requests, streams, recordings', async () => {
  const { store } = await makeWorld()
  const at = new Date().toISOString()
  const due = [
    store.db.selectFrom('jobs').select('id').where('due_at', '<=', at).orderBy('due_at').limit(8),
    store.db.selectFrom('idempotency_keys').select('path').where('lease', '=', 'node').where('created', '>', at),
    store.db.selectFrom('idempotency_keys').select('path').where('created', '<=', at),
    store.db.selectFrom('media_streams').select('call_id').where('ended_reason', 'is', null),
    store.db.selectFrom('recordings').select('call_id').where('status', '=', 'recording'),
  ]
  for (const query of due) assert.not.match(await planOf(store, query.compile()), SLOW)
  await store.close()
})

test('what runs, and deliveries that are due or closed, are read off indexes that hold nothing else', async () => {
  const { store, clock } = await makeWorld()
  const { store: heard, nodes, executed } = listening(store)
  const built = () => store.db.getExecutor().compileQuery(nodes.at(-1)!, { queryId: 'plan' })
  const shares = new DeliveryShares(64, 8)
  await claimDue(heard.db, { now: clock.now(), leaseMs: 1000, shares, looksBehind: false })
  const due = await planOf(store, executed.at(-1)!)
  assert.match(due, 'webhook_deliveries_due')
  assert.not.match(due, SLOW)
  await forgetClosed(heard.db, clock.now(), 8)
  assert.match(await planOf(store, built()), 'webhook_deliveries_closed')
  await new RunningCalls(heard).refresh()
  for (const query of executed.slice(-2)) assert.match(await planOf(store, query), 'calls_running', query.sql)
  await runningLegs(heard.db)
  assert.not.match(await planOf(store, built()), /SCAN participants|Seq Scan/)
  await store.close()
})

test('what a start looks for, and what campaigns look for four times a second, is not looked for among all that ever was', async () => {
  const { store, clock } = await makeWorld()
  const { store: heard, nodes, executed } = listening(store)
  await new CallCentre({ store: heard } as never).rungLegs()
  await endLostPrograms(null as never, heard.db, clock.now().toISOString(), async () => {})
  const built = nodes.map(node => store.db.getExecutor().compileQuery(node, { queryId: 'plan' }))
  assert.ok(
    built.some(({ sql }) => sql.includes('"ring_id"')) && built.some(({ sql }) => sql.includes('call_programs')),
  )
  await unservedCalls(heard.db, clock.now())
  for (const query of [...built, executed.at(-1)!])
    assert.not.match(
      await planOf(store, query),
      /(SCAN|Seq Scan on) (participants|call_programs|campaign_attempts|calls|transcripts)/,
      query.sql,
    )
  await store.close()
})

test("a queue's statistics are read off an index: who waits, and who has left since", async () => {
  const { store, ours } = await makeWorld()
  const ids = ['q_1', 'q_2']
  const of = { organisation_id: ours.organisationId, livemode: 1 }
  const tables = ['queue_calls', 'queue_visits'] as const
  for (const table of tables) {
    const rows = store.db.selectFrom(table).select('queue_id').where('organisation_id', '=', of.organisation_id)
    const query = rows.where('livemode', '=', of.livemode).where('queue_id', 'in', ids)
    const since = table === 'queue_visits' ? query.where('left_at' as never, '>=', '2026' as never) : query
    assert.match(await planOf(store, since.compile()), /index/i)
    assert.not.match(await planOf(store, since.compile()), /Seq Scan|SCAN queue/)
  }
  await store.close()
})

test('the next due callback of a queue, of an agent, and whether any is due, is read off an index in its order', async () => {
  const { store, ours } = await makeWorld()
  const tenant = { organisationId: ours.organisationId, livemode: true }
  const { store: heard, nodes } = listening(store)
  const takers = { agents: new Set(['usr_1']), byQueue: new Map([['q_1', 1]]) }
  const at = new Date().toISOString()
  await dueCallbacks(heard.db, tenant, { at, takers })
  await isCallbackDue(heard.db, tenant, at)
  assert.is(nodes.length, 5)
  // Of an assistant's all are dialled.
  for (const node of nodes.slice(1)) {
    const query = heard.db.getExecutor().compileQuery(node, { queryId: 'plan' })
    const plan = await planOf(store, query)
    assert.not.match(plan, SLOW, plan)
  }
  await store.close()
})

test('an INVITE looks its connections up by an index, however many organisations there are', async () => {
  const { store, ours } = await makeWorld()
  const tenant = { organisationId: ours.organisationId, livemode: true }
  const at = new Date().toISOString()
  await store.transaction(async trx => {
    for (let n = 0; n < 1000; n++) {
      const allowed_ips = JSON.stringify([`10.${n >> 8}.${n & 255}.0/24`])
      const row = {
        id: `conn_${n}`,
        name: 'Peer',
        kind: 'peer' as const,
        allowed_ips,
        port: 0,
        transport: 'udp' as const,
      }
      await insertConnection(trx, tenant, { ...row, codecs: '[]', enabled: 1, created: at, updated: at })
    }
  })
  // A planner that knows what is in the tables, as it does in production: of an empty one any plan is as good as the other.
  await sql.raw('analyze').execute(store.db)
  const { store: heard, executed } = listening(store)
  const source = { transport: 'udp' as const, host: '10.2.7.1', port: 5060 }
  assert.is((await connectionsFor(heard.db, { source } as never)).length, 1)
  const plan = await planOf(store, executed.at(-1)!)
  assert.not.match(plan, SLOW)
  assert.match(plan, 'connection_networks_network')
  await store.close()
})

test('what is asked about every call, and what claims a delivery, reads the rows of that call and of these deliveries alone', async () => {
  const world = await makeWorld()
  const { store, ours, clock } = world
  const tenant = { organisationId: ours.organisationId, livemode: true }
  const at = clock.now().toISOString()
  await forTenant(store.db, tenant).insert('webhook_endpoints', {
    ...{ id: 'we_1', url: 'https://hooks.test/', status: 'enabled', event_types: '["*"]', metadata: '{}' },
    ...{ api_version: CURRENT_VERSION, algorithm: 'hmac', signing_key: '', created: at, updated: at },
  })
  await store.transaction(async trx => {
    const object = { id: 'call_1' }
    for (let n = 0; n < 8; n++) await appendEvent(trx, tenant, { type: 'call.ended', at, object })
  })
  const { store: heard, nodes, executed } = listening(store)
  const shares = new DeliveryShares(64, 8)
  const rules = { now: clock.now(), leaseMs: 1000, shares, looksBehind: false }
  assert.is((await claimDue(heard.db, rules)).deliveries.length, 8)
  const claim = executed.find(({ sql }) => sql.startsWith('update'))!
  executed.length = 0
  const call: Partial<CallRow> = { id: 'call_1', organisation_id: ours.organisationId, livemode: 1 }
  await unstartedStreams(heard.db, call as CallRow)
  await rowBy(heard.db, 'rings', { leg_id: 'part_1' })
  assert.is(executed.length, 2)
  await callbackReturnedBy(heard.db, tenant, 'call_1')
  const asked = [...executed.slice(0, 2), store.db.getExecutor().compileQuery(nodes.at(-1)!, { queryId: 'plan' })]
  for (const query of asked) assert.match(await planOf(store, query), /call_id|leg_id/, query.sql)
  assert.match(await planOf(store, claim), /autoindex_webhook_deliveries|webhook_deliveries_pk/, claim.sql)
  await store.close()
})

test.run()
