import * as assert from 'uvu/assert'
import { newId } from '../../../control/kernel/ids.ts'
import { forTenant, type Tenant } from '../../../control/kernel/tenancy.ts'
import { InsightDays } from '../../../control/quality/insights/build-days.ts'
import { callsOf, daysBy, dimensionsOf, grouping, type Only } from '../../../control/quality/insights/gather.ts'
import { gatherInsights } from '../../../control/quality/insights/insights.ts'
import { GROUPS, type GroupBy } from '../../../control/quality/insights/schema.ts'
import { Tally } from '../../../control/quality/insights/tally.ts'
import { Themes } from '../../../control/quality/insights/themes.ts'
import type { Period } from '../../../control/quality/period.ts'
import { periodBefore } from '../../../control/quality/period.ts'
import { removeEvaluation, removeSummary } from '../../../control/quality/removal.ts'
import { Random } from '../../fuzz/random.ts'
import { suite } from '../../harness.ts'
import { makeCall, makerOf, makeUser } from '../conformance/objects.ts'
import { makeProduct, type ProductWorld } from '../conformance/product.ts'

const test = suite('control/quality/insight-days')

const DAY_MS = 86_400_000
const DAYS = 6
const WORDS = ['router', 'invoice', 'price', 'speed', 'move']

let world: ProductWorld
let tenant: Tenant
let template: Record<string, unknown>
let timezone = 'UTC'
let days: InsightDays
const users: (string | null)[] = [null]
const queues = [null, 'queue_a', 'queue_b']
const profiles = [null, 'copp_a', 'copp_b']

test.before(async () => {
  world = await makeProduct()
  const maker = makerOf(world)
  tenant = maker.tenant
  for (let i = 0; i < 2; i++) users.push((await makeUser(maker)).id ?? null)
  const { id = '' } = await makeCall(maker, { ended: true })
  template = (await forTenant(world.store.db, tenant).find('calls', id)) as never
  await world.store.db.deleteFrom('calls').where('id', '=', id).execute()
  const clock = { now: world.clock.now, timezoneOf: async () => timezone }
  days = new InsightDays({ store: world.store, ...clock, budgetMs: Number.POSITIVE_INFINITY })
})
test.after(() => world.close())

/** Twice: what has not changed since the run before is kept. */
async function keep(): Promise<void> {
  await days.run()
  await days.run()
}

type Pick = <T>(from: readonly T[]) => T
const first: Pick = from => from[0]!

const at = (below: (n: number) => number): string =>
  new Date(world.clock.now().getTime() - DAYS * DAY_MS + below(DAYS * DAY_MS)).toISOString()

async function addCall(pick: Pick, created: string): Promise<string> {
  const id = newId('call')
  const { organisation_id: _o, livemode: _l, ...columns } = template
  const answered_at = pick([null, created])
  const of = { user_id: pick(users), queue_id: pick(queues), duration_ms: pick([4000, 61_500, 333]), answered_at }
  await forTenant(world.store.db, tenant).insert('calls', {
    ...columns,
    ...of,
    id,
    created,
    ended_at: created,
  } as never)
  return id
}

const counted = (pick: Pick): string =>
  JSON.stringify({
    talk_ratio: pick([null, 0.333, 0.5, 0.77]),
    sentiment: pick([null, -0.41, 0.12, 1]),
    profile_id: pick(profiles),
    objections: pick([[], [{ key: 'price', label: pick(['Price', 'Too dear']), answered: pick([true, false]) }]]),
    disclosures: pick([[], [{ key: 'recorded', label: 'Recorded', is_said: pick([true, false]) }]]),
    disposition: pick([null, 'booked', 'lost']),
    reasons: [pick(WORDS)],
    topics: [...new Set([pick(WORDS), pick(WORDS)])],
  })

const criteria = (pick: Pick): string =>
  JSON.stringify([
    { key: 'greeting', label: pick(['Greets', 'Says hello']), score: pick([0, 33.3, 100]), outcome: 'scored' },
    { key: 'tone', label: 'Tone', score: null, outcome: pick(['needs_model', 'not_applicable']) },
  ])

