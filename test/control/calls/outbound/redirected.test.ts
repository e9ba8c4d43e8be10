import * as assert from 'uvu/assert'
import { forTenant } from '../../../../control/kernel/tenancy.ts'
import { suite } from '../../../harness.ts'
import { makeCampaignWorld } from '../../campaigns/campaign-world.ts'

const test = suite('control/calls/outbound/redirected')

const CALLED = '+14155550101'
const BLOCKED = '+14155550166'
const OPEN = '+14155550177'

/** A call that is on its way over the trunk. */
async function ringing(connection: object = {}) {
  const campaigns = await makeCampaignWorld()
  const { world, ask, start, dial, leg } = campaigns
  const [{ id }] = (await ask('GET /v1/connections')).data
  const { store } = world
  await ask('POST /v1/do_not_call', { phone: BLOCKED })
  await start([CALLED], { retry_minutes: { failed: null } })
  await dial()
  const { legId } = leg(CALLED)!
  await ask(`PATCH /v1/connections/${id}`, { follow_redirects: true, ...connection })
  /** Whom media was told that it may call. */
  const redirect = async (...named: string[]): Promise<string[]> => {
    world.media.redirect(legId, named, id)
    await world.settle()
    const answers = world.media.handled.filter(({ name }) => name === 'leg.redirect_answer')
    return (answers.at(-1)!.body as { to: string[] }).to
  }
  const reason = async () => (await world.events('call.ended'))[0]?.object.ended_reason
  return { ...campaigns, legId, redirect, reason, tenant: forTenant(store.db, world.tenant) }
}

test('of those whom a far end names (3xx) who is on the do-not-call list is not dialled, however it is written; the others are', async () => {
  const { redirect, close, reason } = await ringing({
    number_format: 'national',
    number_country: 'US',
    dial_prefix: '9',
  })
  const ways = [BLOCKED, '%2B14155550166', '14155550166', '4155550166', '914155550166', '94155550166', '9+14155550166']
  const named = ways.map(user => `sip:${user}@far.example.com`)
  for (const uri of named) {
    const open = `sip:${OPEN}@far.example.com`
    assert.equal(await redirect(uri, open), [open], uri)
  }
  assert.equal(await redirect('sip:reception@far.example.com'), ['sip:reception@far.example.com'])
  assert.is(await reason(), undefined, 'it goes on')
  await close()
})

test('when none of them may be called the call ends as `redirect_refused`, and the contact has failed', async () => {
  const { redirect, reason, contact, close, world } = await ringing()
  assert.equal(await redirect(`sip:${BLOCKED}@far.example.com`), [])
  assert.is(await reason(), 'redirect_refused')
  assert.is((await world.events('call.ended'))[0]!.object.sip_code, 302)
  assert.equal([(await contact(CALLED)).status, (await contact(CALLED)).last_result], ['failed', 'failed'])
  await close()
})

test('a connection with rates takes only those who have one, and one whose organisation demands consents only those who gave it', async () => {
  const rated = await ringing({ rates: [{ prefix: '+1415', cost: 1 }] })
  const dear = 'sip:+881600000001@far.example.com'
  const cheap = `sip:${OPEN}@far.example.com`
  assert.equal(await rated.redirect(dear, cheap), [cheap])
  for (const user of ['00881600000001', '881600000001', '%2B881%20600%20000%20001', '881600000001%23']) {
    assert.equal(await rated.redirect(`sip:${user}@far.example.com`, cheap), [cheap], user)
  }
  await rated.ask('PATCH /v1/organisation', { require_consent: ['call'] })
  assert.equal(await rated.redirect(cheap), [])
  await rated.close()
})

test('nobody is dialled for a call whose organisation was suspended since', async () => {
  const { redirect, reason, world, close } = await ringing()
  const { store, ours, theirs } = world
  const partner = forTenant(store.db, { organisationId: theirs.organisationId, livemode: true })
  const times = { created: '2026-11-21T09:00:00.000Z', updated: '2026-11-21T09:00:00.000Z' }
  const client = { id: ours.organisationId, name: 'Client', suspended: 1, limits: '{}', limits_reached: null }
  await partner.insert('partner_organisations', { ...client, ...times })
  assert.equal(await redirect(`sip:${OPEN}@far.example.com`), [])
  assert.is(await reason(), 'capacity')
  await close()
})

test.run()
