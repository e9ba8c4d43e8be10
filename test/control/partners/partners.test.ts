import * as assert from 'uvu/assert'
import { applyToLeg, endLeg, insertParty, loadLeg } from '../../../control/calls/records.ts'
import { onAnswered } from '../../../control/calls/steps/decide.ts'
import { newId } from '../../../control/kernel/ids.ts'
import { callProblem } from '../../../control/usage/allowance.ts'
import { suite } from '../../harness.ts'
import { idsFor, type Maker, makerOf } from '../conformance/objects.ts'
import { makeProduct } from '../conformance/product.ts'
import { bodyFor, lineOf, prepare } from '../conformance/requests.ts'
import type { Shape } from '../conformance/shapes.ts'

const test = suite('control/partners')

/** So many requests take their time on a busy machine. */
const SLOW = { timeoutMs: 180_000 }

const world = await makeProduct()
const partner = makerOf(world)
const { live: key } = world.ours.keys
const rival = makerOf(world, 'theirs')

/** An organisation that a partner has made, with a key of its own. */
async function clientOf(maker: Maker, limits = {}): Promise<Maker & { id: string; key: string }> {
  const { id } = await maker.ask('POST /v1/partner/organisations', { name: 'Client', limits })
  const { secret } = await maker.ask(`POST /v1/partner/organisations/${id}/api_keys`, { name: 'First' })
  const ask: Maker['ask'] = async (line, body = {}) => {
    const made = await world.ask(line, { key: secret, body })
    assert.ok(made.status < 300, `${line}: ${made.text}`)
    return made.body
  }
  return { world, tenant: { organisationId: id, livemode: true }, ask, id, key: secret }
}

/** A request that it has made. */
const logOf = async ({ key: ours }: { key: string }) => ({
  id: (await world.ask('GET /v1/request_logs', { key: ours })).body.data[0].id as string,
})

