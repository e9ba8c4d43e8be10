import * as assert from 'uvu/assert'
import { newId } from '../../../control/kernel/ids.ts'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import { reportTable } from '../../../control/reports/table.ts'
import type { ReportRow } from '../../../control/reports/tables.ts'
import { suite } from '../../harness.ts'
import { makerOf, makeUser } from '../conformance/objects.ts'
import { makeQualityWorld, type QualityWorld, type Said } from './quality-world.ts'

const test = suite('control/quality/insights')

const PROFILE = {
  compliance: {
    required_disclosures: [{ key: 'recorded', label: 'Is recorded', text: '', phrases: ['call may be recorded'] }],
    forbidden_phrases: [],
  },
  objections: [
    {
      key: 'price',
      label: 'Too dear',
      triggers: ['too expensive'],
      examples: [],
      response: 'We have a cheaper plan without support.',
    },
  ],
  qa_rubric: [{ key: 'greeting', label: 'Greets', check: { kind: 'phrases', phrases: ['good morning'] } }],
}
const GOOD: Said[] = [
  ['agent', 'Good morning, the call may be recorded.'],
  ['customer', 'I am calling about my broken router. The router is too expensive.'],
  ['agent', 'We have a cheaper plan without support.'],
  ['customer', 'Great, the router problem is solved, thank you.'],
  ['agent', 'It has been booked, wonderful, and that is all.', 19_000, 24_000],
]
const BAD: Said[] = [
  ['agent', 'Yes?'],
  ['customer', 'The invoice is wrong and your service is terrible.'],
  ['agent', 'Hm.', 20_000, 24_000],
]

let world: QualityWorld
let queueId: string
let profileId: string
const agents: string[] = []
const DAY_MS = 86_400_000

test.before(async () => {
  world = await makeQualityWorld()
  const made = await world.profile(PROFILE)
  queueId = made.queueId
  profileId = made.profileId
  await world.api('PATCH /v1/organisation', {
    dispositions: [{ key: 'booked', label: 'Booked', phrases: ['has been booked'] }],
  })
  for (let i = 0; i < 2; i++) agents.push((await makeUser(makerOf(world))).id ?? '')
  const call = async (said: Said[], userId: string) => {
    const id = await world.call(said, { queueId, userId })
    await world.review(id)
    return id
  }
  await call(BAD, agents[0]!)
  world.clock.advance(10 * DAY_MS)
  await call(GOOD, agents[0]!)
  await call(GOOD, agents[1]!)
  await call(BAD, agents[1]!)
  world.clock.advance(1000)
})
test.after(() => world.close())

const insights = (more = '') => {
  const to = world.clock.now()
  const from = new Date(to.getTime() - 5 * DAY_MS)
  return world.api(`GET /v1/insights?from=${from.toISOString()}&to=${to.toISOString()}${more}`)
}

test('the calls of a period are counted: volume, handling time, talk ratio, sentiment, disclosures and QA, beside the period before', async () => {
  const { total, before, change } = await insights()
  assert.equal([total.calls, total.answered, total.transcribed, total.qa_evaluations], [3, 3, 3, 3])
  assert.is(total.handling_seconds, 24)
  assert.is(total.disclosure_rate, 0.667)
  assert.is(total.qa_score, 66.667)
  assert.ok(total.talk_ratio > 0.5 && total.talk_ratio < 0.9, String(total.talk_ratio))
  assert.is(total.sentiment_calls, 3)
  assert.is(before.calls, 0)
  assert.equal([change.calls, change.qa_score], [3, null])
  const earlier = await world.api(
    `GET /v1/insights?from=${new Date(world.clock.now().getTime() - 9 * DAY_MS).toISOString()}`,
  )
  assert.equal([earlier.total.calls, earlier.before.calls, earlier.change.calls], [3, 1, 2])
  assert.equal([earlier.before.qa_score, earlier.change.qa_score], [0, 66.667])
})

test('groups are the agents, queues, teams, profiles or days of the calls, and of who is asked for alone', async () => {
  const byAgent = await insights('&group_by=agent')
  assert.equal(
    byAgent.groups.map(({ key, calls, qa_score }: { key: string; calls: number; qa_score: number }) => [
      key,
      calls,
      qa_score,
    ]),
    [
      [agents[1], 2, 50],
      [agents[0], 1, 100],
    ],
  )
  assert.equal((await insights(`&user_id=${agents[0]}`)).total.calls, 1)
  assert.equal((await insights(`&copilot_profile_id=${profileId}&group_by=profile`)).groups[0].key, profileId)
  assert.equal((await insights('&group_by=queue')).groups[0].label, 'Support')
  assert.equal((await insights('&group_by=team')).groups[0].key, null)
  assert.equal(
    (await insights('&group_by=day')).groups.map(({ key }: { key: string }) => key),
    [world.clock.now().toISOString().slice(0, 10)],
  )
})

test('objections are told with what followed them, criteria and disclosures with how often they were met', async () => {
  const { objections, criteria, disclosures } = await insights()
  assert.equal(objections, [
    {
      key: 'price',
      label: 'Too dear',
      calls: 2,
      answered: 2,
      calls_before: 0,
      dispositions: [{ key: 'booked', calls: 2 }],
    },
  ])
  const none = { evaluations_before: 0, score_before: null }
  assert.equal(criteria, [
    { key: 'greeting', label: 'Greets', not_applicable: 0, needs_model: 0, evaluations: 3, score: 66.667, ...none },
  ])
  assert.equal(disclosures, [
    { key: 'recorded', label: 'Is recorded', calls: 3, said: 2, calls_before: 0, said_before: 0 },
  ])
})

