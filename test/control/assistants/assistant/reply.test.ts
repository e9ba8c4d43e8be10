import * as assert from 'uvu/assert'
import { bestSentences } from '../../../../control/assistants/assistant/answer-by-words.ts'
import { reply } from '../../../../control/assistants/assistant/reply.ts'
import { runTool } from '../../../../control/assistants/assistant/tools.ts'
import { heardPart, SentenceCutter } from '../../../../control/assistants/conversation/sentences.ts'
import type { ChatModel, ChatPart } from '../../../../control/models/model.ts'
import { suite } from '../../../harness.ts'
import { openTestStore } from '../../database.ts'

const test = suite('control/assistants/assistant/reply')

const never = new AbortController().signal

/** A model that says this. */
const saying = (parts: ChatPart[]): ChatModel => ({
  name: 'm',
  async *chat() {
    yield* parts
  },
})

test('a sentence is given out as soon as it is whole, whatever pieces it came in', () => {
  const text = 'Hello there! We open at nine. It is 3.5 euros, Dr. No'
  for (let size = 1; size < 12; size++) {
    const cutter = new SentenceCutter()
    const sentences: string[] = []
    for (let at = 0; at < text.length; at += size) sentences.push(...cutter.push(text.slice(at, at + size)))
    assert.equal(sentences.slice(0, 2), ['Hello there!', 'We open at nine.'])
    const rest = cutter.flush()
    assert.is([...sentences.slice(2), ...(rest === null ? [] : [rest])].join(' '), 'It is 3.5 euros, Dr. No')
  }
  assert.is(heardPart('We open at nine in the morning.', 1000), 'We open at nine')
  assert.is(heardPart('We open.', 5000), 'We open.')
})

test('where words have no spaces between them, sentences are cut behind their marks, and what was heard is told by the word', () => {
  const cutter = new SentenceCutter()
  assert.equal(cutter.push('「かしこまりました。'), [])
  assert.equal(cutter.push('」担当者におつなぎいたします。'), ['「かしこまりました。」'])
  assert.is(cutter.flush(), '担当者におつなぎいたします。')
  assert.is(heardPart('我们九点开门，欢迎光临。', 1000), '我们九点开门，')
  assert.is(heardPart('我们九点开门，欢迎光临。', 3000), '我们九点开门，欢迎光临。')
  assert.is(heardPart('We open at nine.', 100), '')
})

test('the offline model answers with the sentence that has most of the question', () => {
  const passages = ['We sell boats. Delivery takes three days. On Sunday we are closed.']
  assert.is(bestSentences('How long does a delivery take?', passages), 'Delivery takes three days.')
  assert.is(bestSentences('Are you open on Sunday?', passages), 'On Sunday we are closed.')
  assert.is(bestSentences('What is the meaning of life?', passages), null)
})

test('a model that says anything is bounded: sentences in length, an answer in words and in tools', async () => {
  const store = await openTestStore()
  for (const endless of ['!'.repeat(100_000), 'a'.repeat(100_000), ', '.repeat(50_000)]) {
    const lengths = new SentenceCutter().push(endless).map(({ length }) => length)
    assert.ok(Math.max(...lengths) <= 240)
  }
  const faces = new SentenceCutter().push(`x${'👍'.repeat(300)}`)
  assert.is(faces[0], `x${'👍'.repeat(119)}`, 'a piece does not end within a character')
  const call = (n: number): ChatPart => ({ kind: 'call', id: `c${n}`, name: 'look_up', input: {} })
  const hooks = { say: async () => {}, firstToken: () => {}, model: () => {}, tokens: () => {}, tool: () => {} }
  const answering = async (parts: ChatPart[]) => {
    const [said, ran]: [string[], string[]] = [[], []]
    const request = {
      tenant: { organisationId: 'org_1', livemode: true },
      instructions: '',
      documentIds: null,
      messages: [],
      tools: [],
      conclude: () => null,
      run: async ({ id }: { id: string }) => {
        ran.push(id)
        return { status: 'succeeded' as const, output: 'found' }
      },
      filler: '',
      signal: never,
    }
    const models = { models: [saying(parts)], passagesFor: async () => ({ passages: [] }), db: store.db }
    const made = await reply(models, request, { ...hooks, say: async sentence => void said.push(sentence) })
    return { said: said.join(' '), ran, made }
  }
  const greedy = await answering(Array.from({ length: 50 }, (_, n) => call(n)))
  assert.is(greedy.ran.length, 4 * 8, 'four times eight, and no more')
  assert.is(greedy.made.failed, 'the model only asks for tools')
  const talkative = await answering(Array.from({ length: 1000 }, () => ({ kind: 'text', text: 'And so on. ' })))
  assert.ok(talkative.said.length > 2900 && talkative.said.length < 3100)
  await store.close()
})

test("patterns of a tool's schema run in bounded time", async () => {
  const parameters = { type: 'object', properties: { word: { type: 'string', pattern: '^(a+)+$' } } }
  const tool = { name: 'spell', description: '', url: 'https://example.com/', parameters }
  const sent: string[] = []
  const http = {
    allowedNetworks: [],
    secrets: async () => new Map(),
    post: async ({ body }: { body: string }) => {
      sent.push(body)
      return { status: 200, body: 'fine' }
    },
  }
  const tenant = { organisationId: 'org', livemode: true }
  const called = { id: 'c', name: 'spell', key: 'k', signal: never, tenant, call: {} }
  const spell = (word: string) => runTool(http as never, { tools: [tool], shared: [] }, { ...called, input: { word } })
  assert.is((await spell(`${'a'.repeat(40)}!`)).status, 'failed')
  assert.equal(await spell('aaa'), { status: 'succeeded', output: 'fine' })
  assert.equal(sent, ['{"word":"aaa"}'])
})

test.run()
