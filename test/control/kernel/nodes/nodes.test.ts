import type { FastifyInstance } from 'fastify'
import * as assert from 'uvu/assert'
import { endedCall } from '../../../../control/calls/events.ts'
import { insertParty } from '../../../../control/calls/records.ts'
import { appendEvent } from '../../../../control/kernel/events/log.ts'
import { newId } from '../../../../control/kernel/ids.ts'
import { enqueue } from '../../../../control/kernel/jobs/queue.ts'
import { JobRunner } from '../../../../control/kernel/jobs/runner.ts'
import { openStore, type Store } from '../../../../control/kernel/store/store.ts'
import { buildDriver } from '../../../../control/wiring/background.ts'
import { addOrganisation, firstStart } from '../../../../control/wiring/first-start.ts'
import { WebhookReceiver } from '../../../fakes/webhook-receiver.ts'
import { suite } from '../../../harness.ts'
import { type Answer, ask, makeClock, serve, silent, type World } from '../../app-harness.ts'
import { productRoutes, UNLIMITED } from '../../conformance/product.ts'
import { makeDatabase, testEngine } from '../../database.ts'
import '../jobs/kinds.ts'
import { dispatcherOf } from '../../webhooks/webhook-world.ts'
import { APP_CONFIG, VAULT } from '../../whole-app.ts'

const test = suite(`control/kernel/nodes/nodes on ${testEngine}`)

interface Node extends World {
  app: FastifyInstance
  post(path: string, body: object, key?: string): Promise<Answer>
}

/** Two control processes on one database; SQLite has one connection for both. */
async function makeNodes(): Promise<{ nodes: [Node, Node]; close: () => Promise<void> }> {
  const database = await makeDatabase()
  const first = await openStore(database.target, 'a')
  const second = testEngine === 'postgres' ? await openStore(database.target, 'b') : first
  const clock = makeClock()
  const add = (name: string) =>
    first.transaction(trx => addOrganisation(trx, { name, pciEnabled: false, now: clock.now() }))
  const [ours, theirs] = [await add('Ours'), await add('Theirs')]
  const makeNode = async (store: Store): Promise<Node> => {
    const world = { store, clock, ours, theirs }
    const config = { ...APP_CONFIG, allowPrivateUrls: ['127.0.0.0/8'] }
    const app = await serve(world, productRoutes(world, { config }), UNLIMITED)
    const post = (path: string, body: object, key?: string) =>
      ask(app, `POST /v1${path}`, {
        key: ours.keys.live,
        body,
        ...(key === undefined ? {} : { headers: { 'idempotency-key': key } }),
      })
    return { ...world, app, post }
  }
  const nodes: [Node, Node] = [await makeNode(first), await makeNode(second)]
  const close = async (): Promise<void> => {
    for (const { app } of nodes) await app.close()
    for (const store of new Set([first, second])) await store.close()
    await database.remove()
  }
  return { nodes, close }
}

const tenantOf = ({ ours }: World) => ({ organisationId: ours.organisationId, livemode: true })

test('twins of a request at two nodes act once, and both nodes replay the answer', async () => {
  const { nodes, close } = await makeNodes()
  const twin = (i: number) => nodes[i % 2]!.post('/teams', { name: 'Team' }, 'key')
  const answers = await Promise.all(Array.from({ length: 12 }, (_, i) => twin(i)))
  assert.ok(answers.every(({ status, body }) => status === 201 || body.error.code === 'idempotency_key_in_use'))
  const replays = [await twin(0), await twin(1)]
  assert.equal(
    replays.map(({ status, headers }) => [status, headers['idempotent-replayed']]),
    [
      [201, 'true'],
      [201, 'true'],
    ],
  )
  assert.is(replays[0]!.text, replays[1]!.text)
  assert.is((await nodes[0].store.db.selectFrom('teams').selectAll().execute()).length, 1)
  await close()
})

test('requests for one number that reach two nodes at once are one callback, each counted', async () => {
  const { nodes, close } = await makeNodes()
  const book = (i: number) => nodes[i % 2]!.post('/callbacks', { phone: '+972501234567', note: `request ${i}` })
  const answers = await Promise.all(Array.from({ length: 8 }, (_, i) => book(i)))
  assert.equal(
    answers.map(({ status }) => status),
    answers.map(() => 200),
  )
  const rows = await nodes[0].store.db.selectFrom('callbacks').selectAll().execute()
  assert.equal(
    rows.map(row => row.merged_requests),
    [7],
  )
  const events = await nodes[0].store.db.selectFrom('events').select('type').orderBy('type').execute()
  assert.equal(
    events.map(({ type }) => type),
    ['callback.created', ...Array.from({ length: 7 }, () => 'callback.merged')],
  )
  for (let i = 0; i < 8; i++) assert.match(rows[0]!.notes, `request ${i}`)
  await close()
})

