import * as assert from 'uvu/assert'
import { endLostNodes } from '../../../control/assistants/lost-nodes.ts'
import { wantTranscript } from '../../../control/calls/capture/transcript-rows.ts'
import { StrayLegs } from '../../../control/calls/conductor/stray-legs.ts'
import { insertProgram } from '../../../control/calls/programs/records.ts'
import { insertParty, loadLeg } from '../../../control/calls/records.ts'
import { newId } from '../../../control/kernel/ids.ts'
import { beat, takeLost } from '../../../control/kernel/nodes/heartbeat.ts'
import { openStore, type Store } from '../../../control/kernel/store/store.ts'
import { forTenant, type Tenant } from '../../../control/kernel/tenancy.ts'
import { becomeBusy, setWish } from '../../../control/queues/agent-status.ts'
import { devicesOf } from '../../../control/queues/agents/devices.ts'
import { startRing } from '../../../control/queues/ringing/rings.ts'
import { buildCallCentre, buildDriver, lostNodes } from '../../../control/wiring/background.ts'
import { addOrganisation } from '../../../control/wiring/first-start.ts'
import { PocketMedia } from '../../fakes/pocket-media.ts'
import { suite } from '../../harness.ts'
import { makeClock, silent } from '../app-harness.ts'
import { makeDatabase } from '../database.ts'
import { APP_CONFIG, VAULT } from '../whole-app.ts'

const test = suite('control/lost nodes')

const MINUTE = 60_000

/** Two nodes on one database: `a`, which is lost, and `b`. */
async function makeNodes() {
  const database = await makeDatabase()
  const clock = makeClock()
  const [a, b]: [Store, Store] = [
    await openStore(database.target, 'a', clock.steadyMs),
    await openStore(database.target, 'b', clock.steadyMs),
  ]
  const { organisationId } = await a.transaction(trx =>
    addOrganisation(trx, { name: 'Ours', pciEnabled: false, now: clock.now() }),
  )
  const tenant: Tenant = { organisationId, livemode: true }
  const parts = { store: b, config: APP_CONFIG, vault: VAULT, now: clock.now, log: silent }
  const lost = lostNodes(parts, buildCallCentre(parts))
  const look = () => endLostNodes(lost)
  /** A node says that it is alive, and `b` hears it. */
  const beatOf = async (store: Store): Promise<boolean> => {
    const wasLost = await beat(store, clock.now())
    assert.is(await look(), 0)
    return wasLost
  }
  const close = async (): Promise<void> => {
    await a.close()
    await b.close()
    await database.remove()
  }
  return { a, b, clock, tenant, look, beatOf, close }
}

type Nodes = Awaited<ReturnType<typeof makeNodes>>

const at = ({ clock }: Nodes): string => clock.now().toISOString()

/** A call in progress at a node. */
async function callAt(nodes: Nodes, store: Store): Promise<{ callId: string; legId: string }> {
  const [callId, legId] = [newId('call'), newId('participant')]
  await store.transaction(async trx => {
    await insertParty(
      trx,
      nodes.tenant,
      {
        ...{ callId, legId, direction: 'inbound', to: '1002', from: '2001', target: 'park' },
        ...{ roomId: null, connectionId: null, record: false, metadata: {}, role: 'member', muted: false },
      },
      at(nodes),
    )
    const answered = { status: 'in_progress' as const, answered_at: at(nodes) }
    await forTenant(trx, nodes.tenant).update('calls').set(answered).where('id', '=', callId).execute()
  })
  return { callId, legId }
}

