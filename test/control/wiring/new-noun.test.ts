import * as assert from 'uvu/assert'
import { enlist } from '../../../control/http/noun.ts'
import { reminders } from '../../examples/reminders/noun.ts'
import { WebhookReceiver } from '../../fakes/webhook-receiver.ts'
import { suite } from '../../harness.ts'
import { until } from '../calls-world.ts'
import { dispatcherOf } from '../webhooks/webhook-world.ts'
import { APP_CONFIG, makeWholeApp, VAULT } from '../whole-app.ts'

// Own process: what is enlisted stays.
const test = suite('control/wiring/new-noun')

test("CONTRIBUTING's example: one folder and one line make a resource that is served, validated, documented and told of", async () => {
  enlist(reminders)
  const receiver = await new WebhookReceiver().listen()
  const config = { allowPrivateUrls: ['127.0.0.0/8'] }
  const world = await makeWholeApp({ config: { ...APP_CONFIG, ...config } })
  const dispatcher = dispatcherOf(world, { vault: VAULT, allowedNetworks: config.allowPrivateUrls })
  await world.live('POST /v1/webhook_endpoints', { url: `${receiver.url}/`, event_types: ['reminder.created'] })

  const refused = await world.live('POST /v1/reminders', { txt: 'Water' })
  assert.equal([refused.status, refused.body.error.param], [400, 'txt'])
  const made = await world.live('POST /v1/reminders', { text: 'Water the plants.' })
  assert.is(made.status, 201)
  assert.match(made.body.id, /^rem_/)
  const path = `/v1/reminders/${made.body.id}`
  assert.is((await world.live(`PATCH ${path}`, { text: 'Feed the cat.' })).body.text, 'Feed the cat.')
  assert.is((await world.live('GET /v1/reminders')).body.data[0].text, 'Feed the cat.')
  assert.is((await world.test(`GET ${path}`)).status, 404, 'of the other mode')
  const { body: document } = await world.live('GET /openapi.json')
  assert.equal(Object.keys(document.paths['/v1/reminders'] ?? document.paths['/reminders']), ['post', 'get'])

  dispatcher.start()
  await until(() => receiver.received.length > 0)
  const sent = JSON.parse(receiver.received[0]!.body)
  assert.equal([sent.type, sent.data.object], ['reminder.created', made.body])
  assert.is((await world.live(`DELETE ${path}`)).body.deleted, true)
  await dispatcher.close()
  await receiver.close()
  await world.close()
})

test.run()