async function addSummary(pick: Pick, id: string, created: string): Promise<void> {
  await forTenant(world.store.db, tenant).insert('call_summaries', {
    ...{ id, call_at: created, summary: '{}', corrected: '{}', figures: '{}', counted: counted(pick) },
    ...{ corrected_at: null, corrected_by: null, created, updated: created },
  })
}

async function addEvaluation(pick: Pick, callId: string, created: string): Promise<void> {
  await forTenant(world.store.db, tenant).insert('qa_evaluations', {
    ...{ id: newId('qa_evaluation'), call_id: callId, call_at: created, user_id: null, queue_id: null },
    ...{ profile_id: null, profile_version: null, rubric: 'organisation', status: 'scored', review: 'none' },
    ...{ score: pick([null, 12.5, 66.667]), criteria: criteria(pick), failures: '[]', reviews: '[]', history: '[]' },
    ...{ created, updated: created },
  })
}

/** By the calls alone, without anything that is kept. */
async function direct(period: Period, by: GroupBy, only: Only) {
  const groupOf = await grouping(world.store.db, tenant, by)
  const [total, themes, earlier] = [new Tally(), new Themes(), new Themes()]
  const groups = new Map<string | null, Tally>()
  for await (const call of callsOf(world.store.db, tenant, period, only)) {
    total.add(call)
    themes.add(call)
    const key = groupOf(dimensionsOf(call, daysBy(timezone)))
    const group = groups.get(key) ?? new Tally()
    groups.set(key, group)
    group.add(call)
  }
  const before = new Tally()
  for await (const call of callsOf(world.store.db, tenant, periodBefore(period), only)) {
    before.add(call)
    earlier.add(call)
  }
  const shown = [...groups].map(([key, group]) => [key, group.measures] as const)
  return {
    total: total.measures,
    before: before.measures,
    groups: new Map(by === 'none' ? [] : shown),
    ...themes.shown(earlier),
  }
}

async function compare(period: Period, by: GroupBy, only: Only): Promise<void> {
  const told = await gatherInsights(world.store.db, tenant, { period, by, timezone, only })
  const { total, before, reasons, topics, objections, disclosures, criteria: scored } = told
  const groups = new Map(told.groups.map(({ key, label: _, ...measures }) => [key, measures]))
  const wanted = await direct(period, by, only)
  assert.equal({ total, before, groups, reasons, topics, objections, disclosures, criteria: scored }, wanted)
}

test(
  'what is kept of days tells the same as the calls, whatever has been added, corrected, handed on or deleted meanwhile',
  async () => {
    const source = new Random(20261122)
    const below = (most: number): number => source.int(most)
    const pick: Pick = from => source.pick(from)
    const ids: { id: string; created: string }[] = []
    const scoped = forTenant(world.store.db, tenant)
    const changes = [
      async () => {
        const created = at(below)
        const id = await addCall(pick, created)
        ids.push({ id, created })
        if (below(4) > 0) await addSummary(pick, id, created)
        if (below(2) > 0) await addEvaluation(pick, id, created)
      },
      () =>
        scoped
          .update('call_summaries')
          .set({ counted: counted(pick) })
          .where('id', '=', pick(ids).id)
          .execute(),
      () =>
        scoped
          .update('qa_evaluations')
          .set({ criteria: criteria(pick) })
          .where('call_id', '=', pick(ids).id)
          .execute(),
      () =>
        scoped
          .update('calls')
          .set({ user_id: pick(users), queue_id: pick(queues) })
          .where('id', '=', pick(ids).id)
          .execute(),
      () => world.store.transaction(trx => removeSummary(trx, tenant, pick(ids).id)),
      async () => {
        const rows = await scoped.select('qa_evaluations').select('id').where('call_id', '=', pick(ids).id).execute()
        for (const { id } of rows) await world.store.transaction(trx => removeEvaluation(trx, tenant, id))
      },
      async () => {
        const { id } = ids.splice(below(ids.length), 1)[0]!
        assert.is((await world.ask(`DELETE /v1/calls/${id}`, { key: world.ours.keys.live })).status, 200)
      },
    ]
    for (let i = 0; i < 60; i++) await changes[0]!()
    for (let round = 0; round < 20; round++) {
      if (round === 12) timezone = 'Pacific/Auckland'
      await keep()
      const built = scoped.select('insight_days').select('day').where('built', 'is not', null)
      assert.ok((await built.execute()).length >= DAYS - 1)
      for (let i = below(6); i > 0; i--) await (below(3) === 0 ? changes[0]! : pick(changes))()
      const ends = [at(below), at(below)].sort() as [string, string]
      const whole = world.clock.now().toISOString()
      const period = pick([
        { from: ends[0], to: ends[1] },
        { from: new Date(Date.parse(whole) - 3 * DAY_MS).toISOString(), to: whole },
        { from: `${whole.slice(0, 10)}T00:00:00.000Z`, to: whole },
      ])
      if (period.from >= period.to) continue
      const only = pick<Only>([{}, {}, { userId: users[1]! }, { queueId: 'queue_a' }, { profileId: 'copp_a' }])
      await compare(period, pick(GROUPS), only)
    }
  },
  { timeoutMs: 120_000 },
)