async function agentAt(nodes: Nodes, store: Store, callId: string): Promise<string> {
  const id = newId('user')
  await store.transaction(async trx => {
    const scoped = forTenant(trx, nodes.tenant)
    await scoped.insert('users', {
      ...{ id, name: 'Ann', email: 'ann@example.com', email_verified: 1, role: 'agent', status: 'active' },
      ...{ team_id: null, extension: null, takes_seat: 1, last_login: null, created: at(nodes) },
    })
    await scoped.insert('sip_registrations', {
      ...{ user_id: id, contact: 'sip:ann@192.0.2.7', node: 'a', call_id: 'r', cseq: 1, host: '192.0.2.7', port: 5060 },
      ...{ transport: 'udp', registered_at: at(nodes), expires_at: '2099-01-01T00:00:00.000Z' },
    })
    await setWish(trx, nodes.tenant, id, { wish: 'available', at: at(nodes) })
    const ring = {
      ...{ callId, purpose: 'queue' as const, userId: id, queueId: null, callbackId: null, mode: null, targets: [] },
      ...{ role: 'agent' as const, address: id, timeoutS: 20 },
    }
    const row = await startRing(trx, nodes.tenant, ring, at(nodes))
    await trx
      .updateTable('rings')
      .set({ state: 'talking', leg_id: 'leg' })
      .where('id', '=', row?.id ?? '')
      .execute()
    await becomeBusy(trx, nodes.tenant, id, at(nodes))
  })
  return id
}

const callOf = (nodes: Nodes, id: string) => forTenant(nodes.b.db, nodes.tenant).find('calls', id)

test('the calls of a node that stays away end as node_lost at the time when it was last seen, and its agents are free', async () => {
  const nodes = await makeNodes()
  const { a, b, clock, tenant } = nodes
  const { callId } = await callAt(nodes, a)
  const agent = await agentAt(nodes, a, callId)
  await nodes.beatOf(a)
  await nodes.beatOf(b)
  const seen = at(nodes)
  clock.advance(MINUTE)
  assert.is(await nodes.look(), 0, 'a minute is no time: it may be started again')
  clock.advance(10 * MINUTE)
  await beat(b, clock.now())
  assert.is(await nodes.look(), 1)
  const call = await callOf(nodes, callId)
  assert.equal([call?.status, call?.ended_reason, call?.ended_at], ['completed', 'node_lost', seen])
  assert.is((await forTenant(b.db, tenant).find('agent_statuses', agent))?.status, 'available')
  assert.equal(await b.db.selectFrom('rings').selectAll().execute(), [])
  assert.equal(await b.db.selectFrom('sip_registrations').selectAll().execute(), [])
  assert.is(await nodes.look(), 0, 'once')
  await nodes.close()
})

test('a call of a lost node that throws ends alone, when the node was last seen; what is told of the others is told here', async () => {
  const nodes = await makeNodes()
  const { a, b, clock } = nodes
  const [broken, sound] = [await callAt(nodes, a), await callAt(nodes, a)]
  await a.db.updateTable('calls').set({ metadata: 'no JSON' }).where('id', '=', broken.callId).execute()
  await nodes.beatOf(a)
  const seen = at(nodes)
  const told: string[] = []
  b.committed.add(({ type, object }) => void told.push(`${type} ${(object as { id: string }).id}`))
  clock.advance(10 * MINUTE)
  assert.is(await nodes.look(), 1)
  const ends = [await callOf(nodes, broken.callId), await callOf(nodes, sound.callId)]
  assert.equal(
    ends.map(call => [call?.ended_reason, call?.ended_at]),
    [
      ['internal_error', seen],
      ['node_lost', seen],
    ],
  )
  assert.ok(told.includes(`call.ended ${sound.callId}`), told.join())
  assert.is(await nodes.look(), 0)
  await nodes.close()
})

test('what was written or led of a call of a lost node and cannot be ended stops none of the others', async () => {
  const nodes = await makeNodes()
  const { a, b, clock, tenant } = nodes
  const calls = [await callAt(nodes, a), await callAt(nodes, a), await callAt(nodes, a)]
  const [broken] = calls
  for (const { callId, legId } of calls) {
    await a.transaction(async trx => {
      await wantTranscript(trx, tenant, { id: callId, language: null, at: at(nodes) })
      await insertProgram(trx, tenant, { callId, legId }, { assistantId: 'asst_1' }, at(nodes))
      await trx.updateTable('transcripts').set({ status: 'running' }).execute()
      await trx.updateTable('call_programs').set({ status: 'running' }).execute()
    })
  }
  await nodes.beatOf(a)
  b.within.add(async (_trx, { type, object }) => {
    const isFollowing = type === 'call.transcript.ready' || type === 'call.flow.ended'
    if (isFollowing && JSON.stringify(object).includes(broken!.callId)) throw new Error('poison')
  })
  clock.advance(10 * MINUTE)
  assert.is(await nodes.look(), 1)
  const states = await b.db
    .selectFrom('calls')
    .innerJoin('transcripts', 'transcripts.id', 'calls.id')
    .innerJoin('call_programs', 'call_programs.id', 'calls.id')
    .select(['calls.ended_reason', 'transcripts.status', 'call_programs.status as led'])
    .orderBy('calls.id')
    .execute()
  const done = { ended_reason: 'node_lost', status: 'ready', led: 'ended' }
  assert.equal(states, [{ ...done, status: 'running', led: 'running' }, done, done])
  await nodes.close()
})