test('a criterion and a disclosure are told with what they were in the period before', async () => {
  const from = new Date(world.clock.now().getTime() - 9 * DAY_MS).toISOString()
  const { criteria, disclosures } = await world.api(`GET /v1/insights?from=${from}`)
  assert.equal([criteria[0].score, criteria[0].evaluations_before, criteria[0].score_before], [66.667, 1, 0])
  const [{ calls, said, calls_before, said_before }] = disclosures
  assert.equal([calls, said, calls_before, said_before], [3, 2, 1, 0])
})

test('a topic leads to its calls', async () => {
  const { topics } = await insights()
  const router = topics.find(({ value }: { value: string }) => value === 'router')
  assert.is(router.calls, 2)
  const { data } = await world.api('GET /v1/insights/calls?kind=topic&value=router')
  assert.equal([data.length, data[0].disposition], [2, 'booked'])
  assert.equal((await world.api('GET /v1/insights/calls?kind=missed_disclosure&value=recorded')).data.length, 2)
  const theirs = await world.ask('GET /v1/insights/calls', { key: world.theirs.keys.live })
  assert.equal(theirs.body.data, [])
})

test('of a language without a list of words no sentiment is told', async () => {
  const french = await world.call([['customer', 'Je suis terrible et happy.']], { language: 'fr', userId: agents[0]! })
  await world.review(french)
  world.clock.advance(1000)
  const [call] = (await world.api('GET /v1/insights/calls?limit=1')).data
  assert.equal([call.id, call.sentiment], [french, null])
  await world.api(`DELETE /v1/calls/${french}`)
})

test('a period ends after it begins, and is no longer than four hundred days', async () => {
  for (const query of [
    'from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z',
    'from=2020-01-01T00:00:00Z&to=2026-01-01T00:00:00Z',
  ]) {
    assert.is((await world.ask(`GET /v1/insights?${query}`, { key: world.ours.keys.live })).status, 400)
  }
})

test('what the copilot has heard, and a person has decided in its session, stands above the words of the transcript', async () => {
  const id = await world.call(BAD, { queueId })
  const scoped = forTenant(world.store.db, makerOf(world).tenant)
  const profile = await scoped.find('copilot_profiles', profileId)
  const settings = {
    ...JSON.parse(profile?.settings ?? '{}'),
    fields: [{ key: 'invoice', label: 'Invoice', type: 'text', pattern: '', options: [] }],
  }
  const slot = (value: string) => ({ claims: [], person: { value }, told: null, atMs: 0 })
  const state = { slots: { 'field:invoice': slot('4711'), 'disclosure:recorded': slot('said') } }
  const at = world.clock.now().toISOString()
  await scoped.insert('copilot_sessions', {
    id: newId('copilot_session'),
    call_id: id,
    participant_id: newId('participant'),
    user_id: null,
    queue_id: queueId,
    node_id: null,
    profile_id: profileId,
    profile_version: 7,
    settings: JSON.stringify(settings),
    flow_id: null,
    flow_version: null,
    script: null,
    status: 'ended',
    hearing: 'running',
    hearing_reason: null,
    state: JSON.stringify(state),
    deep: null,
    created: at,
    ended_at: at,
  })
  await world.review(id)
  assert.equal((await world.api(`GET /v1/calls/${id}/summary`)).fields, { invoice: '4711' })
  const [evaluation] = (await world.api(`GET /v1/qa_evaluations?call_id=${id}`)).data
  assert.equal([evaluation.copilot_profile_version, evaluation.automatic_failures], [7, []])
  await world.api(`DELETE /v1/calls/${id}`)
})

/** What a report of this kind shows of the period. */
async function rowsOf(kind: ReportRow['kind']): Promise<Record<string, string>[]> {
  const to = world.clock.now()
  const period = { from: new Date(to.getTime() - 5 * DAY_MS).toISOString(), to: to.toISOString() }
  const { columns, rows } = reportTable(world.store.db, makerOf(world).tenant, kind, period)
  const all: Record<string, string>[] = []
  for await (const row of rows) all.push(Object.fromEntries(columns.map((column, i) => [column, row[i] ?? ''])))
  return all
}

test('reports show the same: agents, topics, summaries and evaluations', async () => {
  const [first, second] = await rowsOf('agents')
  assert.equal(
    [first?.user_id, first?.qa_score, second?.user_id, second?.qa_score],
    [agents[1], '50', agents[0], '100'],
  )
  const router = (await rowsOf('topics')).find(({ kind, value }) => kind === 'topic' && value === 'router')
  assert.is(router?.calls, '2')
  const summaries = await rowsOf('summaries')
  assert.is(summaries.filter(({ disposition }) => disposition === 'booked').length, 2)
  const evaluations = await rowsOf('evaluations')
  assert.equal(
    evaluations
      .map(({ criterion, criterion_score, automatic_failures }) => [criterion, criterion_score, automatic_failures])
      .sort(),
    [
      ['greeting', '0', 'recorded'],
      ['greeting', '100', ''],
      ['greeting', '100', ''],
    ],
  )
})

test.run()
