import * as assert from 'uvu/assert'
import { nodeOf } from '../../../control/kernel/store/node.ts'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import { suite } from '../../harness.ts'
import { MINUTE, makeCampaignWorld } from './campaign-world.ts'

const test = suite('control/campaigns/preview')
const [ANN, BOB, CYD] = ['+14155550101', '+14155550102', '+14155550103']

/** A campaign over these, and two agents of its queue who are there. */
async function makePreview(numbers: readonly string[], settings: object = {}) {
  const campaigns = await makeCampaignWorld()
  const { world, start, answer } = campaigns
  const agents = [await world.addAgent('ann'), await world.addAgent('bob')] as const
  const node = nodeOf(world.store.db)
  for (const user_id of agents) {
    const page = {
      id: `page-${user_id}`,
      user_id,
      node,
      origin: null,
      device: null,
      connected_at: '2026-11-21T10:00:00.000Z',
    }
    await forTenant(world.store.db, world.tenant).insert('browser_sessions', page)
    await world.setStatus(user_id, 'available')
  }
  const queue_id = await world.addQueue({ member_user_ids: [...agents], wrap_up_seconds: 0 })
  const id = await start(numbers, { queue_id, mode: 'preview', claim_seconds: 60, ...settings })
  const claim = (user_id: string) => answer(`POST /v1/campaigns/${id}/claim`, { user_id })
  const act = (verb: 'dial' | 'skip', contactId: string, body: object) =>
    answer(`POST /v1/campaigns/${id}/contacts/${contactId}/${verb}`, body)
  return { ...campaigns, id, queue_id, agents, claim, act }
}

test('nobody is called before an agent has looked at the contact; the agent who has it called gets it, and the others do not', async () => {
  const preview = await makePreview([ANN])
  const { world, dial, dialled, claim, act, agents, leg, end, contact, attempts, ask, id } = preview
  const [ann, bob] = agents
  await dial()
  assert.equal(dialled(), [])
  const seen = (await claim(ann)).body
  assert.equal([seen.phone, seen.claimed_by, seen.status], [ANN, ann, 'pending'])
  const called = await act('dial', seen.id, { user_id: ann })
  assert.equal([called.status, called.body.status], [200, 'calling'])
  await dial()
  assert.equal(dialled(), [ANN])
  assert.is((await act('dial', seen.id, { user_id: ann })).body.error.details.reason, 'not_claimed')
  world.media.pickUp(leg(ANN)!.legId)
  await world.settle()
  assert.equal(world.ringing(bob), [])
  world.media.pickUp(world.ringing(ann)[0]!.legId)
  await world.settle()
  await end(ANN, 'caller_hangup')
  assert.equal([(await contact(ANN)).status, (await contact(ANN)).last_result], ['completed', 'answered'])
  assert.equal(
    (await attempts()).map(({ user_id, result }) => [user_id, result]),
    [[ann, 'answered']],
  )
  await dial()
  assert.is((await ask(`GET /v1/campaigns/${id}`)).status, 'completed')
  const told = (await world.events()).map(event => event.type).filter(type => type.startsWith('campaign.contact'))
  assert.equal(told, ['campaign.contact.claimed', 'campaign.contact.finished'])
  await preview.close()
})

test('two agents never get one contact, also at the same moment; who asks again gets the same; a claim that is over gives it back', async () => {
  const preview = await makePreview([ANN, BOB])
  const { world, claim, act, agents } = preview
  const [ann, bob] = agents
  const both = await Promise.all([claim(ann), claim(bob)])
  assert.equal(both.map(({ body }) => body.phone).toSorted(), [ANN, BOB])
  assert.is((await claim(ann)).body.id, both[0]!.body.id)
  assert.is((await act('dial', both[0]!.body.id, { user_id: bob })).status, 409)
  await world.later(MINUTE)
  assert.is((await act('dial', both[0]!.body.id, { user_id: ann })).body.error.details.reason, 'not_claimed')
  assert.is((await act('skip', both[0]!.body.id, { user_id: ann })).body.error.details.reason, 'not_claimed')
  assert.equal((await claim(bob)).status, 200)
  await preview.close()
})

