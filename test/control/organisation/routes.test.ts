import * as assert from 'uvu/assert'
import { organisationRoutes, organisationSettings } from '../../../control/organisation/routes.ts'
import { suite } from '../../harness.ts'
import { ask, makeWorld, serve } from '../app-harness.ts'
import { makeWholeApp, refusal } from '../whole-app.ts'

const test = suite('control/organisation/routes')

const world = await makeWorld()
const app = await serve(
  world,
  organisationRoutes({ store: world.store, now: world.clock.now, streamsProblem: async () => null }),
)
const { live, test: testKey } = world.ours.keys
const patch = (body: object) => ask(app, 'PATCH /v1/organisation', { key: live, body })

test('a key sees its own organisation', async () => {
  const { body } = await ask(app, 'GET /v1/organisation', { key: live })
  assert.is(body.id, world.ours.organisationId)
  assert.is(body.object, 'organisation')
  assert.is(body.livemode, true)
  assert.equal(body.pci, { enabled: false, mask_dtmf: true, max_seconds: 300, payment_numbers_only: false })
})

test('PATCH merges nested objects: what is not sent stays', async () => {
  world.clock.advance(1000)
  const { status, body } = await patch({ pci: { enabled: true }, timezone: 'Asia/Jerusalem' })
  assert.is(status, 200)
  assert.equal(body.pci, { enabled: true, mask_dtmf: true, max_seconds: 300, payment_numbers_only: false })
  assert.is(body.timezone, 'Asia/Jerusalem')
  assert.is(body.name, 'Ours')
  assert.ok(body.updated > body.created)
  const settings = await organisationSettings(world.store.db, { ...world.ours, livemode: true })
  assert.equal(settings.pci, { enabled: true, maskDtmf: true, maxSeconds: 300, numbersOnly: false })
})

test('business hours, country and callback settings merge like the rest; null hours are always open', async () => {
  const before = (await patch({})).body
  assert.equal([before.country, before.business_hours], [null, null])
  assert.equal(before.callbacks, { default_route: 'agent_queue', max_attempts: 3, api_priority: 5, sla_minutes: 60 })
  const weekly = [{ day: 'monday', open: '09:00', close: '24:00' }]
  const first = await patch({ business_hours: { weekly }, country: 'IL', callbacks: { api_priority: 8 } })
  assert.equal(first.body.business_hours, { weekly, holidays: [] })
  assert.equal([first.body.country, first.body.callbacks.api_priority], ['IL', 8])
  const second = await patch({ business_hours: { holidays: ['2026-12-25'] }, callbacks: { sla_minutes: 5 } })
  assert.equal(second.body.business_hours, { weekly, holidays: ['2026-12-25'] })
  assert.equal(second.body.callbacks, { ...before.callbacks, api_priority: 8, sla_minutes: 5 })
  assert.is((await patch({ business_hours: null, country: null })).body.business_hours, null)
})

test('PATCH without a body changes nothing', async () => {
  assert.is((await patch({})).status, 200)
})

test('bad settings are refused by their place', async () => {
  for (const [body, param] of [
    [{ pci: { max_seconds: 0 } }, 'pci.max_seconds'],
    [{ pci: { on: true } }, 'pci.on'],
    [{ country: 'XX' }, 'country'],
    [{ country: 'de' }, 'country'],
    [{ business_hours: { holidays: [] } }, 'business_hours.weekly'],
    [{ business_hours: { weekly: [] } }, 'business_hours.weekly'],
    [
      { business_hours: { weekly: [{ day: 'monday', open: '09:00', close: '09:00' }] } },
      'business_hours.weekly[0].close',
    ],
    [{ business_hours: { weekly: [{ day: 'monday', open: '9', close: '10:00' }] } }, 'business_hours.weekly[0].open'],
    [{ callbacks: { api_priority: 11 } }, 'callbacks.api_priority'],
    [{ callbacks: { max_attempts: 0 } }, 'callbacks.max_attempts'],
    [{ timezone: 'Mars/Olympus' }, 'timezone'],
    [{ name: '' }, 'name'],
  ] as const) {
    const answer = await patch(body)
    assert.is(answer.status, 400)
    assert.is(answer.body.error.param, param)
  }
})

test('each mode has a stream signing secret of its own', async () => {
  const ofLive = (await ask(app, 'GET /v1/organisation', { key: live })).body.stream_signing_secret
  const ofTest = (await ask(app, 'GET /v1/organisation', { key: testKey })).body.stream_signing_secret
  assert.match(ofLive, /^whsec_[A-Za-z0-9+/]{43}=$/)
  assert.is.not(ofLive, ofTest)
})

test('another organisation is not touched', async () => {
  const theirs = await ask(app, 'GET /v1/organisation', { key: world.theirs.keys.live })
  assert.is(theirs.body.pci.enabled, false)
})

test('calls that are evaluated are of queues that exist, in either mode; one that was deleted since may stay', async () => {
  const { live, test: inTest, close } = await makeWholeApp()
  const sample = (...ids: string[]) => live('PATCH /v1/organisation', { qa_sampling: { queue_ids: ids } })
  const ofLive = (await live('POST /v1/queues', { name: 'Sales' })).body.id
  const ofTest = (await inTest('POST /v1/queues', { name: 'Sales' })).body.id
  assert.equal(refusal(await sample(ofLive, 'que_1')), [400, 'qa_sampling.queue_ids[1]', undefined])
  assert.equal((await sample(ofLive, ofTest)).body.qa_sampling.queue_ids, [ofLive, ofTest])
  assert.is((await live(`DELETE /v1/queues/${ofLive}`)).status, 200)
  assert.is((await sample(ofLive, ofTest)).status, 200)
  close()
})

test.run()
