import { parse } from 'csv-parse/sync'
import * as assert from 'uvu/assert'
import { suite } from '../../harness.ts'
import { HOUR, makeCampaignWorld } from './campaign-world.ts'

const test = suite('control/campaigns/results')
const [ANN, BOB, CYD] = ['+14155550101', '+14155550102', '+14155550103']

test('the figures of a campaign are those of the moment: who waits, rings, talks, and what came of the day’s calls', async () => {
  const campaigns = await makeCampaignWorld()
  const { world, start, dial, leg, end, ask, later } = campaigns
  const id = await start([ANN, BOB, CYD], { max_concurrent: 2, retry_minutes: { no_answer: null } })
  const figures = async () => {
    const { contacts, calls_running, attempts, answer_rate } = await ask(`GET /v1/campaigns/${id}/stats`)
    const { pending, calling, connected, completed, failed } = contacts
    const { answered, no_answer } = attempts.last_24_hours
    return [pending, calling, connected, completed, failed, calls_running, answered, no_answer, answer_rate]
  }
  assert.equal(await figures(), [3, 0, 0, 0, 0, 0, 0, 0, null])
  await dial()
  assert.equal(await figures(), [1, 2, 0, 0, 0, 2, 0, 0, null])
  const [first, second] = [ANN, BOB, CYD].filter(phone => leg(phone) !== undefined) as [string, string]
  world.media.pickUp(leg(first)!.legId)
  await world.settle()
  assert.equal(await figures(), [1, 1, 1, 0, 0, 2, 0, 0, null])
  await end(first, 'caller_hangup')
  await end(second, 'no_answer')
  assert.equal(await figures(), [1, 0, 0, 1, 1, 0, 1, 1, 0.5])
  await ask(`POST /v1/campaigns/${id}/pause`)
  await later(25 * HOUR)
  assert.equal(await figures(), [1, 0, 0, 1, 1, 0, 0, 0, null])
  assert.is((await ask(`GET /v1/campaigns/${id}/stats`)).attempts.total.answered, 1)
  const tried = await ask(`GET /v1/campaigns/${id}/attempts?result=no_answer`)
  assert.equal(
    tried.data.map(({ phone, number }: { phone: string; number: number }) => [phone, number]),
    [[second, 1]],
  )
  await campaigns.close()
})

test('the results are a CSV of all contacts, read by any reader, in which no cell is a formula', async () => {
  const campaigns = await makeCampaignWorld()
  const { ask, answer, dial, end } = campaigns
  const { id: assistant_id } = await ask('POST /v1/assistants', { name: 'A' })
  const { id } = await ask('POST /v1/campaigns', { name: 'CSV', assistant_id, allowed_hours: null, max_concurrent: 1 })
  const contacts = [
    { phone: ANN, name: '=HYPERLINK("http://x")', metadata: { note: 'one, "two"\nthree' } },
    ...Array.from({ length: 600 }, (_, i) => ({ phone: `+1212555${1000 + i}` })),
  ]
  await ask(`POST /v1/campaigns/${id}/contacts`, { contacts })
  await ask(`POST /v1/campaigns/${id}/start`)
  await dial()
  const { phone } = (await campaigns.attempts())[0]!
  await end(phone, 'not_found')
  const { text } = await answer(`GET /v1/campaigns/${id}/results`)
  const rows = parse(text, { bom: true, columns: true }) as Record<string, string>[]
  assert.equal([rows.length, new Set(rows.map(row => row.phone)).size], [601, 601])
  assert.is(rows[0]!.name, `'=HYPERLINK("http://x")`)
  assert.equal(JSON.parse(rows[0]!.metadata!), { note: 'one, "two"\nthree' })
  const { status, attempts, last_result } = rows.find(row => row.phone === phone)!
  assert.equal([status, attempts, last_result], ['failed', '1', 'invalid_number'])
  await campaigns.close()
})

test('a campaign that is over is started again with what it got since; archived, it takes nothing and is read', async () => {
  const campaigns = await makeCampaignWorld()
  const { ask, answer, start, dial, end, dialled } = campaigns
  const id = await start([ANN], { retry_minutes: { rejected: null } })
  await dial()
  await end(ANN, 'rejected')
  await dial()
  assert.is((await ask(`GET /v1/campaigns/${id}`)).status, 'completed')
  await ask(`POST /v1/campaigns/${id}/contacts`, { contacts: [{ phone: BOB }] })
  assert.equal((await ask(`POST /v1/campaigns/${id}/start`)).ended_at, null)
  await dial()
  assert.equal(dialled(), [ANN, BOB])
  await end(BOB, 'rejected')
  await dial()
  await ask(`POST /v1/campaigns/${id}/archive`)
  for (const [line, body] of [
    [`POST /v1/campaigns/${id}/start`],
    [`POST /v1/campaigns/${id}/contacts`, { contacts: [{ phone: CYD }] }],
    [`PATCH /v1/campaigns/${id}`, { name: 'X' }],
  ] as const) {
    const refused = await answer(line, body)
    assert.equal([refused.status, refused.body.error.details.reason], [409, 'archived'], line)
  }
  assert.is((await ask(`GET /v1/campaigns/${id}/stats`)).contacts.failed, 2)
  assert.equal(
    (await ask('GET /v1/campaigns?status=archived')).data.map((one: { id: string }) => one.id),
    [id],
  )
  await campaigns.close()
})

test.run()
