import * as assert from 'uvu/assert'
import { storeCounters } from '../../../control/kernel/store/shortcut.ts'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import { suite } from '../../harness.ts'
import { testEngine } from '../database.ts'
import { numbers } from './campaign-rows.ts'
import { HOUR, makeCampaignWorld } from './campaign-world.ts'

const test = suite('control/campaigns/wakeful')

const CAMPAIGNS = 50

test('however many campaigns run, a look at them is two statements while nobody is due', async () => {
  const campaigns = await makeCampaignWorld()
  const { world, start, dial, later, dialled } = campaigns
  const phones = numbers(CAMPAIGNS)
  for (const phone of phones) await start([phone])
  const scoped = forTenant(world.store.db, world.tenant)
  const tomorrow = new Date(world.clock.now().getTime() + 24 * HOUR).toISOString()
  const contacts = await scoped.select('campaign_contacts').select('id').execute()
  for (const { id } of contacts) await scoped.change('campaign_contacts', id, { next_attempt_at: tomorrow })
  await dial()
  const before = storeCounters(world.store.db)
  const [statements, transactions] = [before.statements, before.transactions]
  await campaigns.look()
  const after = storeCounters(world.store.db)
  // PostgreSQL counts for itself.
  if (testEngine === 'sqlite') {
    assert.equal([after.statements! - statements!, after.transactions! - transactions!], [2, 0])
  }
  assert.equal(dialled(), [])
  await later(24 * HOUR)
  assert.equal(dialled().toSorted(), phones)
  await campaigns.close()
})

test('a campaign whose agents see contacts first costs a look no transaction, however many are due', async () => {
  const campaigns = await makeCampaignWorld()
  const { world, start, look } = campaigns
  const ann = await world.addAgent('ann')
  await world.setStatus(ann, 'available')
  await start(numbers(5), { queue_id: await world.addQueue({ member_user_ids: [ann] }), mode: 'preview' })
  // Of this one, for which nobody is there either, a look is one.
  await start(numbers(5), { queue_id: await world.addQueue() })
  const before = storeCounters(world.store.db).transactions
  await look()
  // PostgreSQL counts for itself.
  if (testEngine === 'sqlite') assert.is(storeCounters(world.store.db).transactions, before! + 1)
  assert.equal(campaigns.dialled(), [])
  await campaigns.close()
})

test('whoever may be called is, at once, although hundreds who must not be are due before', async () => {
  const campaigns = await makeCampaignWorld()
  const { world, start, dial, dialled } = campaigns
  const phones = numbers(202)
  const id = await start(phones, { timezone: 'Pacific/Auckland' })
  const scoped = forTenant(world.store.db, world.tenant)
  // Saturday, 10:00 UTC: eleven in the evening in Auckland.
  const hours = { weekly: [{ day: 'saturday', open: '09:00', close: '17:00' }] }
  await campaigns.ask(`PATCH /v1/campaigns/${id}`, { allowed_hours: hours })
  for (const phone of phones.slice(-2)) {
    const contact = await campaigns.contact(phone)
    await scoped.change('campaign_contacts', contact.id, {
      timezone: 'Europe/Paris',
      next_attempt_at: world.clock.now().toISOString(),
    })
  }
  await world.later(1)
  await dial()
  assert.equal(dialled().toSorted(), phones.slice(-2))
  await campaigns.close()
})

test('a campaign of an organisation that may place no calls is left alone for a second', async () => {
  const campaigns = await makeCampaignWorld()
  const { world, start, later, dial, dialled } = campaigns
  await start(numbers(1))
  const partner = forTenant(world.store.db, { organisationId: world.theirs.organisationId, livemode: true })
  const { organisationId } = world.tenant
  const at = world.clock.now().toISOString()
  const limits = JSON.stringify({ concurrent_calls: null, call_minutes_per_month: null })
  await partner.insert('partner_organisations', {
    ...{ id: organisationId, name: 'Ours', suspended: 1, limits, created: at, updated: at },
  })
  await dial()
  await partner.change('partner_organisations', organisationId, { suspended: 0 })
  await later(900)
  assert.equal(dialled(), [])
  await later(101)
  assert.is(dialled().length, 1)
  await campaigns.close()
})

test('a campaign that is faster than its connection slows down: a call that finds no line holds the next back', async () => {
  const campaigns = await makeCampaignWorld()
  const { world, start, dial, later, ask, attempts } = campaigns
  const { data } = await ask('GET /v1/connections')
  await ask(`PATCH /v1/connections/${data[0].id}`, { max_calls: 2 })
  await start(numbers(100), { max_concurrent: 100 })
  const lost = async () => (await attempts()).filter(({ result }) => result === 'capacity').length
  for (let second = 0; second < 20; second++) {
    for (let quarter = 0; quarter < 4; quarter++) await later(250)
    await dial()
  }
  assert.is(world.media.legs.size, 2)
  // Fifty a second would have been begun.
  assert.ok((await lost()) > 0 && (await lost()) <= 20 * 5 + 25, String(await lost()))
  await campaigns.close()
})

test.run()
