// One database: what is searched is its file.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { pino } from 'pino'
import * as assert from 'uvu/assert'
import { openStore } from '../../../control/kernel/store/store.ts'
import { type ChatAnswer, ChatProvider } from '../../fakes/chat-provider.ts'
import { WebhookReceiver } from '../../fakes/webhook-receiver.ts'
import { suite } from '../../harness.ts'
import { callOf, makeLiveWorld } from '../assistants/live-world.ts'
import { until } from '../calls-world.ts'
import { dispatcherOf } from '../webhooks/webhook-world.ts'

const test = suite('control/tools/secret-leaks')

const OLD = 'sk"old\\ value/+7c1d'
const SECRET = 'sk"new\\ value/+42ab'

/** A server that gives back all that it was sent, in every form that it knows. */
async function echo(secrets: readonly string[]) {
  const asked: { headers: IncomingMessage['headers']; body: string; url: string }[] = []
  let failures = 1
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', part => (body += part))
    request.on('end', () => {
      const { headers, url = '' } = request
      asked.push({ headers, body, url })
      if (failures-- > 0) return response.writeHead(503).end(headers.authorization)
      const bytes = Buffer.from(`${headers.authorization}`)
      const forms = ['base64', 'base64url', 'hex'] as const
      const unicode = [...secrets.join()].map(one => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')
      response.end(
        `{"state":"shipped","unicode":"${unicode}","all":${JSON.stringify([headers, body, secrets.map(encodeURIComponent), ...forms.map(form => bytes.toString(form))])}}`,
      )
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const close = () => new Promise(resolve => server.close(resolve))
  return { asked, url, close }
}

/** Every form in which a secret could be read in a text. */
const formsOf = (secret: string): string[] => [
  secret,
  JSON.stringify(secret).slice(1, -1),
  JSON.stringify(JSON.stringify(secret).slice(1, -1)).slice(1, -1),
  encodeURIComponent(secret),
  Buffer.from(secret).toString('hex'),
  ...['', 'a', 'ab'].map(before =>
    Buffer.from(`${before}${secret}`)
      .toString('base64')
      .slice(before.length === 0 ? 0 : 4)
      .replace(/.{0,4}=*$/, ''),
  ),
]

test("a secret stands in no log, event, webhook, step, prompt, answer or file, though the tool's server gives it back", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tandem-leaks-'))
  const file = join(dataDir, 'tandem.db')
  let logged = ''
  const sink = new Writable({
    write: (part, _, done) => {
      logged += part
      done()
    },
  })
  const log = pino({ level: 'trace' }, sink)
  const server = await echo([SECRET])
  const receiver = await new WebhookReceiver().listen()
  const rounds: ChatAnswer[] = [{ tool: 'order_state', input: { order: 42 } }, { text: 'It was shipped.' }]
  const provider = await ChatProvider.listen(() => rounds.shift() ?? { text: 'Yes.' })
  const config = {
    ...{ modelUrl: provider.url, modelKey: 'key', modelName: 'first', allowPrivateUrls: ['127.0.0.0/8'] },
    dataDir,
  }
  const store = await openStore(file)
  const world = await makeLiveWorld(config, { opened: store, log })
  const dispatcher = dispatcherOf(world)
  const answers: string[] = []
  const ask = async (line: string, body?: object) => {
    const answer = await world.ask(line, body)
    answers.push(answer.text)
    return answer
  }

  await ask('POST /v1/webhook_endpoints', { url: receiver.url, event_types: ['*'] })
  const made = await ask('POST /v1/secrets', { name: 'SHOP_KEY', value: OLD })
  assert.equal([made.status, made.body.version, 'value' in made.body], [201, 1, false])
  const tool = await ask('POST /v1/tools', {
    name: 'order_state',
    parameters: { type: 'object', properties: { order: { type: 'integer' } }, required: ['order'] },
    http: {
      url: `${server.url}/orders/{{order}}`,
      headers: { authorization: 'Bearer {{secret:SHOP_KEY}}' },
      body: { order: '{{order}}', key: '{{secret:SHOP_KEY}}', from: '{{caller}}' },
      retries: 1,
    },
  })
  assert.equal(tool.body.secrets, ['SHOP_KEY'])
  const rotated = await ask(`POST /v1/secrets/${made.body.id}/rotate`, { value: SECRET })
  assert.equal([rotated.body.version, rotated.body.used_by[0].id], [2, tool.body.id])
  await ask(`POST /v1/secrets/${made.body.id}/rotate`, { value: 'short' })

  const assistant = await ask('POST /v1/assistants', { name: 'Desk', greeting: 'Hello.', tool_ids: [tool.body.id] })
  await world.make('/inbound_routes', { match: { to: '3000' }, target: { type: 'assistant', id: assistant.body.id } })
  dispatcher.start()
  const { media } = world
  media.dialIn('part_1', '3000')
  const callId = await callOf(world, 'part_1')
  await until(() => media.sent('leg.play').length === 1)
  media.utter('part_1', 'Where is my order?')
  await until(() => provider.asked.length === 2 && media.sent('leg.play').length === 2)
  media.hangUp('part_1')
  await until(() => world.programs.running === 0)
  await media.committed()

  assert.equal(
    server.asked.map(({ url, headers }) => [url, headers.authorization]),
    Array(2).fill(['/orders/42', `Bearer ${SECRET}`]),
    'what was rotated away is not sent',
  )
  assert.is(server.asked[0]!.headers['idempotency-key'], server.asked[1]!.headers['idempotency-key'])
  const sent = JSON.parse(server.asked[1]!.body)
  assert.equal([sent.order, sent.key], [42, SECRET], 'a parameter alone keeps its type')
  const shown = String(provider.asked[1]!.messages.find(({ role }) => role === 'tool')?.content)
  assert.match(shown, 'shipped')
  assert.match(shown, '[secret:SHOP_KEY]')

  const dry = await ask(`POST /v1/tools/${tool.body.id}/test`, { arguments: { order: 7 } })
  assert.equal(
    [dry.body.request.headers.authorization, JSON.parse(dry.body.request.body).key, server.asked.length],
    ['Bearer [secret:SHOP_KEY]', '[secret:SHOP_KEY]', 2],
  )
  const real = await ask(`POST /v1/tools/${tool.body.id}/test`, { mode: 'real', arguments: { order: 7 } })
  assert.equal([real.body.status, real.body.http_status, server.asked.length], ['succeeded', 200, 3])
  const gone = await ask(`DELETE /v1/secrets/${made.body.id}`)
  assert.equal([gone.status, gone.body.error.details.used_by[0].id], [409, tool.body.id])

  const steps = await ask(`GET /v1/calls/${callId}/flow_run`)
  assert.is(steps.body.actions[0].name, 'order_state')
  for (const path of ['/secrets', `/secrets/${made.body.id}`, '/tools', `/tools/${tool.body.id}/versions`])
    await ask(`GET /v1${path}`)
  for (const path of ['/events?limit=100', '/request_logs', `/calls/${callId}/turns`, `/calls/${callId}/events`])
    await ask(`GET /v1${path}`)
  await until(() => receiver.received.some(({ body }) => JSON.parse(body).type === 'secret.rotated'))
  await dispatcher.close()
  await world.close()

  const files = readdirSync(dataDir).map(name => readFileSync(join(dataDir, name), 'latin1'))
  const outputs = {
    ...{ log: logged, answers: answers.join('\n'), prompts: JSON.stringify(provider.asked), files: files.join('\n') },
    webhooks: JSON.stringify(receiver.received),
    spoken: JSON.stringify(media.sent('leg.play')),
  }
  assert.ok(
    outputs.log !== '' && outputs.files.includes('order_state') && outputs.webhooks.includes('SHOP_KEY'),
    'it is searched where it would be',
  )
  for (const [name, output] of Object.entries(outputs))
    for (const secret of [OLD, SECRET])
      for (const form of formsOf(secret)) assert.not.ok(output.includes(form), `${name} holds ${form}`)
  await Promise.all([server.close(), provider.close(), receiver.close()])
  rmSync(dataDir, { recursive: true })
})

test.run()
