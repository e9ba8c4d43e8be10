import * as assert from 'uvu/assert'
import { chatWithFallback } from '../../../control/models/fallback.ts'
import type { ChatModel, ChatPart } from '../../../control/models/model.ts'
import { OpenAiClient } from '../../../control/models/openai-client.ts'
import type { WireSettings } from '../../../control/models/openai-wire.ts'
import type { OutgoingAnswer, OutgoingRequest } from '../../../media/protocol.ts'
import { suite } from '../../harness.ts'

const test = suite('control/models/openai-client')

const PROVIDER = { baseUrl: 'https://models.example.com/v1', apiKey: 'key' }
type Send = (request: OutgoingRequest) => Promise<OutgoingAnswer>

const openAiChat = (settings: Partial<WireSettings>, send: Send) =>
  new OpenAiClient(PROVIDER, send).model({ model: 'm1', temperature: null, api: 'chat', priority: false, ...settings })
const REQUEST = {
  instructions: 'Be short.',
  messages: [{ role: 'customer' as const, text: 'Hello' }],
  tools: [{ name: 'end_call', description: 'Ends.', parameters: { type: 'object' } }],
  passages: ['We open at nine.'],
}

const answerOf = (json: object): OutgoingAnswer => answered(200, new Blob([JSON.stringify(json)]).stream())

const answered = (status: number, body: AsyncIterable<Uint8Array>): OutgoingAnswer => ({
  ...{ status, headers: {}, body, isFromPublic: false, close: () => {} },
})

/** A provider that streams these events, cut anywhere. */
function provider(events: object[], status = 200) {
  const asked: { url: string; body: Record<string, unknown> }[] = []
  const send: Send = async ({ url, body: sent }) => {
    asked.push({ url, body: JSON.parse(String(sent)) })
    const text = [...events.map(event => JSON.stringify(event)), '[DONE]'].map(data => `data: ${data}\n\n`).join('')
    const bytes = new TextEncoder().encode(text)
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (let at = 0; at < bytes.length; at += 17) controller.enqueue(bytes.slice(at, at + 17))
        controller.close()
      },
    })
    return answered(status, body)
  }
  return { asked, send }
}

async function collect(parts: AsyncIterable<ChatPart>): Promise<ChatPart[]> {
  const all: ChatPart[] = []
  for await (const part of parts) all.push(part)
  return all
}

const never = new AbortController().signal

test('the chat API streams words, tool calls and what they cost', async () => {
  const { asked, send } = provider([
    { choices: [{ delta: { role: 'assistant', content: '' } }] },
    { choices: [{ delta: { content: 'Good' } }] },
    { choices: [{ delta: { content: 'bye.' } }] },
    {
      choices: [{ delta: { tool_calls: [{ index: 0, id: 'c1', function: { name: 'end_call', arguments: '{"a"' } }] } }],
    },
    {
      choices: [{ delta: { tool_calls: [{ index: 0, function: { arguments: ':1}' } }] }, finish_reason: 'tool_calls' }],
    },
    { choices: [], usage: { prompt_tokens: 20, completion_tokens: 5 } },
  ])
  const model = openAiChat({ temperature: 0.4 }, send)
  assert.equal(await collect(model.chat(REQUEST, never)), [
    { kind: 'text', text: 'Good' },
    { kind: 'text', text: 'bye.' },
    { kind: 'usage', inputTokens: 20, outputTokens: 5 },
    { kind: 'call', id: 'c1', name: 'end_call', input: { a: 1 } },
  ])
  const { url, body } = asked[0]!
  assert.is(url, 'https://models.example.com/v1/chat/completions')
  assert.is(body.stream, true)
  assert.match(JSON.stringify(body.messages), 'We open at nine.')
})

test('the responses API streams the same', async () => {
  const { asked, send } = provider([
    { type: 'response.created' },
    { type: 'response.output_text.delta', delta: 'Hello.' },
    {
      type: 'response.output_item.done',
      item: { type: 'function_call', call_id: 'c2', name: 'end_call', arguments: '{}' },
    },
    { type: 'response.completed', response: { usage: { input_tokens: 7, output_tokens: 3 } } },
  ])
  const model = openAiChat({ api: 'responses' }, send)
  assert.equal(await collect(model.chat(REQUEST, never)), [
    { kind: 'text', text: 'Hello.' },
    { kind: 'call', id: 'c2', name: 'end_call', input: {} },
    { kind: 'usage', inputTokens: 7, outputTokens: 3 },
  ])
  assert.is(asked[0]!.url, 'https://models.example.com/v1/responses')
})

