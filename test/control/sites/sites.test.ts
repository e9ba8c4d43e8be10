import { createHash } from 'node:crypto'
import * as assert from 'uvu/assert'
import { leadingZeroBits } from '../../../control/sites/proof.ts'
import { suite } from '../../harness.ts'
import { ask } from '../app-harness.ts'
import { APP_CONFIG, makeWholeApp, refusal } from '../whole-app.ts'

const test = suite('control/sites/sites')

const world = await makeWholeApp({ config: { ...APP_CONFIG, trustedProxies: ['127.0.0.0/8'] } })
const { live, app } = world
test.after(() => world.close())

const SHOP = 'https://shop.example'
const PAGE = `${SHOP}/prices?from=ad`

const create = async (body: object = {}) =>
  (await live('POST /v1/sites', { name: 'Shop', origins: [SHOP], ...body })).body

/** As a page of this website, from an address of its own: the limits of one test are not another's. */
let visitors = 0
const visitor = (origin = SHOP, address = `203.0.113.${++visitors}`) => ({
  headers: { origin, 'x-forwarded-for': address },
})
const from = (who: ReturnType<typeof visitor>) => ({
  look: (id: string) => ask(app, `GET /sites/${id}/form`, who),
  send: (id: string, body: object) => ask(app, `POST /sites/${id}/callbacks`, { ...who, body }),
})

/** The script's steps before it sends. */
async function prove(id: string, who = visitor()) {
  const { challenge, bits } = (await from(who).look(id)).body
  for (let solution = 0; ; solution++) {
    const hash = createHash('sha256').update(`${challenge}.${solution}`).digest('hex')
    if (leadingZeroBits(hash) >= bits) return { challenge, solution }
  }
}

const phone = () => `+1415555${2000 + ++visitors}`

test('a site has its defaults, keeps what is sent, and merges a change', async () => {
  const { id, created, updated, ...rest } = await create()
  assert.match(id, /^site_/)
  assert.ok(created && updated)
  assert.equal(rest, {
    ...{ object: 'site', livemode: true, name: 'Shop', active: true, queue_id: null, origins: [SHOP], language: null },
    fields: { name: 'optional', message: 'optional' },
    script_url: 'http://127.0.0.1:8080/sites/form.js',
  })
  const { body } = await live(`PATCH /v1/sites/${id}`, {
    fields: { message: 'hidden' },
    origins: ['http://localhost:3000/'],
  })
  assert.equal([body.fields, body.origins], [{ name: 'optional', message: 'hidden' }, ['http://localhost:3000']])
})

test('an origin is that of a website, and its queue must be there; a queue with a site is not deleted', async () => {
  const post = (body: object) => live('POST /v1/sites', { name: 'x', origins: [SHOP], ...body })
  for (const wrong of ['http://shop.example', `${SHOP}/prices`, 'shop.example']) {
    assert.equal(refusal(await post({ origins: [SHOP, wrong] })), [400, 'origins[1]', undefined], wrong)
  }
  assert.equal(refusal(await post({ queue_id: 'q_none' })), [400, 'queue_id', undefined])
  const { id: queue_id } = (await live('POST /v1/queues', { name: 'Sales' })).body
  await create({ queue_id })
  assert.equal(refusal(await live(`DELETE /v1/queues/${queue_id}`)), [409, null, 'in_use'])
})

test("a visitor's request books a callback of the site, with page and language, as its queue returns them", async () => {
  const { id: queue_id } = (await live('POST /v1/queues', { name: 'Web', callbacks: { priority: 8 } })).body
  const { id } = await create({ queue_id })
  const who = visitor()
  const sent = { phone: phone(), name: 'Ann', message: 'Which size?', page: PAGE, language: 'he-IL' }
  const answer = await from(who).send(id, { ...sent, ...(await prove(id, who)) })
  assert.is(answer.status, 201, answer.text)
  assert.is(answer.headers['access-control-allow-origin'], SHOP)
  assert.equal(Object.keys(answer.body).sort(), ['due_at', 'livemode', 'object'], 'what strangers are told')
  const [callback] = (await live('GET /v1/callbacks?limit=1')).body.data
  const { source, site_id, context, name, priority, notes } = callback
  assert.equal(
    { source, site_id, context, name, priority, queue: callback.queue_id },
    {
      ...{ source: 'web', site_id: id, context: { web: { page: PAGE, language: 'he-IL' } }, name: 'Ann' },
      ...{ priority: 8, queue: queue_id },
    },
  )
  assert.match(notes, /Shop\] Which size\?/)
  assert.is((await world.events('callback.created')).at(-1).object.site_id, id)
  await live('POST /v1/callbacks', { phone: phone() })
  for (const [filter, found] of [
    [`site_id=${id}`, [callback.id]],
    [`site_id=${id}&source=web`, [callback.id]],
    [`site_id=${id}&source=api`, []],
  ] as const) {
    const { data } = (await live(`GET /v1/callbacks?${filter}`)).body
    assert.equal(
      data.map((one: { id: string }) => one.id),
      found,
      filter,
    )
  }
})

