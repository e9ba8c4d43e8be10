import type { RootOperationNode } from 'kysely'
import * as assert from 'uvu/assert'
import { insertParty } from '../../../control/calls/records.ts'
import type { Route } from '../../../control/http/route.ts'
import { newId } from '../../../control/kernel/ids.ts'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import { suite } from '../../harness.ts'
import { ask, makeWorld, serve } from '../app-harness.ts'
import { makeProduct, productRoutes } from '../conformance/product.ts'
import { testEngine } from '../database.ts'

const test = suite(`control/http/remembered on ${testEngine}`)

/** Of PostgreSQL nothing is remembered. */
const remembers = testEngine === 'sqlite'

/** The product, and how often the handler of an operation was asked. */
async function makeCounted() {
  const asked = new Map<string, number>()
  const counting = (route: Route): Route => ({
    ...route,
    handler: (context, input) => {
      asked.set(route.id, (asked.get(route.id) ?? 0) + 1)
      return route.handler(context, input)
    },
  })
  const world = await makeProduct(counting)
  const tenant = { organisationId: world.ours.organisationId, livemode: true }
  const live = { key: world.ours.keys.live }
  /** Whether the handler was asked for the answer. */
  const wasAsked = async (id: string, line: string) => {
    const before = asked.get(id) ?? 0
    const { status, body, text } = await world.ask(line, live)
    assert.is(status, 200, text)
    return { isNew: asked.get(id) !== before, body }
  }
  return { ...world, tenant, live, wasAsked }
}

type Counted = Awaited<ReturnType<typeof makeCounted>>

async function insertCall({ store, tenant, clock }: Counted): Promise<{ callId: string; legId: string }> {
  const ids = { callId: newId('call'), legId: newId('participant') }
  const party = { direction: 'inbound', to: 'sip:1002@127.0.0.1', from: 'sip:alice@127.0.0.1', target: 'echo' } as const
  const alone = { roomId: null, connectionId: null, metadata: {}, role: 'member', muted: false } as const
  await store.transaction(trx => insertParty(trx, tenant, { ...party, ...alone, ...ids }, clock.now().toISOString()))
  return ids
}

async function endCall({ store, tenant, clock }: Counted, { callId, legId }: { callId: string; legId: string }) {
  const at = clock.now().toISOString()
  const scoped = forTenant(store.db, tenant)
  await scoped.update('calls').set({ status: 'completed', ended_at: at }).where('id', '=', callId).execute()
  await scoped
    .update('participants')
    .set({ step: 'ended', left_at: at } as never)
    .where('id', '=', legId)
    .execute()
}

test('an answer is given again until something is written to what it was read from', async () => {
  const world = await makeCounted()
  const list = () => world.wasAsked('listCallbacks', 'GET /v1/callbacks?limit=20')
  assert.equal((await list()).body.data, [])
  const again = await list()
  assert.equal([again.isNew, again.body.data], [!remembers, []])
  const body = { phone: '+972541234567' }
  const { body: made } = await world.ask('POST /v1/callbacks', { ...world.live, body })
  assert.equal((await list()).body.data, [made])
  const { body: changed } = await world.ask(`PATCH /v1/callbacks/${made.id}`, { ...world.live, body: { name: 'Dana' } })
  assert.is(changed.name, 'Dana')
  assert.equal((await list()).body.data, [changed])
  await world.ask('POST /v1/teams', { ...world.live, body: { name: 'Sales' } })
  assert.is((await list()).isNew, !remembers, 'what was written is read for it nowhere')
  await world.close()
})

test('what is remembered of one organisation or mode is told to no other', async () => {
  const world = await makeCounted()
  const line = 'GET /v1/callbacks'
  await world.ask('POST /v1/callbacks', { ...world.live, body: { phone: '+972541234567' } })
  assert.is((await world.wasAsked('listCallbacks', line)).body.data.length, 1)
  for (const key of [world.ours.keys.test, world.theirs.keys.live]) {
    assert.equal((await world.ask(line, { key })).body.data, [])
  }
  await world.close()
})

