import Type from 'typebox'
import * as assert from 'uvu/assert'
import { problem } from '../../../control/http/errors.ts'
import {
  ATTEMPT_LEASE_MS,
  canonicalJson,
  forgetAttempts,
  releaseInterruptedAttempts,
  renewAttempts,
} from '../../../control/http/idempotency.ts'
import { type Route, route } from '../../../control/http/route.ts'
import { newId } from '../../../control/kernel/ids.ts'
import { idParams, input } from '../../../control/kernel/schema.ts'
import { sha256 } from '../../../control/kernel/secrets.ts'
import { nodeOf } from '../../../control/kernel/store/node.ts'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import { suite } from '../../harness.ts'
import { ask, makeWorld, START, serve } from '../app-harness.ts'

const test = suite('control/http/idempotency')

const world = await makeWorld()
const { live, test: testKey } = world.ours.keys
const reply = Type.Object({ count: Type.Integer() })
let acted = 0
let gate: Promise<void> = Promise.resolve()

const deed = input({
  pin: Type.Optional(Type.String()),
  nested: Type.Optional(Type.Object({ a: Type.Integer(), b: Type.Integer() })),
  outcome: Type.Optional(Type.String()),
})

const routes: Route[] = [
  route({
    method: 'POST',
    path: '/deeds',
    id: 'createDeed',
    summary: '',
    tag: 'T',
    scope: 'calls:write',
    body: deed,
    status: 201,
    reply,
    handler: async (context, { body }) => {
      acted += 1
      const count = acted
      await gate
      if (body.outcome === 'commit') {
        return context.transaction(async trx => {
          await forTenant(trx, context).insert('teams', { id: newId('team'), name: 'T', created: START.toISOString() })
          return { count }
        })
      }
      if (body.outcome === 'commit, then throw') {
        await context.transaction(async () => ({ count }))
        throw new Error('failed')
      }
      if (body.outcome === 'throw') throw new Error('failed')
      if (body.outcome === 'conflict') return problem('resource_conflict', `Refused ${count}.`)
      if (body.outcome === 'full') return problem('capacity_exhausted', 'Full.', { retryAfterS: 1 })
      return { count }
    },
  }),
  route({
    method: 'DELETE',
    path: '/deeds/:id',
    id: 'deleteDeed',
    summary: '',
    tag: 'T',
    scope: 'calls:write',
    params: idParams,
    status: 200,
    reply,
    handler: async () => ({ count: ++acted }),
  }),
]
const app = await serve(world, routes)

let serial = 0
const fresh = (): string => `key-${++serial}`
const post = (key: string, body: object = {}, apiKey = live) =>
  ask(app, 'POST /v1/deeds', { key: apiKey, body, headers: { 'idempotency-key': key } })

test('a retry with the same key and parameters returns the first response instead of acting twice', async () => {
  const key = fresh()
  const first = await post(key, { nested: { a: 1, b: 2 } })
  const second = await post(key, { nested: { b: 2, a: 1 } })
  assert.is(first.status, 201)
  assert.is(first.headers['idempotent-replayed'], undefined)
  assert.is(second.status, 201)
  assert.is(second.text, first.text)
  assert.is(second.headers['idempotent-replayed'], 'true')
  assert.match(String(second.headers['content-type']), 'application/json')
})

test('without a key every request acts', async () => {
  const first = await ask(app, 'POST /v1/deeds', { key: live, body: {} })
  const second = await ask(app, 'POST /v1/deeds', { key: live, body: {} })
  assert.is(second.body.count, first.body.count + 1)
})

test('the same key with other parameters answers 409 idempotency_key_reused', async () => {
  const key = fresh()
  await post(key, { pin: '1234' })
  const other = await post(key, { pin: '1235' })
  assert.is(other.status, 409)
  assert.is(other.body.error.code, 'idempotency_key_reused')
  assert.is(other.body.error.type, 'idempotency_error')
})

test('of two at once one acts, and the other answers 409 idempotency_key_in_use', async () => {
  const key = fresh()
  let open: () => void = () => {}
  gate = new Promise(resolve => {
    open = resolve
  })
  const before = acted
  const twins = [post(key), post(key)]
  const loser = await Promise.race(twins)
  assert.is(loser.status, 409)
  assert.is(loser.body.error.code, 'idempotency_key_in_use')
  open()
  const statuses = (await Promise.all(twins)).map(answer => answer.status)
  assert.equal(statuses.sort(), [201, 409])
  assert.is(acted, before + 1)
  assert.is((await post(key)).headers['idempotent-replayed'], 'true')
})