test('a skipped contact comes back when it was said, or is done', async () => {
  const preview = await makePreview([ANN, BOB])
  const { world, claim, act, agents, contact } = preview
  const [ann] = agents
  const first = (await claim(ann)).body
  const later = await act('skip', first.id, { user_id: ann, reason: 'On holiday.', retry_minutes: 30 })
  assert.equal([later.body.status, later.body.skip_reason, later.body.claimed_by], ['pending', 'On holiday.', null])
  const second = (await claim(ann)).body
  assert.is.not(second.id, first.id)
  assert.is((await act('skip', second.id, { user_id: ann })).body.status, 'failed')
  assert.is((await contact(second.phone)).last_result, 'skipped')
  assert.is((await claim(ann)).body.error.details.reason, 'no_contact_due')
  await world.later(30 * MINUTE)
  assert.is((await claim(ann)).body.id, first.id)
  const told = (await world.events()).map(event => event.type).filter(type => type.startsWith('campaign.contact'))
  assert.is(told.filter(type => type === 'campaign.contact.skipped').length, 2)
  await preview.close()
})

test('who looks at a contact, or has it called, is rung by no queue and counted on by no campaign: until it is skipped, the claim or the call is over', async () => {
  const preview = await makePreview([ANN, BOB])
  const { world, claim, act, agents, start, dial, dialled, leg, end, later, queue_id } = preview
  const [ann, bob] = agents
  await world.setStatus(bob, 'offline')
  const first = (await claim(ann)).body
  await world.call(queue_id)
  await world.settle()
  const other = await start([CYD], { queue_id, mode: 'progressive' })
  await dial()
  assert.equal([world.ringing(ann), dialled()], [[], []])
  await preview.ask(`POST /v1/campaigns/${other}/stop`)
  await act('skip', first.id, { user_id: ann })
  await world.settle()
  assert.is(world.ringing(ann).length, 1, 'skipped')
  const caller = async (): Promise<void> => {
    world.media.hangUp(world.ringing(ann)[0]!.legId, 'rejected')
    await world.settle()
    world.clock.advance(10_000)
  }
  await caller()
  const second = (await claim(ann)).body
  await world.settle()
  assert.equal(world.ringing(ann), [], 'claimed again')
  assert.is((await act('dial', second.id, { user_id: ann })).status, 200)
  await dial()
  await later(20_000)
  assert.equal(world.ringing(ann), [], 'it rings at the contact')
  await end(second.phone, 'no_answer')
  assert.is(world.ringing(ann).length, 1, 'its call is over')
  assert.is(leg(second.phone), undefined)
  await preview.close()
})

test('an agent whose contact is being called, and who looks at the next one and skips it, is kept for the call', async () => {
  const preview = await makePreview([ANN, BOB])
  const { world, claim, act, agents, dial, end, queue_id } = preview
  const [ann, bob] = agents
  await world.setStatus(bob, 'offline')
  const first = (await claim(ann)).body
  assert.is((await act('dial', first.id, { user_id: ann })).status, 200)
  await dial()
  const second = (await claim(ann)).body
  assert.is((await act('skip', second.id, { user_id: ann })).status, 200)
  await world.call(queue_id)
  await world.settle()
  assert.equal(world.ringing(ann), [])
  await end(first.phone, 'no_answer')
  assert.is(world.ringing(ann).length, 1)
  await preview.close()
})