test(
  'a partner reaches nothing of its client with its own key, by any operation, and nothing of a client of another partner',
  async () => {
    const client = await clientOf(partner)
    await prepare(client)
    const faults: string[] = []
    let asked = 0
    const refusedBy = async (route: (typeof world.routes)[number], maker: Maker) => {
      const isLog = route.path.startsWith('/request_logs/')
      const ids = isLog ? await logOf(client) : await idsFor(route.path, maker, route.method)
      const body = route.method === 'GET' ? {} : { body: await bodyFor(route.id, (route.body ?? {}) as Shape, maker) }
      const { status, text } = await world.ask(lineOf(route, ids), { key, ...body })
      asked++
      if (status !== 404) faults.push(`${route.method} ${route.path}: ${status} ${text.slice(0, 200)}`)
    }
    const named = world.routes.filter(({ path, mode }) => path.includes(':') && mode !== 'test')
    for (const route of named) {
      // What the product itself has is everybody's.
      if (/^\/(languages|flow_templates|copilot_templates|voices|models)\//.test(route.path)) continue
      await refusedBy(route, route.path.startsWith('/partner/') ? rival : client)
    }
    assert.equal(faults, [])
    assert.ok(asked > 100, String(asked))
    const lists = ['calls', 'users', 'queues', 'api_keys', 'usage/entries']
    for (const path of lists) assert.not.match((await world.ask(`GET /v1/${path}?limit=100`, { key })).text, client.id)
  },
  SLOW,
)

test('an organisation has one name, whoever changes it', async () => {
  const client = await clientOf(partner)
  const path = `/v1/partner/organisations/${client.id}`
  const names = async () => [(await partner.ask(`GET ${path}`)).name, (await client.ask('GET /v1/organisation')).name]
  await partner.ask(`PATCH ${path}`, { name: 'By its partner' })
  assert.equal(await names(), ['By its partner', 'By its partner'])
  await client.ask('PATCH /v1/organisation', { name: 'By itself' })
  assert.equal(await names(), ['By itself', 'By itself'])
  await partner.ask(`PATCH ${path}`, { limits: { concurrent_calls: 3 } })
  assert.equal(await names(), ['By itself', 'By itself'])
})

test('a suspended organisation has its requests and calls refused until it is resumed', async () => {
  const client = await clientOf(partner)
  const at = world.clock.now().toISOString()
  const callOf = () => world.store.transaction(trx => callProblem(trx, client.tenant, at))
  assert.is((await world.ask('GET /v1/calls', { key: client.key })).status, 200)
  assert.is((await partner.ask(`POST /v1/partner/organisations/${client.id}/suspend`)).suspended, true)
  const refused = await world.ask('GET /v1/calls', { key: client.key })
  assert.equal([refused.status, refused.body.error.code], [403, 'organisation_suspended'])
  assert.is((await callOf())?.problem, 'organisation_suspended')
  assert.is((await world.ask(`POST /v1/partner/organisations/${client.id}/suspend`, { key })).status, 409)
  await partner.ask(`POST /v1/partner/organisations/${client.id}/resume`)
  assert.is((await world.ask('GET /v1/calls', { key: client.key })).status, 200)
  assert.is(await callOf(), null)
})

test('limits of a plan: requests of all keys together, calls at once, minutes of a month; what was used is told to the partner', async () => {
  const limits = { requests_per_second: 1, concurrent_calls: 1, call_minutes_per_month: 2 }
  const client = await clientOf(partner, limits)
  const before = (await world.ask('GET /v1/partner/usage', { key })).body.meters.call_ms
  const { secret: second } = await partner.ask(`POST /v1/partner/organisations/${client.id}/api_keys`, {})
  const statuses = []
  for (const one of [client.key, second, client.key])
    statuses.push((await world.ask('GET /v1/teams', { key: one })).status)
  assert.equal(statuses, [200, 200, 200])
  const limited = await world.ask('GET /v1/teams', { key: second })
  assert.equal([limited.status, limited.body.error.code, limited.headers['retry-after']], [429, 'rate_limited', '1'])
  world.clock.advance(1000)
  assert.is((await world.ask('GET /v1/teams', { key: second })).status, 200)

  const at = world.clock.now().toISOString()
  const problem = async () =>
    (await world.store.transaction(trx => callProblem(trx, client.tenant, at)))?.problem ?? null
  const told = async () =>
    (await world.ask('GET /v1/events?type=partner.organisation.limit_reached', { key })).body.data.map(
      ({ data }: { data: { object: { id: string; limits_reached: object } } }) =>
        data.object.id === client.id ? data.object.limits_reached : null,
    )
  const ends = { callId: newId('call'), legId: newId('participant'), direction: 'inbound' as const, to: '1', from: '2' }
  const kind = { target: 'echo' as const, roomId: null, connectionId: null, metadata: {} }
  assert.is(await problem(), null)
  await world.store.transaction(trx =>
    insertParty(trx, client.tenant, { ...ends, ...kind, role: 'member', muted: false }, at),
  )
  assert.is(await problem(), 'capacity_exhausted')
  assert.is(await problem(), 'capacity_exhausted')
  assert.equal(await told(), [{ concurrent_calls: at, call_minutes_per_month: null }], 'once an hour')
  await world.store.transaction(async trx => {
    const rows = (await loadLeg(trx, ends.legId))!
    const answered = await applyToLeg(trx, rows, onAnswered(rows, at), at)
    await endLeg(trx, answered, { reason: 'caller_hangup', sipCode: null, quality: null, durationMs: 120_000 }, at)
  })
  assert.is(await problem(), 'plan_limit')
  assert.equal((await told())[0], { concurrent_calls: at, call_minutes_per_month: at })
  await world.ask(`PATCH /v1/partner/organisations/${client.id}`, {
    key,
    body: { limits: { call_minutes_per_month: 3 } },
  })
  assert.is(await problem(), null)
  world.clock.advance(1)
  const { meters, organisations } = (await world.ask('GET /v1/partner/usage', { key })).body
  assert.equal([meters.call_ms - before, organisations > 1], [120_000, true])
  const { data } = (await world.ask(`GET /v1/partner/organisations/${client.id}/usage?granularity=month`, { key })).body
  assert.equal(data[0].calls, { count: 1, answered: 1, seconds: 120 })
})

test('handed over it is its own: all earlier keys are revoked, and the partner knows it no more', async () => {
  const client = await clientOf(partner, { concurrent_calls: 0 })
  const { secret } = await partner.ask(`POST /v1/partner/organisations/${client.id}/hand_over`)
  assert.is((await world.ask('GET /v1/calls', { key: client.key })).status, 401)
  assert.is((await world.ask('GET /v1/organisation', { key: secret })).body.id, client.id)
  assert.is((await world.ask(`GET /v1/partner/organisations/${client.id}`, { key })).status, 404)
  const at = world.clock.now().toISOString()
  assert.is(await world.store.transaction(trx => callProblem(trx, client.tenant, at)), null)
})

test.after(world.close)
test.run()
