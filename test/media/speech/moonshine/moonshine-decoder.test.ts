import fc from 'fast-check'
import { type InferenceSession, Tensor } from 'onnxruntime-web'
import * as assert from 'uvu/assert'
import { MoonshineDecoder } from '../../../../media/speech/moonshine/moonshine-decoder.ts'
import { suite } from '../../../harness.ts'

const test = suite('media/speech/moonshine/moonshine-decoder')

const END = 2
const WORDS = 12
const HEADS = 8
const WIDTH = 36
const LIMIT = 30
const CACHES = ['decoder', 'encoder'].flatMap(half =>
  ['key', 'value'].flatMap(part => Array.from({ length: 6 }, (_, layer) => `present.${layer}.${half}.${part}`)),
)
const STATES = new Tensor('float32', new Float32Array(1), [1, 1, 1])

/** A model whose next token depends on all before it; each head of its cache holds exactly these. */
class Model {
  runs = 0
  readonly outputNames = ['logits', ...CACHES]
  readonly #next: (before: readonly number[]) => number

  constructor(next: (before: readonly number[]) => number) {
    this.#next = next
  }

  async run(feeds: Record<string, Tensor>, fetches: readonly string[] = this.outputNames) {
    this.runs++
    const cached = feeds.use_cache_branch!.data[0] === 1 ? cachedIn(feeds['past_key_values.0.decoder.key']!) : []
    const all = [...cached, ...Array.from(feeds.input_ids!.data as BigInt64Array, Number)]
    const logits = new Float32Array((all.length - cached.length) * WORDS)
    for (let i = cached.length; i < all.length; i++) {
      logits[(i - cached.length) * WORDS + this.#next(all.slice(0, i + 1))] = 10
    }
    const cache = cacheOf(all)
    const outputs: Record<string, Tensor> = {
      ...Object.fromEntries(CACHES.map(name => [name, name.includes('.decoder.') ? cache : STATES])),
      logits: new Tensor('float32', logits, [1, all.length - cached.length, WORDS]),
    }
    return Object.fromEntries(fetches.map(name => [name, outputs[name]]))
  }
}

/** Shared by all layers. */
function cacheOf(tokens: readonly number[]): Tensor {
  const data = new Float32Array(HEADS * tokens.length * WIDTH)
  for (let i = 0; i < HEADS * tokens.length; i++) data.fill(tokens[i % tokens.length]!, i * WIDTH, (i + 1) * WIDTH)
  return new Tensor('float32', data, [1, HEADS, tokens.length, WIDTH])
}

function cachedIn({ data, dims }: Tensor): number[] {
  const tokens = Array.from({ length: dims[2]! }, (_, i) => data[i * WIDTH] as number)
  assert.ok(data.length === HEADS * tokens.length * WIDTH)
  for (let i = 0; i < data.length; i++) assert.ok(data[i] === tokens[Math.floor(i / WIDTH) % tokens.length])
  return tokens
}

async function decoded(next: (before: readonly number[]) => number, draft: readonly number[]) {
  const model = new Model(next)
  const decoder = new MoonshineDecoder(model as unknown as InferenceSession)
  return { ...(await decoder.decode(STATES, LIMIT, draft)), runs: model.runs }
}

const saying = (text: readonly number[]) => (before: readonly number[]) => text[before.length - 1] ?? END
const TEXT = [5, 9, 4, 7, 7, 3, 8, 11, 6, 10]

test('token by token without a draft, and at once with the right one', async () => {
  const alone = await decoded(saying(TEXT), [])
  assert.equal(alone.tokens, TEXT)
  assert.is(alone.runs, TEXT.length + 1)
  const checked = await decoded(saying(TEXT), TEXT)
  assert.equal(checked, { ...alone, runs: 1 })
})

test('a draft that lacks the end, or has a word too much, too few or another, saves most of the way', async () => {
  for (const draft of [
    TEXT.slice(0, 6),
    [...TEXT, 4, 5],
    TEXT.toSpliced(4, 1),
    TEXT.toSpliced(4, 0, 6),
    TEXT.with(4, 11),
    TEXT.toSpliced(4, 2, 6, 6),
  ]) {
    const { tokens, runs } = await decoded(saying(TEXT), draft)
    assert.equal(tokens, TEXT, String(draft))
    assert.ok(runs <= 6, `${draft}: ${runs}`)
  }
})

test('a draft of something else costs no run more than none', async () => {
  const { tokens, runs } = await decoded(saying(TEXT), [3, 6, 11, 3, 6, 11])
  assert.equal(tokens, TEXT)
  assert.is(runs, TEXT.length + 1)
})

test('whatever the draft, the tokens and how sure the model is are its own', async () => {
  const token = fc.nat(WORDS - 1)
  await fc.assert(
    fc.asyncProperty(fc.array(token, { maxLength: 40 }), fc.nat(1000), async (draft, seed) => {
      // Not a fixed text: each token depends on all before it.
      const next = (before: readonly number[]): number =>
        before.reduce((sum, one, i) => (sum * 31 + one * (i + 7)) % 1009, seed) % WORDS
      const own = await decoded(next, [])
      const { runs, ...guided } = await decoded(next, draft)
      const { runs: most, ...alone } = own
      assert.equal(guided.tokens, alone.tokens)
      assert.ok(Math.abs(guided.confidence - alone.confidence) < 1e-6)
      assert.ok(runs <= most)
    }),
    { numRuns: 100 },
  )
})

test('speech has no end: it stops at the limit, whatever the draft', async () => {
  const endless = () => 5
  for (const draft of [[], Array(50).fill(5), Array(LIMIT).fill(5), Array(LIMIT - 1).fill(5)]) {
    const { tokens, confidence } = await decoded(endless, draft)
    assert.is(tokens.length, LIMIT)
    assert.ok(confidence < 0 && confidence > -1)
  }
})

test('what is not wanted any more is decoded no further', async () => {
  const model = new Model(saying(TEXT))
  const decoder = new MoonshineDecoder(model as unknown as InferenceSession)
  await decoder.decode(STATES, LIMIT, [], () => model.runs < 3)
  assert.is(model.runs, 3)
})

test('the first token is the end only where the model is sure of silence', async () => {
  const { tokens } = await decoded(() => END, [5])
  assert.equal(tokens, [])
})

test.run()
