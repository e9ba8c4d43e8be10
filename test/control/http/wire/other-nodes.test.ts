import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { FastifyInstance } from 'fastify'
import Type from 'typebox'
import * as assert from 'uvu/assert'
import { conflict, fileMissing } from '../../../../control/http/errors.ts'
import { mountOperations } from '../../../../control/http/pipeline.ts'
import { route } from '../../../../control/http/route.ts'
import { createServer } from '../../../../control/http/server.ts'
import { OtherNodes, otherNode } from '../../../../control/http/wire/other-nodes.ts'
import { RequestLog } from '../../../../control/http/wire/request-log.ts'
import { beat } from '../../../../control/kernel/nodes/heartbeat.ts'
import { input } from '../../../../control/kernel/schema.ts'
import { nodeOf } from '../../../../control/kernel/store/node.ts'
import { openStore, type Store } from '../../../../control/kernel/store/store.ts'
import { suite } from '../../../harness.ts'
import { ask, makeWorld, type World } from '../../app-harness.ts'
import { makeDatabase } from '../../database.ts'
import { silent, VAULT } from '../../silent.ts'

const test = suite('control/http/wire/other-nodes')

/** Not text, and more than is read at once. */
const LARGE = randomBytes(200_000)
const UNLIMITED = { burst: 1000, perSecond: 1000 }
/** So many requests, and none after them for as long as a test takes. */
const only = (burst: number) => ({ burst, perSecond: 0.001 })
const reply = Type.Object({ node: Type.String(), said: Type.String(), acted: Type.Integer() })

interface Node {
  store: Store
  app: FastifyInstance
  requestLog: RequestLog
  /** What it has carried out. */
  acted: string[]
}

/** One operation, which the node called `far` can carry out; it refuses what says "no". */
async function makeNode(store: Store, world: World, rate: typeof UNLIMITED): Promise<Node> {
  const acted: string[] = []
  const act = route({
    method: 'POST',
    path: '/deeds',
    id: 'createDeed',
    summary: '',
    tag: 'T',
    scope: 'calls:write',
    body: input({ said: Type.String() }),
    status: 201,
    reply,
    handler: async (context, { body: { said } }) => {
      const node = nodeOf(store.db)
      if (said === 'nowhere') return otherNode(node === 'far' ? 'near' : 'far')
      if (node !== 'far') return otherNode('far')
      if (said === 'no') return conflict('refused', 'No.')
      acted.push(said)
      return context.transaction(async () => ({ node, said, acted: acted.length }))
    },
  })
  const file = route({
    method: 'GET',
    path: '/files/:id',
    id: 'getFile',
    summary: '',
    tag: 'T',
    scope: 'calls:write',
    reply: Type.String({ format: 'binary' }),
    rawType: 'audio/wav',
    handler: async (_context, { params: { id } }) => {
      const node = nodeOf(store.db)
      if (id === 'lost' || node !== 'far') return fileMissing('recording', id, node === 'far' ? null : 'far')
      const headers = { 'Content-Type': 'audio/wav', 'Content-Length': LARGE.length }
      return { raw: Readable.from([LARGE.subarray(0, 70_000), LARGE.subarray(70_000)]), status: 206, headers }
    },
  })
  const parts = { store, log: silent, now: world.clock.now }
  const otherNodes = new OtherNodes({ ...parts, vault: VAULT })
  const requestLog = new RequestLog(parts)
  const app = await createServer({ log: silent, otherNodes })
  await mountOperations(app, [act, file], { ...parts, rate, maxObjects: 1000, requestLog, otherNodes })
  return { store, app, requestLog, acted }
}

async function makeNodes(rates = { near: UNLIMITED, far: UNLIMITED }) {
  const database = await makeDatabase()
  const [ofNear, ofFar] = [await openStore(database.target, 'near'), await openStore(database.target, 'far')]
  const world = await makeWorld(ofNear)
  const [near, far] = [await makeNode(ofNear, world, rates.near), await makeNode(ofFar, world, rates.far)]
  const farUrl = await far.app.listen({ host: '127.0.0.1', port: 0 })
  const nearUrl = await near.app.listen({ host: '127.0.0.1', port: 0 })
  await beat(ofNear, world.clock.now(), { url: nearUrl, sip: null, ws: null })
  await beat(ofFar, world.clock.now(), { url: farUrl, sip: null, ws: null })
  const deed = (node: Node, said: string, headers: Record<string, string> = {}) =>
    ask(node.app, 'POST /v1/deeds', { key: world.ours.keys.live, body: { said }, headers })
  const get = (url: string, method: 'GET' | 'HEAD' = 'GET') =>
    near.app.inject({ method, url, headers: { authorization: `Bearer ${world.ours.keys.live}` } })
  return {
    near,
    far,
    deed,
    get,
    key: world.ours.keys.live,
    logged: async () => {
      for (const { requestLog } of [near, far]) await requestLog.flush()
      return ofNear.db.selectFrom('request_logs').select(['id', 'status', 'error_code']).orderBy('id').execute()
    },
    close: async () => {
      for (const { app, store } of [near, far]) {
        await app.close()
        await store.close()
      }
      await database.remove()
    },
  }
}

