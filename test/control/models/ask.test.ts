import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import Type from 'typebox'
import * as assert from 'uvu/assert'
import { judgedBy } from '../../../control/flows/judge.ts'
import { type Answer, ask } from '../../../control/models/ask.ts'
import { Models, type ModelWish } from '../../../control/models/choice.ts'
import { isModelFailure, type ModelFailure } from '../../../control/models/model.ts'
import { suite } from '../../harness.ts'

const test = suite('control/models/ask')

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

const never = new AbortController().signal
const live = { livemode: true }
const all = () => new Models({ baseUrl: `http://127.0.0.1:${port()}/v1`, apiKey: 'k', defaultModel: 'm0' })
const port = () => (server.address() as AddressInfo).port
const WISH: ModelWish = { model: 'm1', fallback_model: 'm2', temperature: 0.4, api: 'chat' }
const models = (more: ModelWish = {}) => {
  seen.length = 0
  return all().for(live, { ...WISH, ...more })
}
const usage = { prompt_tokens: 20, completion_tokens: 5 }
const chat = (content: string) => ({
  status: 200,
  body: JSON.stringify({ choices: [{ message: { content } }], usage }),
})
const asked = () => seen.map(({ body }) => body.model)

const schema = Type.Object({ city: Type.String() }, { additionalProperties: false })
const QUESTION = {
  name: 'place',
  schema,
  instructions: 'Find the city.',
  messages: [{ role: 'customer' as const, text: 'Haifa' }],
}
const OPTIONS = { signal: never, timeoutMs: 5000 }
const failureOf = (answered: Answer<typeof schema> | ModelFailure) =>
  isModelFailure(answered) ? answered.failure : assert.unreachable('it was answered')

test('the chat API gets instructions, the lines and a JSON schema, and gives an object of it; what it cost is told', async () => {
  answer = () => chat('```json\n{"city":"Haifa"}\n```')
  const paid: unknown[] = []
  const answered = await ask(models(), QUESTION, { ...OPTIONS, paid: (...cost) => paid.push(cost) })
  assert.equal(answered, { value: { city: 'Haifa' }, text: '```json\n{"city":"Haifa"}\n```', model: 'm1' })
  const [{ url, authorization, body }] = seen as [Seen]
  assert.equal([url, authorization, body.model, body.temperature], ['/v1/chat/completions', 'Bearer k', 'm1', 0.4])
  assert.match(body.messages[0].content, 'Find the city.')
  assert.equal(body.messages[1], { role: 'user', content: 'Haifa' })
  assert.is(body.stream, undefined)
  const { type, json_schema: shape } = body.response_format
  assert.equal([type, shape.name, shape.strict, shape.schema.required], ['json_schema', 'place', true, ['city']])
  assert.equal(paid, [['m1', { kind: 'usage', inputTokens: 20, outputTokens: 5 }]])
})

test('the responses API is spoken as well', async () => {
  const output = [{ type: 'reasoning' }, { content: [{ type: 'output_text', text: '{"city":"Haifa"}' }] }]
  const body = { output, status: 'completed', usage: { input_tokens: 7, output_tokens: 3 } }
  answer = () => ({ status: 200, body: JSON.stringify(body) })
  const paid: unknown[] = []
  const answered = await ask(models({ api: 'responses', priority: true }), QUESTION, {
    ...OPTIONS,
    paid: (_, { inputTokens, outputTokens }) => paid.push([inputTokens, outputTokens]),
  })
  assert.equal('value' in answered && answered.value, { city: 'Haifa' })
  assert.equal(
    [seen[0]!.url, seen[0]!.body.store, seen[0]!.body.input, seen[0]!.body.text.format.name],
    ['/v1/responses', false, [{ role: 'user', content: 'Haifa' }], 'place'],
  )
  assert.is(seen[0]!.body.service_tier, 'priority')
  assert.equal(paid, [[7, 3]])
})

test('when the model fails, the fallback model is asked once', async () => {
  answer = ({ body }) => (body.model === 'm1' ? { status: 503, body: '' } : chat('{"city":"Haifa"}'))
  const answered = await ask(models(), QUESTION, OPTIONS)
  assert.is('model' in answered && answered.model, 'm2')
  assert.equal(asked(), ['m1', 'm2'])
  answer = () => ({ status: 500, body: '' })
  assert.is(failureOf(await ask(models(), QUESTION, OPTIONS)), 'unavailable')
  assert.equal(asked(), ['m1', 'm2'])
})