test('who dies while it ends the calls of a lost node leaves the rest to another', async () => {
  const nodes = await makeNodes()
  const { a, b, clock } = nodes
  const { callId } = await callAt(nodes, a)
  await nodes.beatOf(a)
  clock.advance(2 * MINUTE)
  const silent = await b.db.selectFrom('nodes').selectAll().where('id', '=', 'a').executeTakeFirstOrThrow()
  assert.is(await b.transaction(trx => takeLost(trx, silent, clock.now())), true)
  assert.is(await b.transaction(trx => takeLost(trx, silent, clock.now())), false, 'of several one gets it')
  assert.is(await nodes.look(), 0, 'somebody is at it')
  clock.advance(10 * MINUTE)
  assert.is(await nodes.look(), 1)
  assert.is((await callOf(nodes, callId))?.ended_reason, 'node_lost')
  assert.is(await nodes.look(), 0)
  await nodes.close()
})

test('a lost node is forgotten once its calls have ended: no node asks for it any more, and it comes back under its name', async () => {
  const nodes = await makeNodes()
  const { a, b, clock } = nodes
  const known = async () => (await b.db.selectFrom('nodes').select('id').orderBy('id').execute()).map(({ id }) => id)
  await callAt(nodes, a)
  await nodes.beatOf(a)
  await beat(b, clock.now())
  const stream = { id: 'one', subject: 'key', node_id: 'a', ends_at: new Date(clock.now().getTime() + 60 * MINUTE) }
  await b.db
    .insertInto('open_streams')
    .values({ ...stream, ends_at: stream.ends_at.toISOString() })
    .execute()
  clock.advance(2 * MINUTE)
  assert.is(await nodes.look(), 1)
  assert.equal(await known(), ['a', 'b'], 'it may be back in a moment')
  assert.is(await nodes.look(), 0)
  clock.advance(10 * MINUTE)
  assert.is(await nodes.look(), 1)
  assert.equal(await known(), ['b'])
  assert.equal(await b.db.selectFrom('open_streams').selectAll().execute(), [], 'nor does its stream count any more')
  assert.is(await beat(a, clock.now(), {}, true), true, 'it learns that its calls have ended')
  assert.is(await beat(a, clock.now(), {}, true), false)
  assert.equal(await known(), ['a', 'b'])
  assert.is(await nodes.look(), 0)
  await nodes.close()
})

test("a living node's calls are ended by nobody, and a call that began after the last beat ends when it began", async () => {
  const nodes = await makeNodes()
  const { a, b, clock } = nodes
  await nodes.beatOf(a)
  clock.advance(3000)
  const late = await callAt(nodes, a)
  const begun = at(nodes)
  const own = await callAt(nodes, b)
  clock.advance(10 * MINUTE)
  await beat(b, clock.now())
  await nodes.look()
  assert.is((await callOf(nodes, own.callId))?.ended_at, null)
  assert.equal((await callOf(nodes, late.callId))?.ended_at, begun)
  await nodes.close()
})

