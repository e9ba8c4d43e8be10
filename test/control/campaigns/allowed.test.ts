import * as assert from 'uvu/assert'
import { whenAllowed } from '../../../control/campaigns/allowed.ts'
import { suite } from '../../harness.ts'
import { HOUR, makeCampaignWorld } from './campaign-world.ts'

const test = suite('control/campaigns/allowed')
const [ANN, BOB] = ['+14155550101', '+14155550102']
const NO_CAPS = { per_number_per_day: null, per_number_per_week: null }
const DAILY = (['saturday', 'sunday', 'monday'] as const).map(day => ({ day, open: '09:00', close: '17:00' }))

const allowedFrom = (from: string, timezone: string, weekly = DAILY): string | undefined => {
  const hours = { hours: { weekly, holidays: [] }, timezone }
  return whenAllowed({ hours, caps: NO_CAPS, calls: [] }, Date.parse(from))?.toISOString()
}

test('allowed hours keep the wall clock of the contact when summer time begins, and when it ends', () => {
  const york = 'America/New_York'
  // Saturday evening; on Sunday, 14 March 2027, clocks there go from 2 to 3.
  assert.is(allowedFrom('2027-03-13T23:00:00.000Z', york), '2027-03-14T13:00:00.000Z')
  assert.is(allowedFrom('2027-03-12T23:00:00.000Z', york), '2027-03-13T14:00:00.000Z')
  // In the last hour of Sunday: 16:30 there.
  assert.is(allowedFrom('2027-03-14T20:30:00.000Z', york), '2027-03-14T20:30:00.000Z')
  assert.is(allowedFrom('2027-03-14T21:00:00.000Z', york), '2027-03-15T13:00:00.000Z')
  // On Sunday, 7 November 2027, they go back.
  assert.is(allowedFrom('2027-11-06T23:00:00.000Z', york), '2027-11-07T14:00:00.000Z')
  assert.is(allowedFrom('2027-11-07T13:30:00.000Z', york), '2027-11-07T14:00:00.000Z')
  // South of the equator it is the other way round: on 3 October 2027 Sydney goes from 2 to 3.
  assert.is(allowedFrom('2027-10-02T12:00:00.000Z', 'Australia/Sydney'), '2027-10-02T22:00:00.000Z')
})

test('hours that begin or end in the hour that clocks leave out do so when clocks go on', () => {
  const allowed = (from: string, open: string, close: string) =>
    allowedFrom(from, 'America/New_York', [{ day: 'sunday', open, close }] as never)
  assert.is(allowed('2027-03-14T05:00:00.000Z', '02:30', '05:00'), '2027-03-14T07:00:00.000Z')
  assert.is(allowed('2027-03-14T06:59:00.000Z', '00:00', '02:30'), '2027-03-14T06:59:00.000Z')
  assert.is(allowed('2027-03-14T07:15:00.000Z', '00:00', '02:30'), '2027-03-21T04:00:00.000Z', 'it is 3:15 there')
})

test('a campaign that runs while clocks change calls each at nine o’clock of their own', async () => {
  const campaigns = await makeCampaignWorld()
  const { world, start, dial, dialled, later, contact } = campaigns
  world.clock.advance(Date.parse('2027-03-13T23:00:00.000Z') - world.clock.now().getTime())
  await start([ANN], { timezone: 'America/New_York', allowed_hours: { weekly: DAILY } })
  const phoenix = await start([BOB], { timezone: 'America/Phoenix', allowed_hours: { weekly: DAILY } })
  assert.ok(phoenix)
  await dial()
  // Five hours behind before, four now; Arizona has no summer time, and it is four in the afternoon there.
  assert.equal([dialled(), (await contact(ANN)).next_attempt_at], [[BOB], '2027-03-14T13:00:00.000Z'])
  await later(14 * HOUR - 1)
  assert.equal(dialled(), [BOB])
  await later(1)
  assert.equal(dialled(), [BOB, ANN])
  await campaigns.close()
})

test('a cap on calls to one number counts those of all campaigns, and a number that one calls no other calls meanwhile', async () => {
  const campaigns = await makeCampaignWorld()
  const { start, dial, dialled, end, later } = campaigns
  const settings = {
    caps: { per_number_per_day: 2, per_number_per_week: null },
    max_attempts: 5,
    retry_minutes: { busy: 1 },
  }
  await start([ANN], settings)
  await start([ANN], settings)
  await dial()
  assert.equal(dialled(), [ANN])
  await end(ANN, 'busy')
  await later(HOUR)
  assert.equal(dialled(), [ANN, ANN])
  await end(ANN, 'busy')
  await later(20 * HOUR)
  assert.is(dialled().length, 2)
  // A day after the first of them.
  await later(4 * HOUR)
  assert.is(dialled().length, 3)
  await campaigns.close()
})

test('a contact is not called before its own time, nor on a holiday of the campaign; it rings for as long as is set', async () => {
  const campaigns = await makeCampaignWorld()
  const { world, ask, start, dial, dialled, later } = campaigns
  // Saturday, 21 November 2026, 10:00 UTC.
  const id = await start([BOB], {
    timezone: 'UTC',
    allowed_hours: { weekly: DAILY, holidays: ['2026-11-21'] },
    ring_timeout_s: 7,
  })
  const not_before = '2026-11-22T10:30:00+00:00'
  await ask(`POST /v1/campaigns/${id}/contacts`, { contacts: [{ phone: ANN, not_before }] })
  await dial()
  assert.equal(dialled(), [])
  await later(23 * HOUR)
  assert.equal(dialled(), [BOB])
  await later(1.5 * HOUR - 1)
  assert.equal(dialled(), [BOB])
  await later(1)
  assert.equal(dialled(), [BOB, ANN])
  const dials = world.media.handled.filter(({ name }) => name === 'leg.dial')
  assert.equal(
    dials.map(({ body }) => (body as { timeoutS: number }).timeoutS),
    [7, 7],
  )
  await campaigns.close()
})

test('settings that would have no effect are refused: of another mode, or of agents without a queue', async () => {
  const campaigns = await makeCampaignWorld()
  const { world, answer, ask } = campaigns
  const queue_id = await world.addQueue()
  for (const [body, param] of [
    [{ mode: 'predictive' }, 'queue_id'],
    [{ mode: 'preview' }, 'queue_id'],
    [{ claim_seconds: 60 }, 'claim_seconds'],
    [{ mode: 'predictive', queue_id, claim_seconds: 60 }, 'claim_seconds'],
    [{ queue_id, abandoned_limit_pct: 1 }, 'abandoned_limit_pct'],
  ] as const) {
    const refused = await answer('POST /v1/campaigns', { name: 'X', ...body })
    assert.equal([refused.status, refused.body.error.param], [400, param], JSON.stringify(body))
  }
  const { id, ...made } = await ask('POST /v1/campaigns', {
    ...{ name: 'X', queue_id, mode: 'predictive', abandoned_limit_pct: 1 },
  })
  assert.equal([made.abandoned_limit_pct, made.claim_seconds], [1, 120])
  const changed = await ask(`PATCH /v1/campaigns/${id}`, { mode: 'preview', abandoned_limit_pct: 1, claim_seconds: 60 })
  assert.equal([changed.mode, changed.abandoned_limit_pct, changed.claim_seconds], ['preview', 1, 60])
  assert.is((await answer(`PATCH /v1/campaigns/${id}`, { abandoned_limit_pct: 2 })).status, 400)
  await campaigns.close()
})

test.run()