test('a claim keeps the agent for so long and no longer; a campaign that is paused, or no preview any more, lets both go at once', async () => {
  const preview = await makePreview([ANN])
  const { world, claim, agents, ask, id, queue_id, contact } = preview
  const [ann, bob] = agents
  await world.setStatus(bob, 'offline')
  const again = async (letGo: () => Promise<unknown>): Promise<void> => {
    assert.is((await claim(ann)).body.phone, ANN)
    const legId = await world.call(queue_id)
    await world.settle()
    assert.equal(world.ringing(ann), [])
    await letGo()
    await world.settle()
    assert.is(world.ringing(ann).length, 1)
    world.media.hangUp(legId, 'caller_hangup')
    await world.settle()
    world.clock.advance(10_000)
  }
  await again(() => world.later(MINUTE))
  await again(() => ask(`POST /v1/campaigns/${id}/pause`))
  assert.equal([(await contact(ANN)).claimed_by, (await contact(ANN)).status], [null, 'pending'])
  await ask(`POST /v1/campaigns/${id}/resume`)
  await again(async () => {
    await ask(`PATCH /v1/campaigns/${id}`, { mode: 'progressive' })
    await ask(`PATCH /v1/campaigns/${id}`, { mode: 'preview' })
  })
  await again(async () => ask(`DELETE /v1/campaigns/${id}/contacts/${(await contact(ANN)).id}`))
  await preview.close()
})

test('a contact whose claim is over is deleted without a word to the agent who looked at it, and by now calls another one', async () => {
  const preview = await makePreview([ANN, BOB])
  const { world, claim, act, agents, id, ask } = preview
  const [ann] = agents
  const first = (await claim(ann)).body
  world.clock.advance(61_000)
  const second = (await claim(ann)).body
  assert.not.equal(second.id, first.id)
  assert.is((await act('dial', second.id, { user_id: ann })).status, 200)
  const reserved = async () =>
    (await forTenant(world.store.db, world.tenant).find('agent_statuses', ann))?.reserved_until
  const until = await reserved()
  assert.ok(until != null)
  await ask(`DELETE /v1/campaigns/${id}/contacts/${first.id}`)
  assert.is(await reserved(), until, 'no queue rings the agent meanwhile')
  await preview.close()
})

test('an agent looks at one contact at a time, whatever campaigns there are; calls of agents keep the rate of their campaign', async () => {
  const preview = await makePreview([ANN, BOB], { calls_per_second: 1 })
  const { world, claim, act, agents, start, answer, queue_id, dial, dialled, later } = preview
  const [ann, bob] = agents
  const other = await start([CYD], { queue_id, mode: 'preview' })
  const [first, second] = [(await claim(ann)).body, (await claim(bob)).body]
  const refused = await answer(`POST /v1/campaigns/${other}/claim`, { user_id: ann })
  assert.equal([refused.status, refused.body.error.details.reason], [409, 'contact_claimed'])
  assert.is((await act('dial', first.id, { user_id: ann })).status, 200)
  assert.is((await act('dial', second.id, { user_id: bob })).body.error.details.reason, 'campaign_rate')
  await later(1000)
  assert.is((await act('dial', second.id, { user_id: bob })).status, 200)
  await dial()
  assert.equal(dialled().toSorted(), [ANN, BOB])
  assert.is(world.media.legs.size, 2)
  await preview.close()
})

test('only agents of the queue get contacts, and only who is available has them called; the do-not-call list is asked at both moments', async () => {
  const preview = await makePreview([ANN, BOB, CYD])
  const { world, ask, answer, claim, act, agents, contact, dial, dialled, id } = preview
  const [ann] = agents
  const stranger = await world.addAgent('stranger')
  assert.is((await claim(stranger)).body.error.param, 'user_id')
  await ask('POST /v1/do_not_call', { phone: ANN })
  const seen = (await claim(ann)).body
  assert.is(seen.phone, BOB)
  assert.is((await contact(ANN)).last_result, 'do_not_call')
  await world.setStatus(ann, 'away')
  assert.is((await act('dial', seen.id, { user_id: ann })).body.error.details.reason, 'agent_unavailable')
  await world.setStatus(ann, 'available')
  await ask('POST /v1/do_not_call', { phone: BOB })
  assert.is((await act('dial', seen.id, { user_id: ann })).body.status, 'excluded')
  await dial()
  assert.equal(dialled(), [])
  await ask(`POST /v1/campaigns/${id}/pause`)
  assert.is((await claim(ann)).body.error.details.reason, 'campaign_paused')
  const refused = await answer('POST /v1/campaigns', { name: 'X', mode: 'preview' })
  assert.equal([refused.status, refused.body.error.param], [400, 'queue_id'])
  await preview.close()
})

test.run()