test('a listed number is not called back by the form of its site either; a form of test mode books in test mode', async () => {
  const { id } = await create()
  const listed = phone()
  await live('POST /v1/do_not_call', { phone: listed })
  const refused = await from(visitor()).send(id, { phone: listed, page: PAGE, ...(await prove(id)) })
  assert.equal([refused.status, refused.body.error.code], [403, 'do_not_call'])
  const ours = (await live('GET /v1/callbacks?limit=100')).body.data.length
  const { id: tried } = (await world.test('POST /v1/sites', { name: 'Tried', origins: [SHOP] })).body
  const sent = await from(visitor()).send(tried, { phone: '+15005550006', page: PAGE, ...(await prove(tried)) })
  assert.equal([sent.status, sent.body.livemode], [201, false])
  assert.is((await world.test('GET /v1/callbacks')).body.data[0].site_id, tried)
  assert.is((await live('GET /v1/callbacks?limit=100')).body.data.length, ours)
})

test('only pages of its origins may look at a form or send it, and a site that is switched off is not there', async () => {
  const { id } = await create()
  const stranger = from(visitor('https://evil.example'))
  for (const answer of [
    await stranger.look(id),
    await stranger.send(id, {
      ...{ phone: phone(), page: 'https://evil.example/', challenge: 'x', solution: 0 },
    }),
  ]) {
    assert.equal([answer.status, answer.body.error.code], [403, 'origin_mismatch'])
    assert.is(answer.headers['access-control-allow-origin'], undefined)
  }
  const asked = await ask(app, `OPTIONS /sites/${id}/callbacks`, visitor())
  assert.equal([asked.status, asked.headers['access-control-allow-methods']], [204, 'POST'])
  await live(`PATCH /v1/sites/${id}`, { active: false })
  assert.is((await from(visitor()).look(id)).status, 404)
})

test('a request needs a proof of work of this site that nobody has used, before it expires', async () => {
  const { id } = await create()
  const { id: other } = await create()
  const send = async (body: object) => from(visitor()).send(id, { phone: phone(), page: PAGE, ...body })
  const proof = await prove(id)
  assert.equal(refusal(await send({ ...proof, solution: proof.solution + 1 })), [400, 'solution', undefined])
  assert.equal(refusal(await send(await prove(other))), [400, 'solution', undefined])
  assert.is((await send(proof)).status, 201)
  assert.equal(refusal(await send(proof)), [400, 'solution', undefined], 'twice')
  const late = await prove(id)
  world.clock.advance(10 * 60_000)
  assert.equal(refusal(await send(late)), [400, 'solution', undefined], 'late')
  assert.is((await send(await prove(id))).status, 201)
  const kept = await world.store.db.selectFrom('site_proofs').selectAll().execute()
  assert.is(kept.length, 1, 'those that have expired are forgotten')
})

test('the trap stays empty, the page is one of the website, and the fields are as the site says', async () => {
  const { id } = await create({ fields: { name: 'required', message: 'hidden' } })
  const proof = await prove(id)
  const send = async (body: object) =>
    refusal(await from(visitor()).send(id, { phone: phone(), name: 'Ann', page: PAGE, ...proof, ...body })).slice(0, 2)
  assert.equal(await send({ website: 'https://spam.example' }), [400, 'website'])
  assert.equal(await send({ page: 'https://other.example/' }), [400, 'page'])
  assert.equal(await send({ name: ' ' }), [400, 'name'])
  assert.equal(await send({ message: 'Hello' }), [400, 'message'])
  assert.equal(await send({ phone: 'nothing' }), [400, 'phone'])
})

test("who asks too often waits, and another's address does not", async () => {
  const { id } = await create()
  const who = visitor()
  const send = (as: typeof who) => from(as).send(id, { phone: phone(), page: PAGE, challenge: 'x', solution: 0 })
  for (let i = 0; i < 5; i++) assert.is((await send(who)).status, 400)
  const refused = await send(who)
  assert.equal([refused.status, refused.body.error.code], [429, 'rate_limited'])
  assert.ok(Number(refused.headers['retry-after']) > 0)
  assert.is((await send(visitor())).status, 400)
})

test('the script is served to the pages of others', async () => {
  const { status, headers, text } = await ask(app, 'GET /sites/form.js')
  assert.equal([status, headers['cross-origin-resource-policy']], [200, 'cross-origin'])
  assert.match(text, /data-site/)
})

test.run()
