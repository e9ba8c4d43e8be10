import * as assert from 'uvu/assert'
import { forgetRows } from '../../../control/kernel/jobs/forget.ts'
import { JobRunner } from '../../../control/kernel/jobs/runner.ts'
import { RetentionDuty } from '../../../control/retention/duty.ts'
import { suite } from '../../harness.ts'
import { silent } from '../app-harness.ts'
import { type CampaignWorld, makeCampaignWorld } from './campaign-world.ts'

const test = suite('control/campaigns/removal')
const DAY_MS = 86_400_000
const ANN = '+14155550101'
const BOB = '+14155550102'

/** Where a text stands, of all that campaigns keep. */
async function places({ world: { store } }: CampaignWorld, text: string): Promise<string[]> {
  const found: string[] = []
  for (const table of ['campaign_contacts', 'campaign_attempts', 'campaigns', 'events'] as const) {
    const rows = await store.db.selectFrom(table).selectAll().execute()
    const own = table === 'events' ? rows.filter(row => JSON.stringify(row).includes('campaign.contact')) : rows
    if (JSON.stringify(own).includes(text)) found.push(table)
  }
  return found
}

/** Runs the jobs that delete what belonged to a deleted campaign. */
async function forget({ world: { store, clock } }: CampaignWorld): Promise<JobRunner> {
  const handlers = { 'rows.forget': forgetRows(store) }
  const jobs = new JobRunner({ store, now: clock.now, log: silent, handlers })
  await jobs.runDue()
  return jobs
}

/** A campaign that has called Ann, and Bob, and is completed. */
async function completed() {
  const campaigns = await makeCampaignWorld()
  const { world, start, dial, end, contact, ask } = campaigns
  const id = await start([ANN, BOB], { retry_minutes: { no_answer: null } })
  await dial()
  for (const phone of [ANN, BOB]) await end(phone, 'no_answer')
  await dial()
  assert.is((await ask(`GET /v1/campaigns/${id}`)).status, 'completed')
  let days = 0
  const now = () => new Date(world.clock.now().getTime() + days * DAY_MS)
  const duty = new RetentionDuty({ store: world.store, dataDir: '/nowhere', now, log: silent })
  const after = (passed: number) => {
    days = passed
    return duty.run()
  }
  return { ...campaigns, id, ann: (await contact(ANN)).id, after, duty }
}

test('with a contact that is deleted go its events at once, and its number a week after its last call; the figures stay', async () => {
  const campaigns = await completed()
  const { ask, id, ann, after, close } = campaigns
  assert.equal(await places(campaigns, ANN), ['campaign_contacts', 'campaign_attempts', 'events'])
  await ask(`DELETE /v1/campaigns/${id}/contacts/${ann}`)
  assert.equal(await places(campaigns, ANN), ['campaign_attempts'], 'it counts for the caps of a week')
  await after(6)
  assert.equal(await places(campaigns, ANN), ['campaign_attempts'])
  await after(8)
  assert.equal(await places(campaigns, ANN), [])
  assert.equal(await places(campaigns, BOB), ['campaign_contacts', 'campaign_attempts', 'events'])
  const { data } = await ask(`GET /v1/campaigns/${id}/attempts`)
  assert.equal(data.map(({ phone }: { phone: string }) => phone).sort(), ['', BOB])
  assert.is((await ask(`GET /v1/campaigns/${id}/stats`)).attempts.total.no_answer, 2)
  await close()
})

test('contacts of a campaign are kept for so many days since it was over as the organisation says, and while it runs', async () => {
  const campaigns = await completed()
  const { ask, start, after, duty, close } = campaigns
  await start([BOB], { caps: { per_number_per_day: 1 }, max_concurrent: 1 })
  await after(4000)
  assert.is(duty.counters.contactsDeleted, 0, 'for ever, where it says nothing')
  await ask('PATCH /v1/organisation', { retention: { campaign_contacts_days: 30 } })
  await after(29)
  assert.is(duty.counters.contactsDeleted, 0)
  await after(31)
  assert.is(duty.counters.contactsDeleted, 2)
  assert.equal(await places(campaigns, ANN), [])
  assert.equal(await places(campaigns, BOB), ['campaign_contacts'], 'another one has still to call him')
  assert.is((await ask('GET /v1/organisation')).retention.campaign_contacts_days, 30)
  await close()
})

test('a campaign of many contacts is deleted at once; they, their events and attempts leave in pieces, since calls wait for each', async () => {
  const campaigns = await completed()
  const { world, id, ask } = campaigns
  const { store } = world
  const contacts = Array.from({ length: 240 }, (_, n) => ({ phone: `+1415556${1000 + n}` }))
  await ask('POST /v1/campaigns', { name: 'Other', assistant_id: (await ask(`GET /v1/campaigns/${id}`)).assistant_id })
  const other = (await ask('GET /v1/campaigns')).data[0].id
  await ask(`POST /v1/campaigns/${other}/contacts`, { contacts })
  await store.db.updateTable('campaign_attempts').set({ campaign_id: other }).where('campaign_id', '=', id).execute()
  const left = async () => {
    const counts = ['campaign_contacts', 'campaign_attempts'] as const
    const rows = counts.map(table => store.db.selectFrom(table).select('id').where('campaign_id', '=', other).execute())
    return (await Promise.all(rows)).map(({ length }) => length)
  }
  assert.equal(await left(), [240, 2])
  await ask(`DELETE /v1/campaigns/${other}`)
  assert.equal(await left(), [240, 2], 'no call waits for that')
  const jobs = await forget(campaigns)
  assert.equal(await left(), [0, 0])
  assert.is(jobs.counters.done, 2)
  assert.equal(await places(campaigns, BOB), ['campaign_contacts', 'events'], 'of another campaign')
  await campaigns.close()
})

test('a campaign that is deleted takes along what its events tell of its contacts', async () => {
  const campaigns = await completed()
  await campaigns.ask(`DELETE /v1/campaigns/${campaigns.id}`)
  await forget(campaigns)
  for (const phone of [ANN, BOB]) assert.equal(await places(campaigns, phone), [])
  await campaigns.close()
})

test.run()
