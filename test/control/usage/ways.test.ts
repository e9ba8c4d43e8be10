import * as assert from 'uvu/assert'
import { endLostNodes } from '../../../control/assistants/lost-nodes.ts'
import { BrowserAdmission } from '../../../control/browsers/admission.ts'
import { insertParty } from '../../../control/calls/records.ts'
import { follow } from '../../../control/calls/steps/follow.ts'
import { newId } from '../../../control/kernel/ids.ts'
import { beat } from '../../../control/kernel/nodes/heartbeat.ts'
import { openStore, type Store } from '../../../control/kernel/store/store.ts'
import { type Handling, transferAttended, transferBlind } from '../../../control/queues/call-handling.ts'
import { buildCallCentre, buildDriver, lostNodes } from '../../../control/wiring/background.ts'
import { addOrganisation } from '../../../control/wiring/first-start.ts'
import { PocketMedia } from '../../fakes/pocket-media.ts'
import { suite } from '../../harness.ts'
import { makeClock, silent } from '../app-harness.ts'
import { type CampaignWorld, MINUTE, makeCampaignWorld } from '../campaigns/campaign-world.ts'
import { makeDatabase } from '../database.ts'
import { APP_CONFIG, VAULT } from '../whole-app.ts'
import { ledger, recount, type Sums } from './recount.ts'

const test = suite('control/usage/ways')

/** Numbers of people outside; of the sandbox where nobody outside is called. */
const outside = ({ world }: CampaignWorld) =>
  world.tenant.livemode
    ? (['+14155550101', '+14155550102', '+14155550103'] as const)
    : (['+15005550006', '+15005550001', '+15005550002'] as const)

/** The leg that rings at this number is answered. */
async function pickUp({ world, leg }: CampaignWorld, phone: string) {
  world.media.pickUp(leg(phone)!.legId)
  await world.settle()
}

async function hangUp({ world }: CampaignWorld, legId: string) {
  world.media.hangUp(legId)
  await world.settle()
}

/** A caller of a queue who talks with its agent. */
async function talk({ world }: CampaignWorld, name: string) {
  const agent = await world.addAgent(name)
  const queue = await world.addQueue({ member_user_ids: [agent], wrap_up_seconds: 0 })
  await world.setStatus(agent, 'available')
  const legId = await world.call(queue)
  await world.settle()
  world.media.pickUp(world.ringing(agent)[0]!.legId)
  await world.later(7 * MINUTE)
  const callId = world.media.legs.get(legId)!.roomId!
  const by = { tenant: world.tenant, callId, request: { requestId: 'req_1', idempotencyKey: null } }
  const act = async (what: (handling: Handling) => Promise<unknown>) => {
    assert.is(await world.centre().handle(by, what as never), null)
    await world.settle()
  }
  return { agent, legId, act }
}

/** Every way in which calls begin, continue and end, and the least that must be counted for each. */
const WAYS: Record<string, { goes: (campaigns: CampaignWorld) => Promise<void>; least: Sums }> = {
  'a campaign: one answers, one is busy, one does not answer': {
    least: { calls: 3, answered_calls: 1, call_ms: 3 * MINUTE },
    goes: async campaigns => {
      const [yes, busy, no] = outside(campaigns)
      await campaigns.start([yes, busy, no], { max_attempts: 1 })
      await campaigns.dial()
      await campaigns.end(busy, 'busy')
      await pickUp(campaigns, yes)
      await campaigns.world.later(3 * MINUTE)
      if (campaigns.leg(no) !== undefined) await campaigns.end(no, 'no_answer')
      await campaigns.end(yes, 'caller_hangup')
    },
  },
  'a blind transfer to somebody outside, where the call goes on: one call, to its end': {
    least: { calls: 1, answered_calls: 1, call_ms: 19 * MINUTE },
    goes: async campaigns => {
      const { legId, act } = await talk(campaigns, 'ann')
      const [to] = outside(campaigns)
      await act(handling => transferBlind(handling, { type: 'number', to }))
      await pickUp(campaigns, to)
      await campaigns.world.later(12 * MINUTE)
      await hangUp(campaigns, legId)
    },
  },
  'an attended transfer whose caller hangs up while the agents talk': {
    least: { calls: 1, answered_calls: 1, call_ms: 8 * MINUTE },
    goes: async campaigns => {
      const { world } = campaigns
      const { legId, act } = await talk(campaigns, 'ann')
      const bob = await world.addAgent('bob')
      await world.setStatus(bob, 'available')
      await act(handling => transferAttended(handling, { type: 'user', id: bob }))
      world.media.pickUp(world.ringing(bob)[0]!.legId)
      await world.later(MINUTE)
      await hangUp(campaigns, legId)
    },
  },
  'a conference: each party is a call, and the session is one of its own': {
    least: { calls: 2, answered_calls: 2, conference_sessions: 1, conference_ms: 9 * MINUTE, call_ms: 14 * MINUTE },
    goes: async campaigns => {
      const { world, ask } = campaigns
      const { id: roomId } = await ask('POST /v1/conference_rooms', { name: 'Room' })
      const come = async () => {
        const [callId, legId] = [newId('call'), newId('participant')]
        const ends = { callId, legId, direction: 'inbound' as const, to: '1', from: '+14155550101' }
        const party = { ...ends, target: 'room' as const, roomId, connectionId: null, metadata: {} }
        const at = world.clock.now().toISOString()
        world.media.incoming(legId, callId)
        await world.store.transaction(async trx => {
          await insertParty(trx, world.tenant, { ...party, role: 'member', muted: false }, at)
          follow(trx, callId, ({ conducting, media }) => conducting.drive(legId, media))
        })
        await world.settle()
        return legId
      }
      const first = await come()
      await world.later(4 * MINUTE)
      const second = await come()
      await world.later(5 * MINUTE)
      await hangUp(campaigns, second)
      await hangUp(campaigns, first)
    },
  },
  'a web call': {
    least: { calls: 1, answered_calls: 1, call_ms: 2 * MINUTE },
    goes: async campaigns => {
      const { world, ask } = campaigns
      const { token, call_id } = await ask('POST /v1/client_tokens', {})
      const { carryOut } = world.media
      world.media.carryOut = ((name: string, body: { legId: string }) => {
        // A page that is admitted is a leg.
        if (name === 'browser.admit') world.media.incoming(body.legId, call_id)
        return carryOut.call(world.media, name as never, body as never)
      }) as never
      const deps = { store: world.store, vault: VAULT, now: world.clock.now, log: silent, publicUrl: '' }
      const admission = new BrowserAdmission({ ...deps, centre: { run: async () => {} } })
      const body = { browserId: 'page', use: 'call', token, origin: null, host: '192.0.2.1' } as const
      await world.store.transaction(async trx => admission.connecting(trx, { at: '', body }))
      await world.settle()
      await world.later(2 * MINUTE)
      const [leg] = [...world.media.legs.keys()]
      await hangUp(campaigns, leg!)
    },
  },
  'the end of media under a call': {
    least: { calls: 1, answered_calls: 1, call_ms: 7 * MINUTE },
    goes: async campaigns => {
      await talk(campaigns, 'ann')
      await campaigns.world.mediaDies()
    },
  },
}