test('a node that dies before its first heartbeat is lost like any other: it is known before its first call', async () => {
  const nodes = await makeNodes()
  const { a, b, clock } = nodes
  const driver = buildDriver({ store: a, config: APP_CONFIG, vault: VAULT, now: clock.now, log: silent })
  await driver.booted('its first boot')
  const seen = at(nodes)
  const { callId } = await callAt(nodes, a)
  assert.is(await nodes.look(), 0)
  clock.advance(2 * MINUTE)
  await beat(b, clock.now())
  assert.is(await nodes.look(), 1)
  const call = await callOf(nodes, callId)
  assert.equal([call?.ended_reason, call?.ended_at], ['node_lost', seen])
  await nodes.close()
})

test('a node that was taken for lost is told so at its next beat, once, and lives again', async () => {
  const nodes = await makeNodes()
  const { a, b, clock } = nodes
  await nodes.beatOf(a)
  clock.advance(2 * MINUTE)
  await beat(b, clock.now())
  assert.is(await nodes.look(), 1)
  assert.is(await nodes.beatOf(a), true)
  assert.is(await nodes.beatOf(a), false)
  assert.is(await nodes.look(), 0)
  await nodes.close()
})

test('a machine that was away for a day ends its calls at the time when it was last seen, and bills no day', async () => {
  const nodes = await makeNodes()
  const { a, clock } = nodes
  const { callId } = await callAt(nodes, a)
  clock.advance(3 * MINUTE)
  await nodes.beatOf(a)
  const seen = at(nodes)
  clock.advance(24 * 60 * MINUTE)
  const driver = buildDriver({ store: a, config: APP_CONFIG, vault: VAULT, now: clock.now, log: silent })
  await driver.booted('another boot')
  const call = await callOf(nodes, callId)
  assert.equal([call?.ended_reason, call?.ended_at], ['node_lost', seen])
  const lasted = forTenant(a.db, nodes.tenant).select('usage_entries').select('quantity').where('meter', '=', 'call_ms')
  assert.equal(
    (await lasted.execute()).map(({ quantity }) => Number(quantity)),
    [3 * MINUTE],
  )
  await nodes.close()
})

test('a time of day that is set, at one node or at the other, makes nobody lost', async () => {
  const nodes = await makeNodes()
  const { a, clock } = nodes
  const { callId } = await callAt(nodes, a)
  await nodes.beatOf(a)
  for (const byMs of [24 * 60 * MINUTE, -48 * 60 * MINUTE]) {
    clock.set(byMs)
    clock.advance(MINUTE / 2)
    assert.is(await nodes.look(), 0)
    await nodes.beatOf(a)
  }
  assert.is((await callOf(nodes, callId))?.ended_at, null)
  clock.advance(2 * MINUTE)
  assert.is(await nodes.look(), 1, 'and who is silent is lost, whatever the time of day')
  await nodes.close()
})

test('a phone that is registered at one node is rung by that node alone', async () => {
  const nodes = await makeNodes()
  const { a, b, clock, tenant } = nodes
  const { callId } = await callAt(nodes, a)
  const agent = await agentAt(nodes, a, callId)
  assert.is((await devicesOf(a.db, tenant, agent, clock.now())).length, 1)
  assert.equal(await devicesOf(b.db, tenant, agent, clock.now()), [])
  await nodes.close()
})

test('a leg whose call has ended meanwhile is hung up, and one whose call runs is not', async () => {
  const nodes = await makeNodes()
  const { a, clock, tenant } = nodes
  const media = new PocketMedia(clock.now)
  const [stray, running] = [await callAt(nodes, a), await callAt(nodes, a)]
  for (const { legId, callId } of [stray, running]) media.incoming(legId, callId)
  const strays = new StrayLegs({ store: a, log: silent })
  const ended = { status: 'completed' as const, ended_at: at(nodes) }
  await forTenant(a.db, tenant).update('calls').set(ended).where('id', '=', stray.callId).execute()
  await strays.run(media)
  assert.is(media.legs.has(stray.legId), true, 'its end may be on its way')
  await strays.run(media)
  assert.is(strays.counters.hungUp, 1)
  const hungUp = media.handled
    .filter(({ name }) => name === 'leg.hangup')
    .map(({ body }) => (body as { legId: string }).legId)
  assert.equal(hungUp, [stray.legId])
  assert.ok(await loadLeg(a.db, running.legId))
  await nodes.close()
})

test.run()
