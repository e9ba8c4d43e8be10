import * as assert from 'uvu/assert'
import { rateAllows, startOf } from '../../../control/campaigns/pacing.ts'
import { suite } from '../../harness.ts'
import { numbers } from './campaign-rows.ts'
import { HOUR, makeCampaignWorld } from './campaign-world.ts'

const test = suite('control/campaigns/pacing')

/** When calls go out of a campaign that has always somebody to call, whose diallers look at these times. */
function starts(perSecond: number, looks: readonly number[]): number[] {
  const all: number[] = []
  let nextCallMs = 0
  for (const nowMs of looks) {
    const rate = { nextCallMs, perSecond, nowMs }
    const calls = rateAllows(rate)
    for (let n = 0; n < calls; n++) all.push(startOf(rate, n))
    if (calls > 0) nextCallMs = startOf(rate, calls)
  }
  return all
}

/** Within any second, its end counted in. */
const mostInASecond = (times: readonly number[]): number =>
  Math.max(...times.map((from, n) => times.slice(n, n + 200).filter(at => at <= from + 1000).length))

/** Two nodes, each four times a second, that are now and then late; after a minute both pause for two seconds. */
const looks = Array.from({ length: 1000 }, (_, n) => {
  const late = n % 7 === 0 ? 180 : (n * 37) % 50
  return Math.floor(n / 2) * 250 + (n % 2) * 90 + late + (n > 480 ? 2000 : 0)
}).toSorted((a, b) => a - b)

for (const perSecond of [0.1, 0.7, 1, 2.5, 3, 30, 50]) {
  test(`of a campaign of ${perSecond} calls a second no second has more, and hardly fewer go out`, () => {
    const times = starts(perSecond, looks)
    assert.ok(mostInASecond(times) <= Math.ceil(perSecond), `${mostInASecond(times)} in a second`)
    const seconds = (times.at(-1)! - times[0]!) / 1000 - 2
    assert.ok(times.length - 1 >= 0.9 * perSecond * seconds, `${times.length} in ${seconds} s`)
    assert.equal(
      times,
      times.toSorted((a, b) => a - b),
    )
  })
}

test('the calls that a campaign writes down together are dialled one after the other, as its rate says, and media is told what it is', async () => {
  const campaigns = await makeCampaignWorld()
  const { world, start, later, attempts } = campaigns
  const id = await start(
    Array.from({ length: 9 }, (_, n) => `+1415555020${n}`),
    { calls_per_second: 5 },
  )
  const told: { atMs: number; pace: object | undefined }[] = []
  const begunMs = world.clock.now().getTime()
  const { carryOut } = world.media
  world.media.carryOut = ((name: string, body: { delayMs?: number; pace?: object }) => {
    const atMs = world.clock.now().getTime() - begunMs + (body.delayMs ?? 0)
    if (name === 'leg.dial') told.push({ atMs, pace: body.pace })
    return carryOut.call(world.media, name as never, body as never)
  }) as never
  for (let n = 0; n < 10; n++) await later(250)
  const at = told.map(({ atMs }) => atMs).toSorted((a, b) => a - b)
  assert.is(at.length, 9)
  for (const [n, ms] of at.entries()) if (n > 0) assert.ok(ms - at[n - 1]! >= 210, at.join())
  assert.ok(mostInASecond(at) <= 5, at.join())
  assert.equal(told[0]?.pace, { id, callsPerSecond: 5 })
  const began = (await attempts()).map(({ started_at }) => Date.parse(started_at) - begunMs).toSorted((a, b) => a - b)
  assert.equal(began, at)
  const contacts = await world.store.db.selectFrom('campaign_contacts').select('last_attempt_at').execute()
  const last = contacts.map(row => Date.parse(row.last_attempt_at ?? '') - begunMs).toSorted((a, b) => a - b)
  assert.equal(last, at, 'a contact has its last attempt when its call goes out')
  await campaigns.close()
})

test('a campaign goes on at its rate when the clock is set back by an hour', async () => {
  const campaigns = await makeCampaignWorld()
  const { world, start, dial, later, dialled } = campaigns
  await start(numbers(9), { calls_per_second: 2 })
  await dial()
  const before = dialled().length
  assert.ok(before > 0 && before < 9, String(before))
  // They have been due for long.
  const due = { next_attempt_at: '2026-11-01T10:00:00.000Z' }
  await world.store.db.updateTable('campaign_contacts').set(due).where('status', '=', 'pending').execute()
  world.clock.set(-HOUR)
  for (let n = 0; n < 4; n++) await later(500)
  assert.ok(dialled().length >= before + 3 && dialled().length <= before + 6, dialled().join())
  await campaigns.close()
})

test.run()
