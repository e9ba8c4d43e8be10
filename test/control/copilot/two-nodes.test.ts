import * as assert from 'uvu/assert'
import { Copilot } from '../../../control/copilot/sessions/copilot.ts'
import { Feed } from '../../../control/copilot/sessions/feed.ts'
import { openStore } from '../../../control/kernel/store/store.ts'
import { passageSearch } from '../../../control/knowledge/passage-search.ts'
import { suite } from '../../harness.ts'
import { makeCall } from '../conformance/objects.ts'
import { makeDatabase } from '../database.ts'
import { makeWholeApp, VAULT } from '../whole-app.ts'
import { PROFILE } from './profiles.ts'

const test = suite('control/copilot/two-nodes')

test("another node reads a session and carries commands out; the desktop at the call's node is told, once", async () => {
  const database = await makeDatabase()
  const [store, far] = [await openStore(database.target), await openStore(database.target, 'node_far')]
  const world = await makeWholeApp({ store: far }, store)
  const tenant = { organisationId: world.ours.organisationId, livemode: false }
  const maker = { world: world as never, tenant, ask: async () => ({}) }
  const near = await makeWholeApp({ vault: VAULT }, store)
  const { id: callId = '' } = await makeCall(maker)
  const profile = await world.test('POST /v1/copilot_profiles', { name: 'Sales', ...PROFILE })
  const here = (line: string, body?: object) =>
    near.app.inject({
      method: line.split(' ')[0] as 'POST',
      url: line.split(' ')[1] ?? '',
      headers: { authorization: `Bearer ${world.ours.keys.test}` },
      ...(body && { payload: body }),
    })
  const started = (await here(`POST /v1/calls/${callId}/copilot`, { profile_id: profile.body.id })).json()
  const path = `/v1/copilot_sessions/${started.id}`
  const feed = new Feed()
  const told: number[] = []
  feed.onTold((_row, messages) => void told.push(...messages.map(({ seq }) => seq)))
  const log = { warn() {}, error() {} } as never
  const search = passageSearch(store.engine)
  const copilot = new Copilot({ store, now: world.clock.now, log, feed, search, vault: VAULT })
  const row = await store.db.selectFrom('copilot_sessions').selectAll().executeTakeFirstOrThrow()
  feed.told(row, await store.db.selectFrom('copilot_messages').selectAll().orderBy('seq').execute())
  const before = told.length

  assert.equal((await world.test(`GET ${path}`)).body.id, started.id)
  assert.is((await world.test(`POST ${path}/checklist/greet`, { done: true })).status, 200)
  assert.is((await world.test(`POST ${path}/fields/plan`, { value: 'basic' })).status, 200)
  await copilot.tick()
  await copilot.tick()
  const { data } = (await world.test(`GET ${path}/messages`)).body
  assert.ok(told.length > before, 'the desktop was told')
  assert.equal(told.length, data.length)
  assert.equal(
    told,
    [...new Set(told)].sort((a, b) => a - b),
  )

  await near.app.close()
  await world.app.close()
  await far.close()
  await store.close()
  await database.remove()
})

test.run()
