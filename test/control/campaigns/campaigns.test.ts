import * as assert from 'uvu/assert'
import { MAX_LOOKED_AT } from '../../../control/campaigns/calling.ts'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import { suite } from '../../harness.ts'
import { HOUR, MINUTE, makeCampaignWorld } from './campaign-world.ts'

const test = suite('control/campaigns')
const [ANN, BOB, CYD] = ['+14155550101', '+14155550102', '+12125550103']

test('a contact that answers is led by the assistant, and is finished when the call ends; then the campaign is completed', async () => {
  const campaigns = await makeCampaignWorld()
  const { world, start, dial, leg, end, contact, attempts, ask } = campaigns
  const id = await start([ANN])
  await dial()
  const calling = await contact(ANN)
  assert.is(calling.status, 'calling')
  world.media.pickUp(leg(ANN)!.legId)
  await world.settle()
  assert.is((await contact(ANN)).status, 'connected')
  const call = await ask(`GET /v1/calls/${calling.call_id}`)
  assert.equal(call.metadata, { campaign_id: id, campaign_contact_id: calling.id })
  assert.is(call.status, 'in_progress')
  const leads = await world.store.db.selectFrom('call_programs').select('assistant_id').execute()
  assert.is(leads.length, 1)
  await end(ANN, 'caller_hangup')
  await dial()
  assert.equal([(await contact(ANN)).status, (await contact(ANN)).last_result], ['completed', 'answered'])
  assert.equal(
    (await attempts()).map(({ number, result }) => [number, result]),
    [[1, 'answered']],
  )
  assert.is((await ask(`GET /v1/campaigns/${id}`)).status, 'completed')
  const told = (await world.events()).map(event => event.type).filter(type => type.startsWith('campaign.'))
  assert.equal(told, ['campaign.started', 'campaign.contact.finished', 'campaign.completed'])
  const stats = await ask(`GET /v1/campaigns/${id}/stats`)
  assert.equal([stats.contacts.completed, stats.attempts.total.answered, stats.answer_rate], [1, 1, 1])
  await campaigns.close()
})

test('a campaign that has called everybody is completed, however many calls it may still begin that day', async () => {
  const campaigns = await makeCampaignWorld()
  const { world, start, dial, leg, end, ask } = campaigns
  const id = await start([ANN], { caps: { per_day: 1 } })
  await dial()
  world.media.pickUp(leg(ANN)!.legId)
  await world.settle()
  await end(ANN, 'caller_hangup')
  await dial()
  assert.is((await ask(`GET /v1/campaigns/${id}`)).status, 'completed')
  await campaigns.close()
})

test('a campaign is not completed while its last contact is called, however many were left out before', async () => {
  const campaigns = await makeCampaignWorld()
  const { start, dial, end, dialled, ask } = campaigns
  const numbers = Array.from({ length: MAX_LOOKED_AT - 1 }, (_, i) => `+1415555${1000 + i}`)
  for (const phone of numbers) await ask('POST /v1/do_not_call', { phone })
  const id = await start([...numbers, ANN], { max_attempts: 1 })
  const status = async () => (await ask(`GET /v1/campaigns/${id}`)).status
  await dial()
  assert.equal([dialled(), await status()], [[ANN], 'running'])
  await end(ANN, 'caller_hangup')
  await dial()
  assert.is(await status(), 'completed')
  await campaigns.close()
})

test('a node that is draining calls nobody: another one does', async () => {
  const { start, look, dial, dialled, close } = await makeCampaignWorld()
  await start([ANN])
  await look(true)
  assert.equal(dialled(), [])
  await dial()
  assert.equal(dialled(), [ANN])
  await close()
})

test('who is busy is called again after the time set for it, who does not answer after another, each as often as set', async () => {
  const campaigns = await makeCampaignWorld()
  const { start, dial, end, later, contact, dialled } = campaigns
  const id = await start([ANN, BOB], { max_attempts: 2, retry_minutes: { busy: 10, no_answer: 30 } })
  await dial()
  await end(ANN, 'busy')
  await end(BOB, 'no_answer')
  await later(9 * MINUTE)
  // Calls are dialled beside each other.
  assert.equal(dialled().toSorted(), [ANN, BOB])
  await later(MINUTE)
  assert.equal(dialled().slice(2), [ANN])
  await end(ANN, 'busy')
  assert.equal([(await contact(ANN)).status, (await contact(ANN)).last_result], ['failed', 'busy'])
  await later(20 * MINUTE)
  assert.equal(dialled().slice(2), [ANN, BOB])
  await end(BOB, 'not_found')
  assert.equal([(await contact(BOB)).status, (await contact(BOB)).last_result], ['failed', 'invalid_number'])
  await later(0)
  assert.is((await campaigns.ask(`GET /v1/campaigns/${id}`)).status, 'completed')
  await campaigns.close()
})

