import * as assert from 'uvu/assert'
import { newId } from '../../../control/kernel/ids.ts'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import { placeMembersCall } from '../../../control/queues/agents/placed-calls.ts'
import { transferBlind } from '../../../control/queues/call-handling.ts'
import { suite } from '../../harness.ts'
import { silent } from '../app-harness.ts'
import { type CampaignWorld, makeCampaignWorld } from '../campaigns/campaign-world.ts'
import { VAULT } from '../whole-app.ts'

const test = suite('control/do-not-call/every-path')

const LISTED = '+14155550142'
const OTHER = '+14165550142'

/** Somebody who talks with an agent: the call's ID, its own leg and the agent. */
async function talk({ world }: CampaignWorld) {
  const ann = await world.addAgent('ann')
  const queue = await world.addQueue({ member_user_ids: [ann], wrap_up_seconds: 0 })
  await world.setStatus(ann, 'available')
  const legId = await world.call(queue)
  await world.settle()
  world.media.pickUp(world.ringing(ann)[0]!.legId)
  await world.settle()
  return { ann, legId, callId: world.media.legs.get(legId)!.roomId! }
}

/** Each of them has a number dialled, where it may be. */
const PATHS: Record<string, (campaigns: CampaignWorld, to: string) => Promise<void>> = {
  'a campaign': async ({ start, dial }, to) => {
    await start([to])
    await dial()
  },
  "a member's phone or softphone": async ({ world }, to) => {
    const { store, clock, tenant } = world
    const user = (await forTenant(store.db, tenant).find('users', await world.addAgent('ann')))!
    const deps = { store, now: clock.now, sipHost: 'tandem.test', vault: VAULT, log: silent, centre: world.centre() }
    const legId = newId('participant')
    const device = { kind: 'leg' as const, legId }
    world.media.incoming(legId, newId('call'))
    await placeMembersCall(deps, { tenant, user, device, dialled: to })
    await world.settle()
  },
  'a transfer by the API, a softphone or a phone’s REFER': async (campaigns, to) => {
    const { world } = campaigns
    const { callId } = await talk(campaigns)
    const by = { tenant: world.tenant, callId, request: { requestId: 'req_1', idempotencyKey: null } }
    await world.centre().handle(by, handling => transferBlind(handling, { type: 'number', to }, 'answerer'))
    await world.settle()
  },
  'the overflow of a queue': async ({ world }, number) => {
    const none = { when_no_agents: true, assistant_id: null, user_id: null, queue_id: null }
    await world.call(await world.addQueue({ overflow: { ...none, action: 'number', number }, max_wait_seconds: 10 }))
    await world.later(60_000)
  },
  'a flow or an assistant that puts its caller through': async (campaigns, to) => {
    const { world } = campaigns
    const { store, tenant, clock } = world
    const callId = await ledCall(campaigns)
    const at = clock.now().toISOString()
    const led = { ringId: newId('ring'), callId, target: { type: 'number' as const, to }, at }
    await store.transaction(trx => world.centre().ringLed(trx, tenant, led))
    await world.settle()
  },
  'a callback of an assistant': async (campaigns, phone) => {
    const { ask, answer, world } = campaigns
    const { id: assistant_id } = await ask('POST /v1/assistants', { name: 'Back' })
    const body = { phone, route: 'assistant', assistant_id }
    await answer('POST /v1/callbacks', body)
    await world.later(60_000)
  },
}

/** A caller whom a program leads, since nobody answers the queue. */
async function ledCall({ world, ask }: CampaignWorld): Promise<string> {
  const { id: assistant_id } = await ask('POST /v1/assistants', { name: 'Front' })
  const none = { when_no_agents: true, user_id: null, queue_id: null, number: '' }
  const legId = await world.call(await world.addQueue({ overflow: { ...none, action: 'assistant', assistant_id } }))
  await world.settle()
  assert.is(world.handed.length, 1)
  return world.media.legs.get(legId)!.roomId!
}

for (const [path, goes] of Object.entries(PATHS)) {
  test(`${path} dials nobody who is on the do-not-call list, by number or by pattern`, async () => {
    for (const [listed, to, expected] of [
      [LISTED, LISTED, []],
      ['+1415*', LISTED, []],
      ['+1415*', OTHER, [OTHER]],
    ] as const) {
      const campaigns = await makeCampaignWorld()
      await campaigns.ask('POST /v1/do_not_call', { phone: listed })
      await goes(campaigns, to)
      assert.equal(campaigns.dialled(), expected, `${listed}: ${to}`)
      await campaigns.close()
    }
  })
}

test('a party that is invited to a conference room is not dialled either', async () => {
  const campaigns = await makeCampaignWorld()
  await campaigns.ask('POST /v1/do_not_call', { phone: LISTED })
  const { id } = await campaigns.ask('POST /v1/conference_rooms', { name: 'Room' })
  const refused = await campaigns.answer(`POST /v1/conference_rooms/${id}/participants`, { to: LISTED })
  assert.equal([refused.status, refused.body.error.code], [403, 'do_not_call'])
  await campaigns.close()
})

test.run()
