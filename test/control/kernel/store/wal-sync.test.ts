import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Type from 'typebox'
import * as assert from 'uvu/assert'
import { route } from '../../../../control/http/route.ts'
import { input } from '../../../../control/kernel/schema.ts'
import { openStore } from '../../../../control/kernel/store/store.ts'
import { WalSync } from '../../../../control/kernel/store/wal-sync.ts'
import { suite } from '../../../harness.ts'
import { ask, makeWorld, serve } from '../../app-harness.ts'

const test = suite('control/kernel/store/wal-sync')

test('what is committed at once is synced together, and nothing relies on a sync that began before its commit', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tandem-test-'))
  const file = join(folder, 'tandem.db')
  const store = await openStore(file)
  const log = new WalSync(file)
  await log.sync()
  assert.is(log.counters.syncs, 1)
  const first = log.sync()
  const others = Array.from({ length: 20 }, () => log.sync())
  assert.is(log.counters.syncs, 2, 'one is under way')
  await first
  await Promise.all(others)
  assert.is(log.counters.syncs, 3, 'one more covers the twenty')
  await log.close()
  await store.durable()
  await store.close()
  rmSync(folder, { recursive: true })
})

test('a disk that fails is told to whoever waits, and asked again by the next', async () => {
  const log = new WalSync('/nowhere/tandem.db')
  const waiting = [log.sync(), log.sync()]
  for (const one of waiting) {
    assert.is(await one.then(() => 'on disk').catch(error => error.code), 'ENOENT')
  }
})

test('a write is answered when it outlives a power cut, a read at once', async () => {
  const world = await makeWorld()
  const order: string[] = []
  const store = {
    ...world.store,
    durable: async () => {
      await new Promise(resolve => setImmediate(resolve))
      order.push('durable')
    },
  }
  const reply = Type.Object({ ok: Type.Boolean() })
  const common = { path: '/things', summary: '', tag: 'Things', scope: 'keys:write', status: 200, reply } as const
  const handler = async () => ({ ok: true })
  const app = await serve({ ...world, store }, [
    route({ ...common, id: 'makeThing', method: 'POST', body: input({}), handler }),
    route({ ...common, id: 'getThing', method: 'GET', handler }),
  ])
  const key = world.ours.keys.live
  for (const line of ['GET /v1/things', 'POST /v1/things']) {
    assert.is((await ask(app, line, { key })).status, 200)
    order.push(line)
  }
  assert.equal(order, ['GET /v1/things', 'durable', 'POST /v1/things'])
  await app.close()
  await world.store.close()
})

test.run()