test('each event is delivered once, whichever node gets to it', async () => {
  const { nodes, close } = await makeNodes()
  const receiver = await new WebhookReceiver().listen()
  const endpoint = await nodes[0].post('/webhook_endpoints', { url: `${receiver.url}/hook` })
  assert.is(endpoint.status, 201)
  await nodes[0].store.transaction(async trx => {
    const event = {
      type: 'call.ended' as const,
      at: nodes[0].clock.now().toISOString(),
      object: endedCall,
    }
    for (let i = 0; i < 30; i++) await appendEvent(trx, tenantOf(nodes[0]), event)
  })
  const dispatchers = nodes.map(node => dispatcherOf(node, { vault: VAULT }))
  const made = await Promise.all(dispatchers.map(dispatcher => dispatcher.deliverDue()))
  assert.is(made[0]! + made[1]!, 30)
  const ids = receiver.received.map(({ headers }) => headers['webhook-id'])
  assert.equal([ids.length, new Set(ids).size], [30, 30])
  for (const dispatcher of dispatchers) await dispatcher.close()
  await receiver.close()
  await close()
})

test('no job runs twice, whichever node gets to it', async () => {
  const { nodes, close } = await makeNodes()
  const { store, clock } = nodes[0]
  await store.transaction(async trx => {
    for (let i = 0; i < 60; i++)
      await enqueue(trx, 'test.note', { text: `${i}` }, { now: clock.now(), organisationId: null })
  })
  const ran: string[] = []
  const runnerOn = (on: Store): JobRunner =>
    new JobRunner({
      store: on,
      now: clock.now,
      log: silent,
      handlers: {
        'test.note': {
          run: ({ text }, { finish }) =>
            on.transaction(async trx => {
              await trx
                .insertInto('settings')
                .values({ name: `job ${text}`, value: '' })
                .execute()
              await finish(trx)
              ran.push(text)
            }),
        },
      },
    })
  await Promise.all(nodes.map(node => runnerOn(node.store).runDue()))
  const effects = await store.db.selectFrom('settings').select('name').where('name', 'like', 'job %').execute()
  assert.equal([effects.length, new Set(ran).size], [60, 60])
  await close()
})

const ONE_CONNECTION = 'SQLite has one node'
const twoNodesTest = (name: string, run: () => Promise<void>): void =>
  testEngine === 'postgres' ? test(name, run) : test.skip(name, ONE_CONNECTION)

twoNodesTest('two nodes that start at once on an empty database make one organisation', async () => {
  const { target, remove } = await makeDatabase()
  const stores = [await openStore(target, 'a'), await openStore(target, 'b')]
  const starts = await Promise.all(stores.map(store => firstStart(store, { live: null, test: null }, new Date())))
  assert.is(starts[0]!.organisationId, starts[1]!.organisationId)
  assert.is(starts.filter(({ keys }) => keys !== null).length, 1, 'one of them tells the keys')
  for (const store of stores) await store.close()
  await remove()
})

twoNodesTest("a node whose media process died ends its own calls and nobody else's", async () => {
  const { nodes, close } = await makeNodes()
  const callOn = async (node: Node): Promise<string> => {
    const callId = newId('call')
    const party = {
      callId,
      legId: newId('participant'),
      direction: 'inbound' as const,
      to: '1002',
      from: '2001',
      target: 'echo' as const,
      roomId: null,
      connectionId: null,
      record: false,
      metadata: {},
      role: 'member' as const,
      muted: false,
    }
    await node.store.transaction(trx => insertParty(trx, tenantOf(node), party, node.clock.now().toISOString()))
    return callId
  }
  const calls = [await callOn(nodes[0]), await callOn(nodes[1])]
  const drivers = nodes.map(({ store, clock }) =>
    buildDriver({ store, config: APP_CONFIG, vault: VAULT, now: clock.now, log: silent }),
  )
  const ended = async (): Promise<(string | null)[]> => {
    const rows = await nodes[0].store.db.selectFrom('calls').select(['id', 'ended_reason']).execute()
    return calls.map(id => rows.find(row => row.id === id)!.ended_reason)
  }
  await drivers[1]!.booted('boot of b')
  assert.equal(await ended(), [null, 'media_failed'])
  assert.equal(
    [await drivers[0]!.position(), await drivers[1]!.position()],
    [
      { bootId: null, lastSeq: 0 },
      { bootId: 'boot of b', lastSeq: 0 },
    ],
  )
  await drivers[0]!.booted('boot of a')
  assert.equal(await ended(), ['media_failed', 'media_failed'])
  await close()
})

test('changes of one object at two nodes are all kept', async () => {
  const { nodes, close } = await makeNodes()
  const patch = (i: number, path: string, body: object) =>
    ask(nodes[i]!.app, `PATCH /v1${path}`, { key: nodes[i]!.ours.keys.live, body })
  const room = (await nodes[0].post('/conference_rooms', { name: 'Room' })).body.id
  const changes = [{ record: true }, { mute_on_entry: true }, { max_participants: 7 }, { description: 'text' }]
  await Promise.all(changes.map((settings, i) => patch(i % 2, `/conference_rooms/${room}`, { settings })))
  const { body } = await ask(nodes[0].app, `GET /v1/conference_rooms/${room}`, { key: nodes[0].ours.keys.live })
  for (const change of changes) assert.equal({ ...body.settings, ...change }, body.settings)
  await close()
})

test.run()
