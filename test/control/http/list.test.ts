import * as assert from 'uvu/assert'
import { appendEvent } from '../../../control/kernel/events/log.ts'
import { eventRoutes } from '../../../control/webhooks/event-routes.ts'
import { suite } from '../../harness.ts'
import { ask, makeWorld, START, serve } from '../app-harness.ts'

const test = suite('control/http/list')

const world = await makeWorld()
const app = await serve(world, eventRoutes({ store: world.store }))
const key = world.ours.keys.live
const tenant = { organisationId: world.ours.organisationId, livemode: true }

const add = (owner = tenant): Promise<string> =>
  world.store.transaction(trx =>
    appendEvent(trx, owner, { type: 'call.created', at: START.toISOString(), object: { object: 'call' } }),
  )
const list = async (query = '') => {
  const answer = await ask(app, `GET /v1/events${query}`, { key })
  assert.is(answer.status, 200, answer.text)
  return { ...answer.body, ids: answer.body.data.map((event: { id: string }) => event.id) }
}

test.beforeEach(() => world.store.db.deleteFrom('events').execute())

test('an empty list is a list', async () => {
  const { ids: _, ...body } = await list()
  assert.equal(body, { object: 'list', data: [], has_more: false, next_cursor: null, url: '/v1/events' })
})

test('lists are newest first', async () => {
  const ids = [await add(), await add(), await add()]
  assert.equal((await list()).ids, ids.reverse())
})

test('limit is 20 when absent, and 1 to 100', async () => {
  for (let i = 0; i < 21; i++) await add()
  assert.is((await list()).data.length, 20)
  assert.is((await list('?limit=1')).data.length, 1)
  assert.is((await list('?limit=100')).has_more, false)
  for (const limit of ['0', '101', 'x', '1.5', '', '0x5', '1e1', '%205', '%2B5', '05', '5.0', 'true']) {
    const answer = await ask(app, `GET /v1/events?limit=${limit}`, { key })
    assert.is(answer.status, 400, limit)
    assert.is(answer.body.error.param, 'limit')
  }
})

test('following next_cursor as starting_after shows every object once, whatever is added meanwhile', async () => {
  const before = []
  for (let i = 0; i < 7; i++) before.unshift(await add())
  const seen: string[] = []
  let query = '?limit=3'
  for (;;) {
    const page = await list(query)
    seen.push(...page.ids)
    assert.is(page.has_more, page.next_cursor !== null)
    if (page.next_cursor === null) break
    query = `?limit=3&starting_after=${page.next_cursor}`
    await add()
  }
  assert.equal(seen, before)
})

test('following next_cursor as ending_before pages backwards to the newest, also those added meanwhile', async () => {
  const all = []
  for (let i = 0; i < 6; i++) all.unshift(await add())
  const first = await list(`?limit=2&ending_before=${all[5]}`)
  assert.equal(first.ids, all.slice(3, 5))
  assert.is(first.has_more, true)
  const second = await list(`?limit=2&ending_before=${first.next_cursor}`)
  assert.equal(second.ids, all.slice(1, 3))
  const newest = await add()
  const third = await list(`?limit=2&ending_before=${second.next_cursor}`)
  assert.equal(third.ids, [newest, all[0]])
  assert.is(third.next_cursor, null)
})

test('a cursor is a cursor or an object ID, and stays true when its object is gone', async () => {
  const ids = [await add(), await add(), await add()]
  const page = await list('?limit=1')
  assert.equal((await list(`?starting_after=${ids[1]}`)).ids, [ids[0]])
  await world.store.db.deleteFrom('events').where('id', '=', ids[2]!).execute()
  assert.equal((await list(`?starting_after=${page.next_cursor}`)).ids, [ids[1], ids[0]])
})

test('events of a range of time: from a moment on, up to one, or between two', async () => {
  const hours = Array.from({ length: 4 }, (_, hour) => new Date(Date.now() - hour * 3_600_000).toISOString())
  const ids: string[] = []
  for (const at of hours) {
    const told = { type: 'call.created', at, object: { object: 'call', id: 'call_1' } } as const
    ids.unshift(await world.store.transaction(trx => appendEvent(trx, tenant, told)))
  }
  const [now, one, two] = hours as [string, string, string]
  assert.equal((await list(`?timestamp[gte]=${one}`)).ids, ids.slice(2))
  assert.equal((await list(`?timestamp[gt]=${one}`)).ids, ids.slice(3))
  assert.equal((await list(`?timestamp[lt]=${now}&timestamp[gte]=${two}&limit=1`)).ids, [ids[1]])
  assert.equal((await list(`?timestamp[lte]=${two}&object_id=call_1`)).ids, ids.slice(0, 2))
  assert.equal((await list(`?timestamp[lte]=${two}&object_id=call_2`)).ids, [])
  const { status, body } = await ask(app, 'GET /v1/events?timestamp[gte]=yesterday', { key })
  assert.equal([status, body.error.param], [400, 'timestamp[gte]'])
})

test('what is neither a cursor nor an ID answers 400', async () => {
  for (const [query, param] of [
    ['starting_after=nonsense', 'starting_after'],
    ['starting_after=', 'starting_after'],
    [`ending_before=${'x'.repeat(513)}`, 'ending_before'],
    [`ending_before=cur_${Buffer.from("' or 1=1").toString('base64url')}`, 'ending_before'],
  ]) {
    const answer = await ask(app, `GET /v1/events?${query}`, { key })
    assert.is(answer.status, 400, query)
    assert.is(answer.body.error.param, param)
  }
})

test('an ID or a cursor of another list answers 400: it would give the first page for ever, or nothing', async () => {
  await add()
  for (const id of ['call_', 'room_'].map(prefix => `${prefix}${'0'.repeat(26)}`)) {
    for (const cursor of [id, `cur_${Buffer.from(id).toString('base64url')}`]) {
      for (const param of ['starting_after', 'ending_before']) {
        const { status, body } = await ask(app, `GET /v1/events?${param}=${cursor}`, { key })
        assert.equal([status, body.error?.param], [400, param], `${param}=${cursor}`)
        const { status: ofCalls } = await ask(app, `GET /v1/calls/call_none/events?${param}=${cursor}`, { key })
        assert.is(ofCalls, 404)
      }
    }
  }
})

test('both directions at once answer 400', async () => {
  const id = await add()
  const answer = await ask(app, `GET /v1/events?starting_after=${id}&ending_before=${id}`, { key })
  assert.is(answer.status, 400)
})

test('a list shows the organisation and the mode of the key only', async () => {
  const ours = await add()
  await add({ ...tenant, livemode: false })
  await add({ organisationId: world.theirs.organisationId, livemode: true })
  assert.equal((await list()).ids, [ours])
})

test.run()