test('what does not keep to the schema is sent back once, with what is wrong, to the model that wrote it', async () => {
  const answers = ['{"city":7}', '{"city":"Haifa"}']
  answer = () => chat(answers.shift() ?? '')
  const answered = await ask(models(), QUESTION, OPTIONS)
  assert.equal(answered, { value: { city: 'Haifa' }, text: '{"city":7}', model: 'm1' })
  assert.equal(asked(), ['m1', 'm1'])
  const [, said, repair] = seen[1]!.body.messages.slice(-3)
  assert.equal(said, { role: 'assistant', content: '{"city":7}' })
  assert.match(repair.content, '/city must be string')
  for (const text of ['hi', '[1]', '{"town":"Haifa"}', '{"failure":"x"}']) {
    answer = () => chat(text)
    assert.equal(await ask(models(), QUESTION, OPTIONS), { value: null, text, model: 'm1' })
    assert.is(seen.length, 2, 'and no oftener')
  }
})

test('a model that knows no structured output is asked without, the next time at once', async () => {
  answer = ({ body }) => ('response_format' in body ? { status: 400, body: '{}' } : chat('{"city":"Haifa"}'))
  const [first] = models()
  const known = [first!]
  for (const requests of [2, 3]) {
    const answered = await ask(known, QUESTION, OPTIONS)
    assert.equal('value' in answered && answered.value, { city: 'Haifa' })
    assert.is(seen.length, requests)
  }
  assert.match(seen[2]!.body.messages[0].content, '"city"', 'the schema stands in the instructions')
  answer = () => ({ status: 400, body: '{}' })
  const others = models()
  for (const requests of [4, 8]) {
    assert.is(failureOf(await ask(others, QUESTION, OPTIONS)), 'unavailable')
    assert.is(seen.length, requests, 'a question that is refused as well says nothing about schemas')
  }
})

test('an answer that is none is a bad answer, never an exception', async () => {
  for (const body of ['', '[]', 'null', '{"choices":7}', chat('').body, 'x'.repeat(1_100_000)]) {
    answer = () => ({ status: 200, body })
    assert.is(failureOf(await ask(models(), QUESTION, OPTIONS)), 'bad_answer', body.slice(0, 40))
  }
})

test('a provider that does not answer is given up after the time-out, and at once when the call is over', async () => {
  answer = () => null
  const [only] = models()
  assert.is(failureOf(await ask([only!], QUESTION, { ...OPTIONS, timeoutMs: 50 })), 'timeout')
  const over = new AbortController()
  const asking = ask(models(), QUESTION, { signal: over.signal, timeoutMs: 60_000 })
  over.abort()
  assert.is(failureOf(await asking), 'unavailable')
  assert.ok(seen.length <= 1, 'the fallback is not asked any more')
})

test('the narrower wish decides which model is asked, the operator where nobody has one', () => {
  const names = (...wishes: (ModelWish | null)[]) =>
    all()
      .for(live, ...wishes)
      .map(({ name }) => name)
  assert.equal(names(), ['m0'])
  assert.equal(names({ model: 'node' }, WISH), ['node', 'm2'])
  assert.equal(names({ model: null }, { model: '', fallback_model: '' }, null), ['m0'])
  assert.equal(names({ model: 'default', fallback_model: 'default' }, WISH), ['m0', 'm0'])
  assert.equal(all().for({ livemode: false }, WISH), [], 'test mode reaches nobody')
  assert.equal(new Models(null).for(live, WISH), [])
})

test("a flow's judge gets the intents and the line, and names one of them or none", async () => {
  const intents = [{ description: 'pays', examples: ['bill'] }]
  const judge = () => judgedBy(models(), { text: 'pay', intents, history: [] }, never)
  answer = () => chat('{"intent":0}')
  assert.equal(await judge(), { intent: 0 })
  assert.match(seen[0]!.body.messages[0].content, /0: pays.*"bill"/)
  assert.equal(seen[0]!.body.messages[1], { role: 'user', content: 'pay' })
  answer = () => chat('{"intent":null}')
  assert.equal(await judge(), { intent: null })
  for (const text of ['{"intent":9}', '{"intent":-1}', '{"failure":"x","intent":"0"}', 'pays']) {
    answer = () => chat(text)
    assert.is(((await judge()) as ModelFailure).failure, 'bad_answer', text)
  }
})

test.run()