test("any node may be asked: the call's own node acts, and its answer, or refusal, comes back as if it had been asked itself", async () => {
  const { near, far, deed, logged, close } = await makeNodes()
  const done = await deed(near, 'grüße')
  assert.equal([done.status, done.body], [201, { node: 'far', said: 'grüße', acted: 1 }])
  const refused = await deed(near, 'no')
  assert.equal([refused.status, refused.body.error.details], [409, { reason: 'refused' }])
  assert.is(refused.body.error.request_id, refused.headers['request-id'])
  assert.equal([near.acted, far.acted], [[], ['grüße']])
  assert.equal(
    await logged(),
    [
      { id: String(done.headers['request-id']), status: 201, error_code: null },
      { id: String(refused.headers['request-id']), status: 409, error_code: 'resource_conflict' },
    ],
    'each is in the log',
  )
  assert.equal(far.requestLog.counters, { written: 0, leftOut: 0 })
  await close()
})

test('a request counts once for the rate limit, at the node that it reaches; nobody else is let through', async () => {
  const { near, far, deed, close } = await makeNodes({ near: only(3), far: only(1) })
  const statuses: number[] = []
  for (const said of ['one', 'two', 'three', 'four']) statuses.push((await deed(near, said)).status)
  assert.equal(statuses, [201, 201, 201, 429])
  const forged = { 'tandem-passed-on': `req_1.${'0'.repeat(64)}` }
  await deed(far, 'forged', forged)
  const { status, headers } = await deed(far, 'forged', forged)
  assert.is(status, 429)
  assert.is.not(headers['request-id'], 'req_1')
  await close()
})

test('a request target in absolute form leads to the same node, not to the host that it names', async () => {
  const { near, key, close } = await makeNodes()
  const { port } = near.app.server.address() as AddressInfo
  const headers = { authorization: `Bearer ${key}` }
  const asked = request({ port, host: '127.0.0.1', path: 'http://elsewhere.invalid/v1/files/one', headers }).end()
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  assert.is(answer.statusCode, 206)
  assert.ok(LARGE.equals(await buffer(answer)))
  await close()
})

test('an Idempotency-Key works whichever node is asked', async () => {
  const { near, far, deed, close } = await makeNodes()
  const first = await deed(near, 'once', { 'idempotency-key': 'k' })
  const again = await deed(near, 'once', { 'idempotency-key': 'k' })
  const there = await deed(far, 'once', { 'idempotency-key': 'k' })
  assert.equal([first.body.acted, again.body, there.body], [1, first.body, first.body])
  assert.is(again.headers['idempotent-replayed'], 'true')
  assert.equal(far.acted, ['once'])
  await close()
})

test('a node that does not answer: 503, and the same key may be used once it does', async () => {
  const { near, far, deed, close } = await makeNodes()
  const { url } = await near.store.db
    .selectFrom('nodes')
    .select('url')
    .where('id', '=', 'far')
    .executeTakeFirstOrThrow()
  const point = (to: string | null) =>
    near.store.db.updateTable('nodes').set({ url: to }).where('id', '=', 'far').execute()
  await point('http://127.0.0.1:1')
  const lost = await deed(near, 'late', { 'idempotency-key': 'k' })
  assert.equal([lost.status, lost.body.error.code, lost.headers['retry-after']], [503, 'media_unavailable', '5'])
  await point(url)
  assert.is((await deed(near, 'late', { 'idempotency-key': 'k' })).status, 201)
  assert.equal(far.acted, ['late'])
  await close()
})

test('without an address of the other node: 409 that names it; and so if each takes it for the other one’s', async () => {
  const { near, far, deed, close } = await makeNodes()
  const nowhere = await deed(near, 'nowhere')
  assert.equal([nowhere.status, nowhere.body.error.details], [409, { reason: 'other_node', node: 'far' }])
  await near.store.db.updateTable('nodes').set({ url: null }).execute()
  const { status, body } = await deed(near, 'unknown')
  assert.equal([status, body.error.details], [409, { reason: 'other_node', node: 'far' }])
  assert.equal(far.acted, [])
  await close()
})

test('a file that only another node has is downloaded from there; what that does not have either, or whose node is gone, is not here', async () => {
  const { near, get, close } = await makeNodes()
  const whole = await get('/v1/files/one')
  assert.equal(
    [whole.statusCode, whole.headers['content-type'], whole.rawPayload.equals(LARGE)],
    [206, 'audio/wav', true],
  )
  const head = await get('/v1/files/one', 'HEAD')
  assert.equal([head.statusCode, head.headers['content-length'], head.payload], [206, String(LARGE.length), ''])
  const lost = await get('/v1/files/lost')
  assert.equal([lost.statusCode, lost.json().error.details], [404, { reason: 'file_not_here' }])
  await near.store.db.updateTable('nodes').set({ url: 'http://127.0.0.1:1' }).execute()
  const gone = await get('/v1/files/one')
  assert.equal([gone.statusCode, gone.json().error.details], [404, { reason: 'file_not_here', node: 'far' }])
  await close()
})

test.run()
