import * as assert from 'uvu/assert'
import { bookCallback } from '../../../control/callbacks/booking.ts'
import { CallDriver } from '../../../control/calls/conductor/driver.ts'
import { newId } from '../../../control/kernel/ids.ts'
import { openStore, type Store } from '../../../control/kernel/store/store.ts'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import { setWish } from '../../../control/queues/agent-status.ts'
import { CallCentre } from '../../../control/queues/call-centre.ts'
import { DEFAULT_SETTINGS } from '../../../control/queues/settings/queue.ts'
import { addOrganisation } from '../../../control/wiring/first-start.ts'
import { PocketMedia } from '../../fakes/pocket-media.ts'
import { suite } from '../../harness.ts'
import { makeClock, silent } from '../app-harness.ts'
import { makeDatabase } from '../database.ts'
import { trunkRow } from '../trunk-row.ts'
import { VAULT } from '../whole-app.ts'

const test = suite('control/queues: two nodes')

const clock = makeClock()
const ALWAYS = { hours: null, timezone: 'UTC' }
const booking = {
  now: clock.now,
  settings: async () => ({
    country: null,
    businessHours: ALWAYS,
    callbacks: { default_route: 'agent_queue' as const, max_attempts: 3, api_priority: 5, sla_minutes: 60 },
  }),
}
const via = { host: '192.0.2.1', port: 5060, transport: 'udp' as const }

/** A control process with its media process. */
function makeNode(store: Store) {
  const media = new PocketMedia(clock.now)
  const centre = new CallCentre({
    store,
    now: clock.now,
    log: { warn: () => {}, error: () => {} },
    sipHost: 'tandem.test',
    vault: VAULT,
    streams: { signingSecret: async () => '', allowedNetworks: [] },
    devicesOf: async (_db, _tenant, userId) => [{ kind: 'sip', uri: `sip:${userId}@phones`, via }],
    businessHoursOf: async () => ALWAYS,
    booking,
    assetFile: id => id,
    handOver: async () => true,
  })
  // It sends what the centre decides.
  const driver = new CallDriver({
    store,
    vault: VAULT,
    now: clock.now,
    log: silent,
    assetFile: id => id,
    streams: { signingSecret: async () => '', allowedNetworks: [] },
    centre,
  })
  store.followUps.performedBy(task => driver.perform(task, media))
  const run = async () => {
    await centre.run(media)
    await store.followUps.idle()
  }
  return { media, run }
}

test('two control processes on one database never dial twice, and no agent gets two calls', async () => {
  const database = await makeDatabase()
  const stores = [await openStore(database.target, 'a'), await openStore(database.target, 'b')]
  const [store] = stores as [Store]
  const { organisationId } = await store.transaction(trx =>
    addOrganisation(trx, { name: 'Ours', pciEnabled: false, now: clock.now() }),
  )
  const tenant = { organisationId, livemode: true }
  const scoped = forTenant(store.db, tenant)
  const at = clock.now().toISOString()
  const dates = { created: at, updated: at }
  const agents = [newId('user'), newId('user'), newId('user')]
  for (const [i, id] of agents.entries()) {
    await scoped.insert('users', {
      id,
      name: id,
      email: `${i}@example.com`,
      email_verified: 1,
      role: 'agent',
      status: 'active',
      team_id: null,
      extension: null,
      takes_seat: 1,
      last_login: null,
      created: at,
    })
    await store.transaction(trx => setWish(trx, tenant, id, { wish: 'available', at }))
  }
  const queue = newId('queue')
  const settings = JSON.stringify({ ...DEFAULT_SETTINGS, member_user_ids: agents })
  await scoped.insert('queues', { id: queue, name: 'Help', settings, ...dates })
  await scoped.insert('connections', trunkRow(dates.created))
  const phones = Array.from({ length: 12 }, (_, i) => `+1415555${String(1000 + i)}`)
  for (const [i, phone] of phones.entries()) {
    const route = i % 2 === 0 ? { route: 'assistant' as const, assistant_id: 'asst_1' } : { queue_id: queue }
    await store.transaction(trx =>
      bookCallback(booking, trx, tenant, { phone, ...route, source: 'api', author: 'test' }),
    )
  }
  const nodes = stores.map(makeNode)
  for (let i = 0; i < 3; i++) await Promise.all(nodes.map(node => node.run()))
  const dialled = nodes.flatMap(({ media }) => [...media.legs.values()].map(leg => leg.dialled))
  assert.equal(
    phones.filter((_, i) => i % 2 === 0).map(phone => dialled.filter(to => to.includes(phone)).length),
    [1, 1, 1, 1, 1, 1],
  )
  for (const id of agents) assert.is(dialled.filter(to => to.includes(id)).length, 1)
  assert.is(dialled.length, 9)
  const offered = await scoped.select('callbacks').select('id').where('status', '=', 'offered').execute()
  assert.is(offered.length, 3)
  for (const one of stores) await one.close()
  await database.remove()
})

test.run()
