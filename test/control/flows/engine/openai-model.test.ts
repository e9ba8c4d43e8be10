import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as assert from 'uvu/assert'
import type { ModelSettings } from '../../../../control/flows/engine/model.ts'
import { openAiModel } from '../../../../control/flows/engine/openai-model.ts'
import { suite } from '../../../harness.ts'

const test = suite('control/flows/engine/openai-model')

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
type Seen = { url: string; authorization: string | undefined; body: any }

/** A provider on a real socket: answers with what `answer` says, or never (null). */
let answer: (seen: Seen) => { status: number; body: string } | null = () => null
const seen: Seen[] = []
const server = createServer(async (request, response) => {
  const one = { url: String(request.url), authorization: request.headers.authorization, body: await read(request) }
  seen.push(one)
  const reply = answer(one)
  if (reply !== null) response.writeHead(reply.status).end(reply.body)
})
async function read(request: IncomingMessage): Promise<unknown> {
  let text = ''
  for await (const chunk of request) text += chunk
  return JSON.parse(text)
}
await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
test.after(() => {
  server.closeAllConnections()
  server.close()
})

const SETTINGS: ModelSettings = { model: 'm1', fallbackModel: 'm2', temperature: 0.4, api: 'chat' }
const model = (more: Partial<ModelSettings> = {}, timeoutMs = 5000, signal = new AbortController().signal) => {
  seen.length = 0
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  return openAiModel({ baseUrl, apiKey: 'k', timeoutMs }, { ...SETTINGS, ...more }, signal)
}
const chat = (content: string) => ({ status: 200, body: JSON.stringify({ choices: [{ message: { content } }] }) })
const ASK = {
  goal: 'Find the city.',
  model: null,
  instructions: 'Be kind.',
  language: 'he',
  history: [{ role: 'customer' as const, text: 'Haifa' }],
}
const JUDGE = { text: 'pay', intents: [{ description: 'pays', examples: ['bill'] }], history: [] }

test('the chat API gets instructions and the call so far, and gives the next line', async () => {
  answer = () => chat('{"say":"Which street?","done":false,"value":null}')
  assert.equal(await model().reply(ASK), { text: 'Which street?', done: false, value: null })
  const [{ url, authorization, body }] = seen as [Seen]
  assert.equal([url, authorization, body.model, body.temperature], ['/v1/chat/completions', 'Bearer k', 'm1', 0.4])
  assert.match(body.messages[0].content, /Be kind\.[\s\S]*he[\s\S]*Find the city\./)
  assert.equal(body.messages[1], { role: 'user', content: 'Haifa' })
})

test('the responses API is spoken as well', async () => {
  const output = [{ type: 'reasoning' }, { content: [{ type: 'output_text', text: '{"intent":0}' }] }]
  answer = () => ({ status: 200, body: JSON.stringify({ output }) })
  assert.equal(await model({ api: 'responses' }).judge(JUDGE), { intent: 0 })
  assert.equal(
    [seen[0]!.url, seen[0]!.body.store, seen[0]!.body.input],
    ['/v1/responses', false, [{ role: 'user', content: 'pay' }]],
  )
})

test('when the model fails, the fallback model is asked once', async () => {
  answer = ({ body }) => (body.model === 'm1' ? { status: 503, body: '' } : chat('{"intent":null}'))
  assert.equal(await model().judge(JUDGE), { intent: null })
  assert.equal(
    seen.map(({ body }) => body.model),
    ['m1', 'm2'],
  )
  answer = () => ({ status: 500, body: '' })
  assert.is(((await model().judge(JUDGE)) as { failure: string }).failure, 'unavailable')
  assert.is(seen.length, 2)
})

test('whatever else comes back is a bad answer, never an exception', async () => {
  for (const body of [
    '',
    '[]',
    'null',
    '{"choices":7}',
    chat('hi').body,
    chat('[1]').body,
    chat('{"intent":9}').body,
    chat('{"failure":"x","intent":"0"}').body,
    'x'.repeat(300_000),
  ]) {
    answer = () => ({ status: 200, body })
    assert.is(((await model().judge(JUDGE)) as { failure: string }).failure, 'bad_answer', body.slice(0, 40))
  }
})

test('a provider that does not answer is given up after the time-out, and at once when the call is over', async () => {
  answer = () => null
  assert.is(((await model({ fallbackModel: null }, 50).reply(ASK)) as { failure: string }).failure, 'timeout')
  const over = new AbortController()
  const asked = model({}, 60_000, over.signal).reply(ASK)
  over.abort()
  assert.is(((await asked) as { failure: string }).failure, 'unavailable')
  assert.ok(seen.length <= 1, 'the fallback is not asked any more')
})

test.run()