test("contacts are called in the allowed hours of their own time zone, or of the campaign's", async () => {
  const campaigns = await makeCampaignWorld()
  const { ask, dial, later, dialled, contact } = campaigns
  // Saturday, 21 November 2026, 10:00 UTC.
  const weekly = [{ day: 'saturday', open: '09:00', close: '17:00' }]
  const { id } = await ask('POST /v1/campaigns', {
    name: 'Hours',
    assistant_id: (await ask('POST /v1/assistants', { name: 'A' })).id,
    timezone: 'America/New_York',
    allowed_hours: { weekly },
  })
  await ask(`POST /v1/campaigns/${id}/contacts`, {
    contacts: [{ phone: ANN }, { phone: BOB, timezone: 'Europe/Paris' }],
  })
  await ask(`POST /v1/campaigns/${id}/start`)
  await dial()
  assert.equal(dialled(), [BOB])
  assert.is((await contact(ANN)).next_attempt_at, '2026-11-21T14:00:00.000Z')
  await later(4 * HOUR)
  assert.equal(dialled(), [BOB, ANN])
  await campaigns.close()
})

test('a campaign has no more calls at once, in a second and in a day than it may, and one number no more than its caps', async () => {
  const campaigns = await makeCampaignWorld()
  const { start, dial, end, later, dialled, ask, contact } = campaigns
  const many = Array.from({ length: 9 }, (_, i) => `+1415555020${i}`)
  const id = await start(many, { max_concurrent: 3, calls_per_second: 2, caps: { per_day: 5 } })
  await dial()
  const first = dialled().length
  assert.ok(first <= 2, String(first))
  await later(500)
  await later(500)
  assert.is(dialled().length, 3)
  await later(5000)
  assert.is(dialled().length, 3)
  for (const phone of dialled()) await end(phone, 'caller_hangup')
  await later(1000)
  await later(1000)
  await later(1000)
  assert.is(dialled().length, 5)
  await ask(`POST /v1/campaigns/${id}/stop`)
  await start([many[0]!], { caps: { per_number_per_day: 1, per_number_per_week: 1 }, max_attempts: 1 })
  await dial()
  assert.is(dialled().length, 5)
  const rows = await campaigns.world.store.db
    .selectFrom('campaign_contacts')
    .select('next_attempt_at')
    .where('phone', '=', many[0]!)
    .where('attempts', '=', 0)
    .execute()
  assert.ok((rows[0]?.next_attempt_at ?? '') >= '2026-11-28T10:00:00', JSON.stringify(rows))
  assert.is((await contact(many[0]!)).phone, many[0])
  await campaigns.close()
})

test('paused, nobody is called; stopped, what runs finishes; who stands on the do-not-call list is excluded', async () => {
  const campaigns = await makeCampaignWorld()
  const { world, start, dial, end, ask, answer, later, dialled, contact } = campaigns
  const id = await start([ANN, BOB, CYD], { max_concurrent: 1 })
  await ask('POST /v1/do_not_call', { phone: BOB })
  await dial()
  assert.equal(dialled(), [ANN])
  await ask(`POST /v1/campaigns/${id}/pause`)
  await end(ANN, 'caller_hangup')
  await later(1000)
  assert.equal(dialled(), [ANN])
  assert.is((await answer(`POST /v1/campaigns/${id}/start`)).body.error.details.reason, 'campaign_paused')
  await ask(`POST /v1/campaigns/${id}/resume`)
  await dial()
  assert.equal(dialled(), [ANN, CYD])
  assert.equal([(await contact(BOB)).status, (await contact(BOB)).last_result], ['excluded', 'do_not_call'])
  assert.is((await ask(`POST /v1/campaigns/${id}/stop`)).status, 'stopping')
  const { id: contactId } = await contact(CYD)
  assert.is((await answer(`DELETE /v1/campaigns/${id}/contacts/${contactId}`)).status, 409)
  world.media.pickUp(campaigns.leg(CYD)!.legId)
  await world.settle()
  await end(CYD, 'caller_hangup')
  await dial()
  assert.is((await ask(`GET /v1/campaigns/${id}`)).status, 'stopped')
  assert.is((await contact(CYD)).status, 'completed')
  assert.is((await ask(`POST /v1/campaigns/${id}/archive`)).status, 'archived')
  assert.is((await answer(`PATCH /v1/campaigns/${id}`, { name: 'Again' })).status, 409)
  const csv = (await answer(`GET /v1/campaigns/${id}/results`)).text.trim().split('\r\n')
  assert.equal([csv.length, csv[2]?.split(',').slice(1, 6)], [4, [BOB, '', 'excluded', '0', 'do_not_call']])
  await campaigns.close()
})

