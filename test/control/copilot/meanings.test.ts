import * as assert from 'uvu/assert'
import { Meanings } from '../../../control/copilot/deep/meanings.ts'
import { Feed } from '../../../control/copilot/sessions/feed.ts'
import { hearSaid } from '../../../control/copilot/sessions/hearing.ts'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import { passageSearch } from '../../../control/knowledge/passage-search.ts'
import { Embeddings } from '../../../control/models/embeddings.ts'
import { ModelMeter } from '../../../control/models/meter.ts'
import { type EmbeddingsAnswer, type EmbeddingsAsked, EmbeddingsProvider } from '../../fakes/embeddings-provider.ts'
import { suite } from '../../harness.ts'
import { makeCall } from '../conformance/objects.ts'
import { makeWholeApp, VAULT, type WholeApp } from '../whole-app.ts'
import { PROFILE } from './profiles.ts'

const test = suite('control/copilot/meanings')

let world: WholeApp
let provider: EmbeddingsProvider
let vectors: Embeddings
let meanings: Meanings
let meter: ModelMeter
let feed: Feed
let answer: (asked: EmbeddingsAsked) => EmbeddingsAnswer | Promise<EmbeddingsAnswer>

/** As a model of languages may see it: all of these are of money, and everything else of something else. */
const MONEY = /dear|money|expensive|wallet/
const byMoney = ({ input }: EmbeddingsAsked): EmbeddingsAnswer => ({
  vectors: input.map(text => (MONEY.test(text) ? [1, 0.1] : [0.1, 1])),
})

test.beforeEach(async () => {
  world = await makeWholeApp()
  const { store, clock } = world
  answer = byMoney
  provider = await EmbeddingsProvider.listen(asked => answer(asked))
  const log = { warn() {} } as never
  meter = new ModelMeter({ store, now: clock.now, log, prices: new Map([['small', { input: 20, output: 0 }]]) })
  waitFor(60_000)
})

/** Of a busy machine the test waits longer for an answer than a conversation would. */
function waitFor(timeoutMs: number): void {
  const { store, clock } = world
  feed = new Feed()
  vectors = new Embeddings({ baseUrl: provider.url, apiKey: null, model: 'small' }, { timeoutMs })
  const parts = { store, now: clock.now, log: { warn() {} } as never, search: passageSearch(store.engine) }
  meanings = new Meanings({ ...parts, feed, vectors, meter })
}
test.afterEach(async () => {
  await meanings.close()
  await meter.idle()
  await provider.close()
  await world.close()
})

const tenant = (livemode = true) => ({ organisationId: world.ours.organisationId, livemode })

async function begin({ model = {}, livemode = true, objections = PROFILE.objections } = {}): Promise<string> {
  const api = livemode ? world.live : world.test
  const call = await makeCall({ world: world as never, tenant: tenant(livemode), ask: async () => ({}) })
  const profile = { name: 'Sales', ...PROFILE, objections, model: { ...PROFILE.model, ...model } }
  const made = await api('POST /v1/copilot_profiles', profile)
  return (await api(`POST /v1/calls/${call.id}/copilot`, { profile_id: made.body.id })).body.id
}

/** As the fast path hears it: with what is known already. */
async function hear(
  id: string,
  text: string,
  { isFinal = true, utterance = 'u1', party = 'customer' as 'agent' | 'customer', livemode = true } = {},
) {
  const { store, clock } = world
  const parts = { now: clock.now, feed, search: passageSearch(store.engine), vault: VAULT, vectors }
  await store.transaction(async trx => {
    const row = await forTenant(trx, tenant(livemode)).find('copilot_sessions', id)
    const said = { kind: 'said', atMs: 0, id: utterance, party, text, isFinal, fromMs: 0, toMs: 0 } as const
    if (row !== undefined) await hearSaid(parts, trx, row, said)
  })
}

async function say(...said: Parameters<typeof hear>): Promise<void> {
  await hear(...said)
  await meanings.idle()
}

const told = async (id: string, type = 'objection') =>
  (await world.live(`GET /v1/copilot_sessions/${id}/messages?limit=100`)).body.data.filter(
    (one: { type: string }) => one.type === type,
  )

test('an objection that our own vectors have missed is told when those of the provider find it near enough', async () => {
  const id = await begin()
  await hear(id, 'My wallet would not like that at all.')
  assert.equal(await told(id), [])
  await meanings.idle()
  const [objection] = await told(id)
  assert.equal(
    [objection.path, objection.utterance_ids, objection.data.key, objection.data.response],
    ['fast', ['u1'], 'price', 'It pays for itself.'],
  )
  assert.ok(objection.data.similarity > 0.99 && objection.latency_ms !== null)
})