test('a 500 is not stored: the same key acts again', async () => {
  const key = fresh()
  const before = acted
  assert.is((await post(key, { outcome: 'throw' })).status, 500)
  assert.is((await post(key, { outcome: 'throw' })).status, 500)
  assert.is(acted, before + 2)
})

test('what broke after its effect was committed has acted: the same key gets the answer that was kept with it', async () => {
  const key = fresh()
  const before = acted
  assert.is((await post(key, { outcome: 'commit, then throw' })).status, 500)
  const again = await post(key, { outcome: 'commit, then throw' })
  assert.equal([again.status, again.body], [201, { count: before + 1 }])
  assert.is(again.headers['idempotent-replayed'], 'true')
  assert.is(acted, before + 1)
})

test('a 429 is not stored: after the wait the same key acts', async () => {
  const key = fresh()
  const before = acted
  await post(key, { outcome: 'full' })
  await post(key, { outcome: 'full' })
  assert.is(acted, before + 2)
})

test('a conflict is stored like any answer', async () => {
  const key = fresh()
  const first = await post(key, { outcome: 'conflict' })
  const second = await post(key, { outcome: 'conflict' })
  assert.is(first.status, 409)
  assert.is(second.text, first.text)
})

test('a refused parameter is stored like any answer', async () => {
  const key = fresh()
  const first = await post(key, { nope: 1 })
  const second = await post(key, { nope: 1 })
  assert.is(first.status, 400)
  assert.is(second.text, first.text)
  assert.is(second.headers['idempotent-replayed'], 'true')
})

test('after 24 hours the key is free again', async () => {
  const key = fresh()
  const first = await post(key)
  world.clock.advance(24 * 3600 * 1000 - 1)
  assert.is((await post(key)).text, first.text)
  world.clock.advance(1)
  assert.is.not((await post(key)).text, first.text)
})

test('after a quiet day no request deletes the answers of all others: a duty does, in pieces, and calls get their turns', async () => {
  const { db } = world.store
  const count = async () =>
    Number((await db.selectFrom('idempotency_keys').select(db.fn.countAll().as('n')).execute())[0]!.n)
  await post(fresh())
  const [row] = await db.selectFrom('idempotency_keys').selectAll().limit(1).execute()
  const at = world.clock.now().getTime()
  const old = Array.from({ length: 1000 }, (_, n) => ({
    ...row!,
    key: sha256(`old ${n}`),
    created: new Date(at + Math.floor(n / 3)).toISOString(),
  }))
  for (let n = 0; n < old.length; n += 100)
    await db
      .insertInto('idempotency_keys')
      .values(old.slice(n, n + 100))
      .execute()
  world.clock.advance(25 * 3600 * 1000)
  await post(fresh())
  assert.ok((await count()) > 1000)
  let turns = 0
  let isDone = false
  const forgotten = forgetAttempts(world.store, world.clock.now()).then(() => {
    isDone = true
  })
  while (!isDone) {
    await new Promise(resolve => setImmediate(resolve))
    turns++
  }
  await forgotten
  assert.is(await count(), 1)
  assert.ok(turns >= 10, `${turns} turns`)
})

test('keys are scoped to organisation, mode, method and path', async () => {
  const key = fresh()
  const before = acted
  await post(key)
  await post(key, {}, testKey)
  await post(key, {}, world.theirs.keys.live)
  for (const path of ['/v1/deeds/a', '/v1/deeds/b']) {
    await ask(app, `DELETE ${path}`, { key: live, headers: { 'idempotency-key': key } })
  }
  assert.is(acted, before + 5)
})

test('DELETE is replayed too', async () => {
  const asked = { key: live, headers: { 'idempotency-key': fresh() } }
  const first = await ask(app, 'DELETE /v1/deeds/a', asked)
  assert.is((await ask(app, 'DELETE /v1/deeds/a', asked)).text, first.text)
})

test('a key has 1 to 255 characters', async () => {
  assert.is((await post('k'.repeat(255))).status, 201)
  const answer = await post('k'.repeat(256))
  assert.is(answer.status, 400)
  assert.is(answer.body.error.param, 'Idempotency-Key')
})

test('neither the parameters nor the answer nor the key can be read from the database', async () => {
  const key = fresh()
  const answer = await post(key, { pin: '73915' })
  const rows = JSON.stringify(await world.store.db.selectFrom('idempotency_keys').selectAll().execute())
  assert.not.match(rows, '73915')
  assert.not.match(rows, `"${key}"`)
  assert.not.match(rows, answer.text)
})