test('calls are from the number of the pool that is most like the number called, else in turn', async () => {
  const campaigns = await makeCampaignWorld()
  const { ask, answer, start, dial, attempts } = campaigns
  const pool = ['+14155559001', '+12125559002', '+442075559003']
  const refused = await answer('POST /v1/campaigns', { name: 'X', caller_ids: pool })
  assert.equal([refused.status, refused.body.error.param], [400, 'caller_ids[0]'])
  for (const number of pool) await ask('POST /v1/phone_numbers', { number })
  await start([ANN, CYD, '+442075550100', '+33140000000'], { caller_ids: pool, local_presence: true })
  await dial()
  const froms = (await attempts()).map(({ phone, from_number }) => [phone, from_number])
  assert.equal(froms.slice(0, 3), [
    [ANN, pool[0]],
    [CYD, pool[1]],
    ['+442075550100', pool[2]],
  ])
  assert.ok(pool.includes(froms[3]?.[1] ?? ''))
  await campaigns.close()
})

test('where a consent is demanded, only who has given one is called', async () => {
  const campaigns = await makeCampaignWorld()
  const { ask, start, dial, dialled, contact } = campaigns
  const evidence = { type: 'form', url: 'https://example.com/form' }
  await ask('POST /v1/consents', { phone: ANN, purpose: 'marketing', evidence })
  await start([ANN, BOB], { require_consents: ['marketing'] })
  await dial()
  assert.equal(dialled(), [ANN])
  assert.equal([(await contact(BOB)).status, (await contact(BOB)).last_result], ['excluded', 'no_consent'])
  await campaigns.close()
})

test('numbers that come twice are counted, those that are none are named, and the others are added', async () => {
  const campaigns = await makeCampaignWorld()
  const { ask } = campaigns
  await ask('PATCH /v1/organisation', { country: 'US' })
  const { id } = await ask('POST /v1/campaigns', { name: 'Contacts' })
  const contacts = [
    { phone: ANN },
    { phone: '(415) 555-0101' },
    { phone: 'nobody' },
    { phone: BOB, timezone: 'Mars/Olympus' },
    { phone: CYD, metadata: { order: '7' } },
  ]
  const first = await ask(`POST /v1/campaigns/${id}/contacts`, { contacts })
  assert.equal([first.added, first.duplicates], [2, 1])
  assert.equal(
    first.errors.map(({ index, param }: { index: number; param: string }) => [index, param]),
    [
      [2, 'phone'],
      [3, 'timezone'],
    ],
  )
  const again = await ask(`POST /v1/campaigns/${id}/contacts`, { contacts })
  assert.equal([again.added, again.duplicates], [0, 3])
  assert.is((await ask(`GET /v1/campaigns/${id}/contacts?phone=%2B12125550103`)).data[0].metadata.order, '7')
  await campaigns.close()
})

test('a contact whose number no connection takes out waits for one, and has had no attempt; without any a campaign does not start', async () => {
  const { world, ask, answer, start, dial, later, dialled, contact, close } = await makeCampaignWorld()
  const { id: trunk } = (await ask('GET /v1/connections')).data[0]
  await ask(`PATCH /v1/connections/${trunk}`, { rates: [{ prefix: '+44', cost: 1 }] })
  const id = await start([ANN, '+442071838750'])
  await dial()
  assert.equal(dialled(), ['+442071838750'])
  const { status, attempts, last_result } = await contact(ANN)
  assert.equal([status, attempts, last_result], ['pending', 0, null])
  await ask(`PATCH /v1/connections/${trunk}`, { rates: [] })
  await later(MINUTE)
  assert.equal(dialled(), ['+442071838750', ANN])
  await ask(`POST /v1/campaigns/${id}/pause`)
  await ask(`PATCH /v1/connections/${trunk}`, { enabled: false })
  const refused = await answer(`POST /v1/campaigns/${id}/resume`)
  assert.equal([refused.status, refused.body.error.details.reason], [409, 'no_connection'])
  await ask(`PATCH /v1/connections/${trunk}`, { enabled: true })
  await ask(`POST /v1/campaigns/${id}/resume`)
  assert.is((await forTenant(world.store.db, world.tenant).select('campaign_attempts').selectAll().execute()).length, 2)
  await close()
})

test('control that dies at any command has lost no contact, and nobody is called twice', async () => {
  const campaigns = await makeCampaignWorld()
  const { world, start, dial, later, dialled, attempts, end } = campaigns
  let expected: string[] = []
  for (let commands = 0.5; commands <= 3.5; commands += 0.5) {
    const numbers = [1, 2, 3].map(n => `+1415555${commands * 10}0${n}`.padEnd(12, '0'))
    await start(numbers)
    world.killAfter(commands)
    await dial()
    await later(1000)
    expected = [...expected, ...numbers]
    assert.equal(dialled().toSorted(), expected.toSorted(), `killed after ${commands}`)
    for (const phone of numbers) await end(phone, 'rejected')
  }
  const results = (await attempts()).map(({ result }) => result)
  assert.equal(
    results,
    expected.map(() => 'rejected'),
  )
  await campaigns.close()
})

test.run()
