import * as assert from 'uvu/assert'
import { applyToLeg, endLeg, insertParty, loadLeg } from '../../../control/calls/records.ts'
import { onAnswered } from '../../../control/calls/steps/decide.ts'
import { newId } from '../../../control/kernel/ids.ts'
import { ownedBy } from '../../../control/kernel/tenancy.ts'
import { suite } from '../../harness.ts'
import { START } from '../app-harness.ts'
import { makeCall, makerOf } from '../conformance/objects.ts'
import { makeProduct } from '../conformance/product.ts'

const test = suite('control/organisation/usage-routes')

const world = await makeProduct()

test('GET /usage counts by day of UTC what began in it, in this mode, and how long calls lasted', async () => {
  const maker = makerOf(world)
  const key = world.ours.keys.live
  const at = async (created: string, seconds: number) => {
    const ends = {
      callId: newId('call'),
      legId: newId('participant'),
      direction: 'inbound' as const,
      to: '1',
      from: '2',
    }
    const kind = { target: 'echo' as const, roomId: null, connectionId: null, metadata: {} }
    const party = { ...ends, ...kind, role: 'member' as const, muted: false }
    await world.store.transaction(async trx => {
      await insertParty(trx, maker.tenant, party, created)
      const rows = await loadLeg(trx, ends.legId)
      const answered = await applyToLeg(trx, rows!, onAnswered(rows!, created), created)
      const end = { reason: 'caller_hangup' as const, sipCode: null, quality: null, durationMs: seconds * 1000 }
      await endLeg(trx, answered, end, new Date(Date.parse(created) + seconds * 1000).toISOString())
    })
  }
  await at('2026-11-19T23:59:59.999Z', 90)
  await at('2026-11-20T00:00:00.000Z', 30.4)
  await at('2026-11-20T23:00:00.000Z', 7200)
  await makeCall(makerOf(world, 'ours', false))
  await world.ask('POST /v1/callbacks', { key, body: { phone: '+14155550100' } })
  const { body } = await world.ask('GET /v1/usage?from=2026-11-19T12:00:00%2B02:00', { key })
  assert.equal(
    body.data.map((day: Record<string, { count: number; seconds: number }>) => [
      day.from,
      day.to,
      day.calls?.count,
      day.calls?.seconds,
      day.callbacks?.count,
    ]),
    [
      ['2026-11-19T10:00:00.000Z', '2026-11-20T00:00:00.000Z', 1, 90, 0],
      ['2026-11-20T00:00:00.000Z', '2026-11-21T00:00:00.000Z', 2, 7230, 0],
      ['2026-11-21T00:00:00.000Z', START.toISOString(), 0, 0, 0],
    ],
  )
  world.clock.advance(1)
  const month = (await world.ask('GET /v1/usage?granularity=month', { key })).body
  assert.is(month.from, '2026-11-01T00:00:00.000Z')
  assert.equal([month.data.length, month.data[0].calls.count, month.data[0].callbacks.count], [1, 3, 1])
})

test('models of a month up to a midnight are without the day that begins then, and costs are added as amounts of money are', async () => {
  const { tenant } = makerOf(world)
  const row = {
    ...ownedBy(tenant),
    purpose: 'call_summary' as const,
    is_priced: 1 as const,
    input_tokens: 1,
    output_tokens: 1,
  }
  for (const [day, model, cost_micros] of [
    ['2026-10-13', 'a', 100_000],
    ['2026-10-13', 'b', 200_000],
    ['2026-10-14', 'a', 400_000],
  ] as const)
    await world.store.db
      .insertInto('model_usage')
      .values({ ...row, day, model, cost_micros })
      .execute()
  const key = world.ours.keys.live
  const upTo = async (to: string) => {
    const path = `GET /v1/usage?granularity=month&from=2026-10-01T00:00:00Z&to=${to}`
    return (await world.ask(path, { key })).body.data[0].models
  }
  const { purposes: _, ...before } = await upTo('2026-10-14T00:00:00Z')
  assert.equal(before, { input_tokens: 2, output_tokens: 2, cost: 0.3 })
  assert.is((await upTo('2026-10-14T00:00:00.001Z')).input_tokens, 3)
})

test('a time without end, or more days than an answer holds, is refused', async () => {
  const ask = async (query: string) =>
    (await world.ask(`GET /v1/usage?${query}`, { key: world.ours.keys.live })).body.error
  assert.is((await ask('from=2026-11-22T00:00:00Z')).param, 'to')
  assert.is((await ask('from=2020-11-22T00:00:00Z')).param, 'from')
  assert.is((await ask('from=yesterday')).param, 'from')
  assert.is((await ask('granularity=year')).param, 'granularity')
})

test.after(world.close)
test.run()