/** Makes the last attempt under this key one that is still running, on the node of that name. */
async function interrupt(key: string, lease: string): Promise<void> {
  const leased_until = new Date(world.clock.now().getTime() + ATTEMPT_LEASE_MS).toISOString()
  const left = { status: null, body: null, lease, leased_until }
  await world.store.db.updateTable('idempotency_keys').set(left).where('key', '=', sha256(key)).execute()
}

test('what a killed process left unfinished may be tried again as soon as its node is back', async () => {
  const key = fresh()
  await post(key)
  await interrupt(key, nodeOf(world.store.db))
  assert.is((await post(key)).body.error.code, 'idempotency_key_in_use')
  await releaseInterruptedAttempts(world.store)
  assert.is((await post(key)).status, 201)
})

test('what another node has under way stays under way, until that node has been silent for the time of its lease', async () => {
  const key = fresh()
  await post(key)
  await interrupt(key, 'another')
  await releaseInterruptedAttempts(world.store)
  await renewAttempts(world.store, world.clock.now())
  world.clock.advance(ATTEMPT_LEASE_MS - 1)
  assert.is((await post(key)).body.error.code, 'idempotency_key_in_use')
  world.clock.advance(1)
  const before = acted
  const answers = await Promise.all([post(key), post(key), post(key)])
  assert.is(acted, before + 1, 'of several that find it dead one acts')
  assert.ok(answers.some(answer => answer.status === 201))
})

test('who was taken for dead and is not commits nothing: another has the key', async () => {
  const key = fresh()
  const teams = () => world.store.db.selectFrom('teams').selectAll().execute()
  let open: () => void = () => {}
  gate = new Promise(resolve => {
    open = resolve
  })
  const before = acted
  const slow = post(key, { outcome: 'commit' })
  while (acted === before) await new Promise(resolve => setImmediate(resolve))
  await interrupt(key, 'another')
  open()
  assert.is((await slow).status, 500)
  assert.is((await teams()).length, 0)
  assert.is((await post(key, { outcome: 'commit' })).body.error.code, 'idempotency_key_in_use')
  assert.is((await post(fresh(), { outcome: 'commit' })).status, 201)
  assert.is((await teams()).length, 1)
})

test('what a killed process left unfinished is not taken up with other parameters', async () => {
  const key = fresh()
  await post(key)
  await interrupt(key, nodeOf(world.store.db))
  await releaseInterruptedAttempts(world.store)
  assert.is((await post(key, { pin: '1' })).body.error.code, 'idempotency_key_reused')
})

test('a request that takes longer than a lease keeps its key while its process lives', async () => {
  const key = fresh()
  let open: () => void = () => {}
  gate = new Promise(resolve => {
    open = resolve
  })
  const before = acted
  const first = post(key)
  while (acted === before) await new Promise(resolve => setImmediate(resolve))
  for (let i = 0; i < 3; i++) {
    world.clock.advance(ATTEMPT_LEASE_MS / 2)
    await renewAttempts(world.store, world.clock.now())
  }
  assert.is((await post(key)).body.error.code, 'idempotency_key_in_use')
  open()
  assert.is((await first).status, 201)
})

test('a key whose answer could not be written is not blocked: who asked has the answer, and a retry gets it once it can be', async () => {
  const { db } = world.store
  const update = db.updateTable
  const whole = { outcome: 'commit' }
  const fail = (isBroken: boolean): void => {
    db.updateTable = isBroken
      ? (((table: string) => {
          if (table === 'idempotency_keys') throw new Error('the disk is full')
          return (update as (name: string) => unknown).call(db, table)
        }) as unknown as typeof update)
      : update
  }
  const before = acted
  fail(true)
  const [kept, lost] = [fresh(), fresh()]
  const first = await post(kept)
  assert.is(first.status, 201)
  fail(false)
  assert.is((await post(kept)).body.error.code, 'idempotency_key_in_use')
  await renewAttempts(world.store, world.clock.now())
  assert.equal((await post(kept)).body, first.body)
  assert.is(acted, before + 1)
  // Where that fails too, its lease runs out.
  fail(true)
  await post(lost)
  await renewAttempts(world.store, world.clock.now())
  fail(false)
  world.clock.advance(ATTEMPT_LEASE_MS)
  assert.is((await post(lost, whole)).body.error?.code, 'idempotency_key_reused')
  assert.is((await post(lost)).status, 201)
})

test('equal parameters give equal text, whatever the order of their names', () => {
  assert.is(canonicalJson({ b: [{ d: 1, c: null }], a: 'x' }), canonicalJson({ a: 'x', b: [{ c: null, d: 1 }] }))
  assert.is.not(canonicalJson({ a: [1, 2] }), canonicalJson({ a: [2, 1] }))
})

test.run()
