import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import * as assert from 'uvu/assert'
import { cosine, Embeddings, type Payer } from '../../../control/models/embeddings.ts'
import { type EmbeddingsAnswer, type EmbeddingsAsked, EmbeddingsProvider } from '../../fakes/embeddings-provider.ts'
import { suite } from '../../harness.ts'

const test = suite('control/models/embeddings')

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

interface Rig {
  provider: EmbeddingsProvider
  vectors: Embeddings
  clock: { now: number }
  paid: [string, number][]
  payer: (key?: string) => Payer
}

async function withProvider(
  answer: (asked: EmbeddingsAsked) => EmbeddingsAnswer,
  run: (rig: Rig) => Promise<void>,
  timeoutMs = 60_000,
): Promise<void> {
  const provider = await EmbeddingsProvider.listen(answer)
  const clock = { now: 0 }
  const paid: [string, number][] = []
  const settings = { baseUrl: provider.url, apiKey: 'key', model: 'small' }
  const vectors = new Embeddings(settings, { now: () => clock.now, timeoutMs })
  const payer = (key = 'ours') => ({
    key,
    paid: (model: string, { inputTokens }: { inputTokens: number }) => void paid.push([`${key} ${model}`, inputTokens]),
  })
  try {
    await run({ provider, vectors, clock, paid, payer })
  } finally {
    vectors.close()
    await provider.close()
  }
}

/** By the first letter: "a…" is one direction, all else the other. */
const byLetter = ({ input }: EmbeddingsAsked): EmbeddingsAnswer => ({
  vectors: input.map(text => (text.startsWith('a') ? [3, 0] : [0, 0.5])),
})

test('texts are asked for as OpenAI documents it, in one request, and are directions of length 1 by their index', () =>
  withProvider(byLetter, async ({ provider, vectors, paid, payer }) => {
    await Promise.all([vectors.learn(['apple tree'], ['box'], payer()), vectors.learn(['ant'], [], payer())])
    assert.is(provider.asked.length, 1)
    const [asked] = provider.asked
    assert.equal(
      [asked?.model, asked?.encoding_format, asked?.input.toSorted()],
      ['small', 'float', ['ant', 'apple tree', 'box']],
    )
    assert.equal(provider.keys, ['Bearer key'])
    assert.equal([...vectors.known('apple tree')!], [1, 0])
    assert.is(cosine(vectors.known('ant')!, vectors.known('apple tree')!), 1)
    assert.is(cosine(vectors.known('ant')!, vectors.known('box')!), 0)
    assert.equal(paid, [['ours small', 4]])
  }))

test('what is known is not asked for again, nor what is being asked for', () =>
  withProvider(byLetter, async ({ provider, vectors, payer }) => {
    await Promise.all([vectors.learn(['ant'], [], payer()), vectors.learn(['ant'], ['ant'], payer())])
    await vectors.learn(['ant', 'box'], [], payer())
    assert.equal(
      provider.asked.map(({ input }) => input),
      [['ant'], ['box']],
    )
  }))

test('a request has no more than 96 texts, of one payer, and who waits comes first', () =>
  withProvider(byLetter, async ({ provider, vectors, paid, payer }) => {
    const many = Array.from({ length: 150 }, (_, i) => `a${i}`)
    await Promise.all([vectors.learn([], many, payer()), vectors.learn(['box'], [], payer('theirs'))])
    assert.equal(
      provider.asked.map(({ input }) => input.length).toSorted((a, b) => a - b),
      [1, 54, 96],
    )
    assert.equal(paid.toSorted(), [
      ['ours small', 54],
      ['ours small', 96],
      ['theirs small', 1],
    ])
  }))

test('no more than 2,000 texts wait', () =>
  withProvider(byLetter, async ({ provider, vectors, payer }) => {
    const many = Array.from({ length: 2500 }, (_, i) => `a${i}`)
    await vectors.learn([], many, payer())
    assert.is(
      provider.asked.reduce((sum, { input }) => sum + input.length, 0),
      2000,
    )
  }))

for (const [name, answer] of [
  ['fails', { status: 500 }],
  ['answers no JSON', { body: 'I am a teapot' }],
  ['answers too few vectors', { vectors: [] }],
  ['answers vectors of no direction', { vectors: [[0, 0]] }],
  ['answers words for numbers', { body: '{"data":[{"index":0,"embedding":["x"]}]}' }],
  ['floods', { body: `{"data":"${'x'.repeat(17 * 1024 * 1024)}"}` }],
  ['is silent', 'nothing'],
] as [string, EmbeddingsAnswer][]) {
  test(`of a provider that ${name} nothing is known, and it is left alone for ten seconds`, () =>
    withProvider(
      () => answer,
      async ({ provider, vectors, clock, paid, payer }) => {
        await vectors.learn(['ant'], [], payer())
        await vectors.learn(['ant'], [], payer())
        assert.equal([vectors.known('ant'), provider.asked.length, paid], [undefined, 1, []])
        clock.now = 10_001
        if (answer !== 'nothing') await vectors.learn(['ant'], [], payer())
        assert.is(provider.asked.length, answer === 'nothing' ? 1 : 2)
      },
      answer === 'nothing' ? 2000 : 60_000,
    ))
}

test('a provider that is silent is given up in time though garbage is collected meanwhile', () =>
  withProvider(
    () => 'nothing',
    async ({ provider, vectors, payer }) => {
      const learning = vectors.learn(['ant'], [], payer())
      const collecting = setInterval(collectGarbage, 50)
      await learning
      clearInterval(collecting)
      assert.equal([vectors.known('ant'), provider.asked.length], [undefined, 1])
    },
    // Time for the provider, which is in this process, to read the request on a busy machine.
    2000,
  ))

test('whoever waits when it is closed waits no longer', () =>
  withProvider(
    () => 'nothing',
    async ({ vectors, payer }) => {
      const learning = vectors.learn(['ant'], [], payer())
      vectors.close()
      await learning
      assert.is(vectors.known('ant'), undefined)
    },
  ))

test.run()
