import * as assert from 'uvu/assert'
import { newId } from '../../../control/kernel/ids.ts'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import { suite } from '../../harness.ts'
import { MINUTE, makeCampaignWorld } from '../campaigns/campaign-world.ts'
import { testEngine } from '../database.ts'

const test = suite(`control/callbacks/offered on ${testEngine}`)

/** A callback that rings at `ann`, who answers the queue with `bob`. */
async function offered() {
  const whole = await makeCampaignWorld()
  const { world } = whole
  const [ann, bob] = [await world.addAgent('ann'), await world.addAgent('bob')]
  const queue = await world.addQueue({ member_user_ids: [ann, bob] })
  await world.setStatus(ann, 'available')
  const { id } = await whole.ask('POST /v1/callbacks', { phone: '+14155550100', queue_id: queue })
  await world.settle()
  assert.is(world.ringing(ann).length, 1)
  const change = async (body: object) => {
    const changed = await whole.ask(`PATCH /v1/callbacks/${id}`, body)
    await world.settle()
    return changed
  }
  const row = () => forTenant(world.store.db, world.tenant).find('callbacks', id)
  return { ...whole, ann, bob, id, change, row }
}

test('a callback that is put off while it is offered rings nobody before', async () => {
  const { world, ann, change, row, close } = await offered()
  const due_at = new Date(world.clock.now().getTime() + 60 * MINUTE).toISOString()
  const { status, call_id } = await change({ due_at })
  assert.equal([status, call_id, world.ringing(ann).length], ['pending', null, 0])
  assert.is(await world.status(ann), 'available', 'she has missed nothing')
  await world.later(61 * MINUTE)
  assert.equal([(await row())?.status, world.ringing(ann).length], ['offered', 1])
  await close()
})

test('a callback that is given to another agent while it is offered rings there', async () => {
  const { world, ann, bob, change, close } = await offered()
  await world.setStatus(bob, 'available')
  await change({ agent_id: bob })
  assert.equal([world.ringing(ann).length, world.ringing(bob).length], [0, 1])
  await close()
})

test('a callback that is offered to another agent before its first phone is silent leaves that phone, which takes nothing if it answers', async () => {
  for (const answers of [false, true]) {
    const { world, ann, bob, id, row, close } = await offered()
    const taken = { status: 'offered', offered_to: bob, call_id: newId('call') } as const
    await forTenant(world.store.db, world.tenant).change('callbacks', id, taken)
    if (answers) world.media.pickUp(world.ringing(ann)[0]!.legId)
    await world.settle()
    assert.equal([world.ringing(ann).length, world.legOf(ann)], [0, undefined])
    const { status, offered_to, call_id } = (await row())!
    assert.equal({ status, offered_to, call_id }, taken)
    await close()
  }
})

test('any other change of a callback leaves the offer as it is', async () => {
  const { world, ann, change, close } = await offered()
  const { status } = await change({ priority: 9, note: 'Likes tea.', due_at: '2020-01-01T00:00:00Z' })
  assert.equal([status, world.ringing(ann).length], ['offered', 1])
  await close()
})

test.run()