test('a key that was deleted is refused what was remembered', async () => {
  const world = await makeCounted()
  const { body: made } = await world.ask('POST /v1/api_keys', { ...world.live, body: { name: 'Second' } })
  const get = () => world.ask('GET /v1/callbacks', { key: made.secret })
  assert.is((await get()).status, 200)
  assert.is((await get()).status, 200)
  assert.is((await world.ask(`DELETE /v1/api_keys/${made.id}`, world.live)).status, 200)
  assert.is((await get()).status, 401)
  await world.close()
})

test('a call is asked of media while it runs, and remembered when it is over', async () => {
  const world = await makeCounted()
  const call = await insertCall(world)
  const both = async (): Promise<boolean[]> => [
    (await world.wasAsked('getCall', `GET /v1/calls/${call.callId}`)).isNew,
    (await world.wasAsked('listCalls', 'GET /v1/calls?limit=20')).isNew,
  ]
  await both()
  assert.equal(await both(), [true, true])
  await endCall(world, call)
  assert.equal(await both(), [true, true])
  assert.equal(await both(), [!remembers, !remembers])
  const { body } = await world.wasAsked('getCall', `GET /v1/calls/${call.callId}`)
  assert.is(body.status, 'completed')
  await world.close()
})

/** The tables that a query names. */
function tablesIn(node: unknown, found = new Set<string>()): Set<string> {
  if (typeof node !== 'object' || node === null) return found
  const { kind, table } = node as { kind?: string; table?: { identifier?: { name: string } } }
  if (kind === 'TableNode' && table?.identifier !== undefined) found.add(table.identifier.name)
  for (const part of Object.values(node)) tablesIn(part, found)
  return found
}

test('an operation that says what it reads reads nothing else, or does not last', async () => {
  const world = await makeWorld()
  const queries: RootOperationNode[] = []
  const db = world.store.db.withPlugin({
    transformQuery: ({ node }) => {
      queries.push(node)
      return node
    },
    transformResult: async ({ result }) => result,
  })
  const execute = db.executeQuery.bind(db)
  db.executeQuery = async query => {
    if ('sql' in query) queries.push(query.query)
    return execute(query as never) as never
  }
  const store = { ...world.store, db }
  let lasting = true
  const watched = productRoutes({ ...world, store }).map(route => ({
    ...route,
    handler: ((context, input) => {
      queries.length = 0
      const answer = route.handler(context, input)
      return answer.then(given => {
        lasting = (context as unknown as { isLasting: boolean }).isLasting
        return given
      })
    }) as Route['handler'],
  }))
  const app = await serve({ ...world, store }, watched)
  const says = watched.filter(({ reads }) => reads !== undefined)
  assert.ok(says.length >= 3)
  const tenant = { organisationId: world.ours.organisationId, livemode: true }
  const made = { ...world, tenant } as unknown as Counted
  const call = await insertCall(made)
  await endCall(made, call)
  const queriesOf = ['', '?status=completed', '?number=1002', '?metadata[a]=b', '?assistant_id=asst_1']
  for (const { path, reads = [], id } of says) {
    for (const asked of path.includes(':') ? [''] : queriesOf) {
      const url = `/v1${path.replace(':id', call.callId)}${asked}`
      const { status } = await ask(app, `GET ${url}`, { key: world.ours.keys.live })
      // Not every list has each of these filters.
      if (status === 400) continue
      assert.is(status, 200, url)
      const read = [...new Set(queries.flatMap(query => [...tablesIn(query)]))]
      assert.ok(read.length > 0, `${id} reads`)
      if (lasting)
        assert.equal(
          read.filter(table => !(reads as readonly string[]).includes(table)),
          [],
          url,
        )
    }
  }
  await app.close()
  await world.store.close()
})

test.run()