test('what our own vectors have guessed is withdrawn when the provider sees it elsewhere; what was said word for word stays', async () => {
  const id = await begin({ model: { objection_similarity: 0.6 } })
  answer = ({ input }) => ({ vectors: input.map(text => (/^That costs|^it is/.test(text) ? [1, 0] : [0, 1])) })
  await hear(id, 'That would cost a lot of money.')
  const [guessed] = await told(id)
  assert.is(guessed?.data.key, 'price')
  await meanings.idle()
  const [withdrawal] = await told(id)
  assert.is(withdrawal.withdraws, guessed.id)
  await say(id, 'I get it cheaper elsewhere.', { utterance: 'u2' })
  const [trigger] = await told(id)
  assert.equal([trigger.data.similarity, trigger.withdraws], [1, null])
})

test('the threshold is objection_similarity of the profile', async () => {
  answer = ({ input }) => ({
    vectors: input.map(text => (MONEY.test(text) && !/wallet/.test(text) ? [1, 0] : [0.7, 0.7])),
  })
  const strict = await begin({ model: { objection_similarity: 0.75 } })
  await say(strict, 'My wallet would not like that.')
  assert.equal(await told(strict), [])
  const open = await begin({ model: { objection_similarity: 0.7 } })
  await say(open, 'My wallet would not like that.')
  assert.is((await told(open)).length, 1)
})

test('examples are asked for once, and a sentence that is known is told of at once, without a change of mind', async () => {
  const id = await begin()
  await say(id, 'My wallet would not like that.')
  assert.is(provider.asked.length, 1)
  assert.equal(
    provider.asked[0]?.input.toSorted(),
    ['My wallet would not like that.', ...PROFILE.objections[0]!.examples].toSorted(),
  )
  const other = await begin()
  await hear(other, 'My wallet would not like that.', { utterance: 'u7' })
  assert.is((await told(other)).length, 1)
  await meanings.idle()
  assert.equal([(await told(other)).length, provider.asked.length], [1, 1])
})

test('interim words are judged where the profile is speculative, and not when they turned out to be others', async () => {
  const id = await begin()
  await say(id, 'My wallet would', { isFinal: false })
  assert.is(provider.asked.length, 0)
  const quick = await begin({ model: { speculative: true } })
  let release: () => void = () => {}
  const held = new Promise<void>(resolve => {
    release = resolve
  })
  answer = async asked => {
    if (asked.input.some(text => /wallet/.test(text))) await held
    return byMoney(asked)
  }
  await hear(quick, 'My wallet would', { isFinal: false })
  while (provider.asked.length < 1) await new Promise(setImmediate)
  await hear(quick, 'My walnut would not like that.')
  release()
  await meanings.idle()
  assert.ok(vectors.known('My wallet would') !== undefined)
  assert.equal(await told(quick), [])
})

for (const [name, given] of [
  ['fails', { status: 503 }],
  ['answers nonsense', { body: '{"data":[{"embedding":"no"}]}' }],
  ['is silent', 'nothing'],
] as [string, EmbeddingsAnswer][]) {
  test(`with a provider that ${name} the fast path goes on with our own vectors, and waits for nobody`, async () => {
    answer = () => given
    if (given === 'nothing') waitFor(500)
    const id = await begin({ model: { objection_similarity: 0.6 } })
    // Told while the provider is being asked.
    await hear(id, 'That would cost a lot of money.')
    assert.is((await told(id))[0].data.key, 'price')
    await hear(id, 'thank you for calling', { utterance: 'u2', party: 'agent' })
    assert.is((await told(id, 'checklist')).length, 1)
    await meanings.idle()
    const [objection, ...more] = await told(id)
    assert.equal([objection.withdraws, more.length], [null, 0])
  })
}

test('nobody is asked by a profile without model calls, in test mode, or more often than max_calls_per_minute', async () => {
  await say(await begin({ model: { deep_path: false } }), 'My wallet would not like that.')
  await say(await begin({ livemode: false }), 'My wallet would not like that.', { livemode: false })
  await say(await begin({ objections: [] }), 'My wallet would not like that.')
  assert.is(provider.asked.length, 0)
  const few = await begin({ model: { max_calls_per_minute: 1 } })
  await say(few, 'One wallet.')
  await say(few, 'Two wallets.', { utterance: 'u2' })
  assert.is(provider.asked.length, 1)
  world.clock.set(-3_600_000)
  world.clock.advance(60_000)
  await say(few, 'Three wallets.', { utterance: 'u3' })
  assert.is(provider.asked.length, 2)
})

test('what the organisation redacts is not sent to the provider', async () => {
  const id = await begin()
  await say(id, 'My card 4111 1111 1111 1111 is of my wallet.')
  assert.is(provider.asked.length, 1)
  assert.not.match(JSON.stringify(provider.asked), /1111/)
})

test('what it cost is in /usage', async () => {
  const id = await begin()
  await say(id, 'My wallet would not like that.')
  await meter.idle()
  const to = new Date(world.clock.now().getTime() + 60_000).toISOString()
  const { body } = await world.live(`GET /v1/usage?to=${encodeURIComponent(to)}`)
  const [used] = body.data.at(-1).models.purposes
  assert.equal([used.purpose, used.model, used.input_tokens > 10, used.cost > 0], ['embeddings', 'small', true, true])
})

test.run()
