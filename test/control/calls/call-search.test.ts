import * as assert from 'uvu/assert'
import { insertProgram } from '../../../control/calls/programs/records.ts'
import { insertParty, type NewParty } from '../../../control/calls/records.ts'
import { newId } from '../../../control/kernel/ids.ts'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import { suite } from '../../harness.ts'
import { makeWholeApp, refusal } from '../whole-app.ts'

const test = suite('control/calls/call-search')

const world = await makeWholeApp()
const { live, store, ours } = world
const tenant = { organisationId: ours.organisationId, livemode: true }
test.after(() => world.close())

/** A call of our live mode, or another's; its ID. */
async function call(more: Partial<NewParty> = {}, row: object = {}, whose = tenant): Promise<string> {
  const party: NewParty = {
    callId: newId('call'),
    legId: newId('participant'),
    direction: 'inbound',
    to: '1000',
    from: '+15550001111',
    target: 'echo',
    roomId: null,
    connectionId: null,
    metadata: {},
    role: 'member',
    muted: false,
    ...more,
  }
  const created = new Date().toISOString()
  await store.transaction(async trx => {
    await insertParty(trx, whose, party, created)
    if (Object.keys(row).length > 0)
      await forTenant(trx, whose).update('calls').set(row).where('id', '=', party.callId).execute()
  })
  return party.callId
}

const found = async (query: string): Promise<string[]> => {
  const { status, body } = await live(`GET /v1/calls?${query}`)
  assert.is(status, 200, JSON.stringify(body))
  return body.data.map(({ id }: { id: string }) => id)
}

test('calls are found by number, whichever side it was on, and in whichever address', async () => {
  const called = await call({ to: '+15550002222' })
  const calling = await call({ from: '+15550002222' })
  const bySip = await call({ direction: 'outbound', to: 'sip:+15550002222@trunk.example.com;user=phone' })
  await call({ to: '+15550002222' }, {}, { ...tenant, livemode: false })
  await call({ to: '+15550002222' }, {}, { organisationId: world.theirs.organisationId, livemode: true })
  const number = encodeURIComponent('+15550002222')
  assert.equal(await found(`number=${number}`), [bySip, calling, called])
  assert.equal(await found(`to=${number}`), [bySip, called])
  assert.equal(await found(`from=${number}`), [calling])
  assert.equal(await found(`number=${number}&direction=outbound`), [bySip])
  assert.equal(await found('number=2222'), [])
})

test('calls are found by agent, queue, assistant, outcome, and by what they have of each', async () => {
  const answered_at = new Date().toISOString()
  const queued = await call({}, { queue_id: 'q_1', user_id: 'usr_1', answered_at })
  const missed = await call({}, { queue_id: 'q_1', ended_reason: 'no_answer' })
  assert.equal(await found('queue_id=q_1'), [missed, queued])
  assert.equal(await found('user_id=usr_1'), [queued])
  assert.equal(await found('queue_id=q_1&answered=false'), [missed])
  assert.equal(await found('queue_id=q_1&answered=true'), [queued])
  assert.equal(await found('ended_reason=no_answer'), [missed])
  const assistantId = (await live('POST /v1/assistants', { name: 'A' })).body.id
  const led = await call({ metadata: { order: '9' } })
  const at = new Date().toISOString()
  await store.transaction(trx => insertProgram(trx, tenant, { callId: led, legId: 'part_x' }, { assistantId }, at))
  assert.equal(await found(`assistant_id=${assistantId}`), [led])
  assert.equal(await found(`assistant_id=${assistantId}&metadata[order]=9`), [led])
  assert.equal(await found(`assistant_id=${assistantId}&metadata[order]=8`), [])
  const shown = (await live(`GET /v1/calls/${queued}`)).body
  assert.equal([shown.queue_id, shown.user_id], ['q_1', 'usr_1'])
})

test('calls are found by metadata: all pairs that are named', async () => {
  const both = await call({ metadata: { order: '7', 'the shop': 'North & South' } })
  const one = await call({ metadata: { order: '7' } })
  assert.equal(await found('metadata[order]=7'), [one, both])
  assert.equal(await found('metadata[order]=7&metadata[the%20shop]=North%20%26%20South'), [both])
  assert.equal(await found('metadata[order]=70'), [])
  for (const [query, param] of [
    ['metadata=7', 'metadata'],
    ['metadata[a]=1&metadata[a]=2', 'metadata[a]'],
    ['metadata[a][b]=1', 'metadata[a][b]'],
    ['created[since]=2026-11-01', 'created[since]'],
    ['created[gte]=yesterday', 'created[gte]'],
    ['direction=up', 'direction'],
    ['colour[a]=1', 'colour'],
    ['__proto__[a]=1', '__proto__'],
  ]) {
    assert.equal(refusal(await live(`GET /v1/calls?${query}`)).slice(0, 2), [400, param], query)
  }
})

test('calls are found by date, and pages go on', async () => {
  const ids = []
  for (let i = 0; i < 3; i++)
    ids.push(await call({ metadata: { day: 'x' } }, { created: `2026-11-0${i + 1}T12:00:00.000Z` }))
  const [first, second, third] = ids
  // The clock of this machine need not be that of the calls: IDs tell of it, so they are looked for where they were made.
  const now = new Date()
  const hour = (n: number) => new Date(now.getTime() + n * 3_600_000).toISOString()
  for (const [i, id] of ids.entries())
    await forTenant(store.db, tenant)
      .update('calls')
      .set({ created: hour(i) })
      .where('id', '=', id)
      .execute()
  assert.equal(await found(`metadata[day]=x&created[gte]=${hour(1)}`), [third, second])
  assert.equal(await found(`metadata[day]=x&created[gt]=${hour(1)}`), [third])
  assert.equal(await found(`metadata[day]=x&created[lt]=${hour(1)}`), [first])
  assert.equal(await found(`metadata[day]=x&created[lte]=${hour(1)}&created[gte]=${hour(1)}`), [second])
  assert.equal(await found(`metadata[day]=x&created[gte]=${hour(72)}`), [])
  const page = (await live('GET /v1/calls?metadata[day]=x&limit=2')).body
  assert.equal([page.data.length, page.has_more], [2, true])
  const next = (await live(`GET /v1/calls?metadata[day]=x&limit=2&starting_after=${page.next_cursor}`)).body
  assert.equal([next.data.map(({ id }: { id: string }) => id), next.has_more], [[first], false])
})

test('events are found by the object that they are about', async () => {
  const id = await call()
  const events = async (query: string) =>
    (await live(`GET /v1/events?${query}`)).body.data.map(({ type }: { type: string }) => type)
  assert.equal(await events(`object_id=${id}`), ['call.created'])
  assert.equal(await events(`object_id=${id}&type=call.ended`), [])
  const user = (await live('POST /v1/invitations', { email: 'ann@example.com' })).body.user_id
  await live(`PATCH /v1/users/${user}`, { status: 'active' })
  await live(`PUT /v1/agents/${user}/status`, { status: 'available' })
  assert.equal(await events(`object_id=${user}`), ['agent.status.changed'])
})

test.run()
