// One database: addresses are judged before anything is stored.
import * as assert from 'uvu/assert'
import { resolveHost } from '../../../control/http/url-policy.ts'
import { suite } from '../../harness.ts'
import { APP_CONFIG, makeWholeApp, type WholeApp } from '../whole-app.ts'

const test = suite('control/http/private-urls')

let world: WholeApp
test.before(async () => {
  world = await makeWholeApp()
})
test.after(() => world.close())

const tool = (url: string) => ({ name: 'order', url })
const graph = (url: string) => ({ nodes: [{ key: 'act', type: 'action', action: { kind: 'api', name: 'a', url } }] })

/** What takes an address of a customer's, and the parameter that is named when it is private. */
const TAKERS: [operation: string, param: string, body: (host: string) => object][] = [
  ['POST /v1/webhook_endpoints', 'url', host => ({ url: `http://${host}/` })],
  ['POST /v1/assistants', 'tools[0].url', host => ({ name: 'Desk', tools: [tool(`http://${host}/`)] })],
  ['POST /v1/flows', 'graph.nodes[0].action.url', host => ({ name: 'Menu', graph: graph(`http://${host}/`) })],
  ['POST /v1/connections', 'host', host => ({ name: 'Trunk', kind: 'trunk', host })],
]

for (const mode of ['live', 'test'] as const) {
  for (const [operation, param, body] of TAKERS) {
    test(`with a ${mode} key ${operation} refuses a private address and names the setting that allows it`, async () => {
      for (const host of ['127.0.0.1', '10.1.2.3', '169.254.169.254', '192.168.1.1', '[::1]', '[::ffff:10.0.0.1]']) {
        const { status, body: answer } = await world[mode](operation, body(host))
        assert.equal([status, answer.error?.param], [400, param], host)
        assert.match(answer.error.message, 'TANDEM_ALLOW_PRIVATE_URLS')
      }
    })
  }

  test(`with a ${mode} key what the operator allows is taken`, async () => {
    const open = await makeWholeApp({ config: { ...APP_CONFIG, allowPrivateUrls: ['10.0.0.0/8'] } })
    for (const [operation, , body] of TAKERS) {
      assert.is((await open[mode](operation, body('10.1.2.3'))).status, 201, operation)
      assert.is((await open[mode](operation, body('127.0.0.1'))).status, 400, operation)
    }
    await open.close()
  })
}

test('a change is judged as a creation is', async () => {
  const { id } = (await world.test('POST /v1/assistants', { name: 'Desk' })).body
  const assistant = await world.test(`PATCH /v1/assistants/${id}`, { tools: [tool('http://127.0.0.1/')] })
  assert.equal([assistant.status, assistant.body.error.param], [400, 'tools[0].url'])
  const flow = (await world.test('POST /v1/flows', { name: 'Menu' })).body
  const draft = { base_rev: flow.draft_rev, graph: graph('http://127.0.0.1/') }
  const written = await world.test(`PUT /v1/flows/${flow.id}/draft`, draft)
  assert.equal([written.status, written.body.error.param], [400, 'graph.nodes[0].action.url'])
})

test('a name whose name servers are silent holds a request up for two seconds, not for all their time-outs', async () => {
  const from = performance.now()
  const silent = () => new Promise<never>(() => {})
  // What keeps the process alive meanwhile is a server's socket.
  const alive = setTimeout(() => {}, 8000)
  assert.equal(await resolveHost('silent.example', silent as never), [])
  clearTimeout(alive)
  assert.ok(performance.now() - from < 6000)
})

test.run()