for (const livemode of [true, false]) {
  for (const [way, { goes, least }] of Object.entries(WAYS)) {
    test(`${livemode ? '' : 'in test mode, '}${way}: the ledger adds up exactly to the calls`, async () => {
      const campaigns = await makeCampaignWorld({ loopback: { host: '127.0.0.1', port: 5060 } }, livemode)
      const { store, tenant } = campaigns.world
      await goes(campaigns)
      const running = await store.db.selectFrom('calls').select('id').where('ended_at', 'is', null).execute()
      assert.equal(running, [])
      const counted = await recount(store, tenant)
      assert.equal(await ledger(store, tenant), counted)
      assert.equal(await ledger(store), counted, 'nothing is counted of another mode')
      const seen = Object.keys(least).map(meter => [meter, counted[meter as keyof Sums]])
      assert.equal(Object.fromEntries(seen), least)
      await campaigns.close()
    })
  }
}

test('calls of a node that is lost, and one that ended there before: another node counts what was running, once, and both add up', async () => {
  const database = await makeDatabase()
  const clock = makeClock()
  const nodes = ['a', 'b'].map(name => openStore(database.target, name, clock.steadyMs))
  const [a, b] = [await nodes[0]!, await nodes[1]!]
  const at = () => clock.now().toISOString()
  const { organisationId } = await a.transaction(trx =>
    addOrganisation(trx, { name: 'Ours', pciEnabled: false, now: clock.now() }),
  )
  const parts = { config: APP_CONFIG, vault: VAULT, now: clock.now, log: silent }
  const driverOf = (store: Store) => buildDriver({ ...parts, store, centre: buildCallCentre({ ...parts, store }) })
  const media = new PocketMedia(clock.now)
  const driver = driverOf(a)
  a.followUps.performedBy(task => driver.perform(task, media))
  await driver.booted(media.bootId)
  const deliver = async () => {
    for (;;) {
      await a.followUps.idle()
      const batch = media.unacknowledged.slice(0, 8)
      if (batch.length === 0) return
      await driver.events(batch)
      media.acknowledge(batch.at(-1)!.seq)
    }
  }
  const tenants = [true, false].map(livemode => ({ organisationId, livemode }))
  const legs: string[] = []
  for (const tenant of [...tenants, ...tenants]) {
    const [callId, legId] = [newId('call'), newId('participant')]
    const ends = { callId, legId, direction: 'inbound' as const, to: '1002', from: '2001', target: 'echo' as const }
    media.incoming(legId, callId)
    await a.transaction(async trx => {
      const party = { ...ends, roomId: null, connectionId: null, metadata: {}, role: 'member' as const, muted: false }
      await insertParty(trx, tenant, party, at())
      follow(trx, callId, ({ conducting, media: to }) => conducting.drive(legId, to))
    })
    legs.push(legId)
    await deliver()
  }
  clock.advance(3 * MINUTE)
  for (const legId of legs.slice(0, 2)) media.hangUp(legId)
  await deliver()
  const lost = lostNodes({ ...parts, store: b }, buildCallCentre({ ...parts, store: b }))
  clock.advance(MINUTE)
  for (const store of [a, b]) await beat(store, clock.now())
  await endLostNodes(lost)
  clock.advance(11 * MINUTE)
  await beat(b, clock.now())
  assert.is(await endLostNodes(lost), 1)
  await endLostNodes(lost)
  for (const tenant of tenants) {
    const counted = await recount(b, tenant)
    assert.equal(await ledger(b, tenant), counted)
    assert.equal([counted.calls, counted.answered_calls, counted.call_ms], [2, 2, 7 * MINUTE])
  }
  await a.close()
  await b.close()
  await database.remove()
})

test.run()