test('what is kept is what is read: days that are over are not counted again, and the one that runs is', async () => {
  timezone = 'UTC'
  await keep()
  const to = world.clock.now().toISOString()
  const period = { from: new Date(Date.parse(to) - DAYS * DAY_MS).toISOString(), to }
  const calls = async () => (await gatherInsights(world.store.db, tenant, { period, by: 'none', timezone })).total.calls
  const before = await calls()
  const scoped = forTenant(world.store.db, tenant)
  const rows = scoped
    .select('insight_tallies')
    .selectAll()
    .where('user_id', '=', '*')
    .where('day', '>', period.from.slice(0, 10))
  const [kept] = await rows.limit(1).execute()
  const [[count, ...counts], means] = JSON.parse(kept!.tally)
  await scoped
    .update('insight_tallies')
    .set({ tally: JSON.stringify([[count + 1000, ...counts], means]) })
    .where('day', '=', kept!.day)
    .where('user_id', '=', kept!.user_id)
    .where('queue_id', '=', kept!.queue_id)
    .where('profile_id', '=', kept!.profile_id)
    .where('local_day', '=', kept!.local_day)
    .execute()
  assert.is(await calls(), before + 1000)
  await addCall(first, new Date(Date.parse(to) - 1).toISOString())
  assert.is(await calls(), before + 1001)
  // Anything that changes on that day has it counted anew.
  await addCall(first, `${kept!.day}T12:00:00.000Z`)
  assert.is(await calls(), before + 2)
})

test('nothing is left of the words of a call that is deleted', async () => {
  const created = new Date(world.clock.now().getTime() - 2 * DAY_MS).toISOString()
  const id = await addCall(first, created)
  const said = JSON.parse(counted(first))
  await addSummary(first, id, created)
  const scoped = forTenant(world.store.db, tenant)
  await scoped
    .update('call_summaries')
    .set({ counted: JSON.stringify({ ...said, topics: ['hippopotamus'] }) })
    .where('id', '=', id)
    .execute()
  await keep()
  const texts = async () =>
    JSON.stringify(await scoped.select('insight_tallies').select('themes').execute()).includes('hippopotamus')
  assert.is(await texts(), true)
  await world.ask(`DELETE /v1/calls/${id}`, { key: world.ours.keys.live })
  assert.is(await texts(), false)
  await keep()
  assert.is(await texts(), false)
})

test('a day in which something has changed since it was seen is not kept yet', async () => {
  const created = new Date(world.clock.now().getTime() - 2 * DAY_MS).toISOString()
  const isKept = async () => {
    const row = forTenant(world.store.db, tenant).select('insight_days').select('built')
    return (await row.where('day', '=', created.slice(0, 10)).executeTakeFirst())?.built != null
  }
  await keep()
  assert.is(await isKept(), true)
  await addCall(first, created)
  await days.run()
  await addCall(first, created)
  await days.run()
  assert.is(await isKept(), false)
  await days.run()
  assert.is(await isKept(), true)
})

test.run()