test('tokens that are told with each event, or of an answer that is cut at its length, are counted, once', async () => {
  const said = (content: string, tokens: number) => ({
    choices: [{ delta: { content } }],
    usage: { prompt_tokens: 20, completion_tokens: tokens },
  })
  const chat = openAiChat({}, provider([said('Good', 1), said('bye.', 3)]).send)
  assert.equal((await collect(chat.chat(REQUEST, never))).slice(2), [
    { kind: 'usage', inputTokens: 20, outputTokens: 3 },
  ])
  const cut = openAiChat(
    { api: 'responses' },
    provider([
      { type: 'response.output_text.delta', delta: 'Good' },
      {
        type: 'response.output_item.done',
        item: { type: 'function_call', status: 'incomplete', call_id: 'c2', name: 'end_call', arguments: '{"a"' },
      },
      { type: 'response.incomplete', response: { usage: { input_tokens: 7, output_tokens: 3 } } },
    ]).send,
  )
  assert.equal((await collect(cut.chat(REQUEST, never))).slice(1), [{ kind: 'usage', inputTokens: 7, outputTokens: 3 }])
})

test('in one piece comes the same, over either API', async () => {
  const called = { name: 'end_call', arguments: '{"a":1}' }
  const chat = {
    choices: [
      { message: { content: 'Bye.', tool_calls: [called, called].map((fn, n) => ({ id: `c${n}`, function: fn })) } },
    ],
    usage: { prompt_tokens: 20, completion_tokens: 5 },
  }
  const responses = {
    output: [
      { type: 'message', content: [{ type: 'output_text', text: 'Bye.' }] },
      ...['c0', 'c1'].map(id => ({ type: 'function_call', call_id: id, ...called })),
    ],
    usage: { input_tokens: 20, output_tokens: 5 },
  }
  for (const [api, answer] of [
    ['chat', chat],
    ['responses', responses],
  ] as const) {
    const bodies: { stream?: boolean }[] = []
    const model = openAiChat({ api }, async ({ body }) => {
      bodies.push(JSON.parse(String(body)))
      return answerOf(answer)
    })
    const parts = await collect(model.chat({ ...REQUEST, form: 'whole' }, never))
    assert.equal(
      parts.toSorted((a, b) => (a.kind < b.kind ? -1 : 1)),
      [
        { kind: 'call', id: 'c0', name: 'end_call', input: { a: 1 } },
        { kind: 'call', id: 'c1', name: 'end_call', input: { a: 1 } },
        { kind: 'text', text: 'Bye.' },
        { kind: 'usage', inputTokens: 20, outputTokens: 5 },
      ],
    )
    assert.equal(
      bodies.map(({ stream }) => stream),
      [undefined],
    )
  }
  const failed = openAiChat({ api: 'responses' }, async () => answerOf({ status: 'failed', output: [] }))
  assert.equal(
    (await collect(failed.chat({ ...REQUEST, form: 'whole' }, never))).map(({ kind }) => kind),
    ['failure'],
  )
})

test('what is no stream of JSON, and a refusal, are failures and never thrown', async () => {
  const refused = openAiChat({}, provider([], 503).send)
  assert.is((await collect(refused.chat(REQUEST, never)))[0]!.kind, 'failure')
  const garbled = openAiChat({}, async () => {
    return answered(200, new Blob(['data: {oops\n\n']).stream())
  })
  const [part] = await collect(garbled.chat(REQUEST, never))
  assert.ok(part?.kind === 'failure' && part.failure.failure === 'bad_answer')
})

const saying = (name: string, parts: ChatPart[], afterMs = 0): ChatModel => ({
  name,
  async *chat(_, signal) {
    await new Promise(resolve => {
      const timer = setTimeout(resolve, afterMs)
      signal.addEventListener('abort', () => {
        clearTimeout(timer)
        resolve(null)
      })
    })
    if (!signal.aborted) yield* parts
  },
})

test('the fallback model answers when the first fails or has no word in time; both failing is a failure', async () => {
  const words: ChatPart = { kind: 'text', text: 'Hi.' }
  const broken: ChatPart = { kind: 'failure', failure: { failure: 'unavailable', message: 'down' } }
  const second = saying('second', [words])
  for (const first of [saying('first', [broken]), saying('first', [words], 60_000), saying('first', [])]) {
    const used: string[] = []
    const options = { signal: never, firstPartMs: 50, used: (name: string) => used.push(name) }
    assert.equal(await collect(chatWithFallback([first, second], REQUEST, options)), [words])
    assert.equal(used, ['first', 'second'])
  }
  const options = { signal: never, firstPartMs: 50, used: () => {} }
  const none = await collect(chatWithFallback([saying('a', [broken]), saying('b', [broken])], REQUEST, options))
  assert.is(none.at(-1)?.kind, 'failure')
})

test("half of a character, as a customer's server may send it, is not passed on: a provider refuses the whole request", async () => {
  const { asked, send } = provider([{ choices: [{ delta: { content: 'Yes.' } }] }])
  const result = { role: 'result' as const, id: 'c1', output: JSON.parse('"Anna \\ud83d"') as string }
  await collect(openAiChat({}, send).chat({ ...REQUEST, messages: [...REQUEST.messages, result] }, never))
  assert.is((asked[0]!.body.messages as { content: string }[]).at(-1)!.content, 'Anna \ufffd')
})

test.run()
