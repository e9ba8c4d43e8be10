import * as assert from 'uvu/assert'
import { WebhookReceiver } from '../../fakes/webhook-receiver.ts'
import { suite } from '../../harness.ts'
import { until } from '../calls-world.ts'
import { type Asked, withModel } from '../quality/quality-world.ts'
import { dispatcherOf } from '../webhooks/webhook-world.ts'
import { VAULT } from '../whole-app.ts'
import { hasNone, type WatchedCall, watchCall } from './watched-call.ts'

const test = suite('control/copilot/card-whole-way')

/** Whatever it is asked it says again what it was shown, as far as its schema lets it. */
function parrot({ messages }: Asked): object {
  const shown = String(messages.at(-1)?.content)
  const lines = shown.split('\n').map((_, i) => i)
  if (JSON.stringify(messages[0]).includes('care: Care'))
    return { criteria: [{ key: 'care', applicable: true, score: 80, reason: shown.slice(-900), lines }] }
  const [reason, fields] = [shown.slice(-1500), [{ key: 'phone', value: shown.slice(-200) }]]
  return { reason, outcome: reason, next_steps: [reason], topics: ['paying'], fields, disposition: null, lines }
}

type Say = (call: WatchedCall) => Promise<void>

/** What is said of the card, and what then may be seen nowhere. */
const CALLS: [string, Say, string[]][] = [
  [
    'said in pieces',
    async ({ say }) => {
      await say('customer', 'It is 4580')
      await say('customer', '1111 2222')
      await say('agent', 'Yes')
      await say('customer', '3337')
      await say('customer', 'and that is all')
    },
    ['11112222', 'It is 4580', '45801111', '22223337', '3337'],
  ],
  [
    'said in words, each of four',
    async ({ say }) => {
      await say('customer', 'It is four five eight zero')
      await say('customer', 'one one one one')
      await say('customer', 'two two two two')
      await say('customer', 'three three three seven')
      await say('customer', 'and that is all')
    },
    ['four five eight', 'one one one', 'two two two', 'three three three'],
  ],
  [
    'cut off by a payment',
    async ({ say, pause, world, copilot }) => {
      await say('customer', 'It is 4580')
      await say('customer', '1111 2222')
      await pause(true)
      world.clock.advance(30_000)
      await copilot.tick()
      await pause(false)
      await say('customer', 'and that is all')
    },
    ['11112222', 'It is 4580', '45801111'],
  ],
]

for (const [name, say, secrets] of CALLS) {
  test(`a card number ${name} is in no message, feed, webhook, summary, evaluation, prompt, insight or search`, async () => {
    const receiver = await new WebhookReceiver().listen()
    let asked: Asked[] = []
    const call = await watchCall()
    const { world, seen, callId, id } = call
    await world.live('POST /v1/webhook_endpoints', { url: `${receiver.url}/`, event_types: ['*'] })
    const rubric = [{ key: 'care', label: 'Care', description: 'Takes care', weight: 1 }]
    const sampling = { percent: 100, min_seconds: 0, review_percent: 0 }
    const set = await world.live('PATCH /v1/organisation', { qa_rubric: rubric, qa_sampling: sampling })
    assert.is(set.status, 200, set.text)
    const dispatcher = dispatcherOf(world, { vault: VAULT })
    dispatcher.start()
    await call.say('agent', 'Thank you for calling, may I have the number?')
    await say(call)
    await call.say('agent', 'Have a nice day')
    await withModel(
      () => parrot(asked.at(-1) ?? { messages: [] }),
      async (config, questions) => {
        asked = questions
        await call.end(config)
      },
    )
    await until(() => receiver.received.some(({ body }) => body.includes('call.summary.ready')))
    await dispatcher.close()
    for (const path of [
      `/calls/${callId}/summary`,
      `/calls/${callId}/transcript`,
      `/calls/${callId}/events?limit=100`,
      `/copilot_sessions/${id}`,
      `/copilot_sessions/${id}/messages?limit=100`,
      `/qa_evaluations?call_id=${callId}`,
      `/insights?from=2026-11-20T00:00:00Z&to=2026-11-23T00:00:00Z`,
      `/insights/calls?from=2026-11-20T00:00:00Z&to=2026-11-23T00:00:00Z`,
      '/transcripts/search?query=that+is+all',
    ]) {
      const { status, text } = await world.live(`GET /v1${path}`)
      assert.is(status, 200, `${path}: ${text}`)
      seen.push(`${path} ${text}`)
    }
    const found = await Promise.all(
      secrets.map(
        async secret =>
          (await world.live(`GET /v1/transcripts/search?query=${encodeURIComponent(`"${secret}"`)}`)).body.data,
      ),
    )
    assert.equal(found.flat(), [])
    seen.push(...receiver.received.map(({ body }) => `webhook ${body}`))
    seen.push(...asked.map(({ messages }) => `prompt ${JSON.stringify(messages)}`))
    await call.look()
    hasNone(seen, secrets)
    // All of it has its content: what is looked through is there.
    const has = (where: string, what: string): void =>
      assert.ok(
        seen.some(text => text.startsWith(where) && text.includes(what)),
        `${what} in ${where}`,
      )
    has('webhook', 'call.transcript.segment')
    has('webhook', 'qa_evaluation.scored')
    has('prompt', 'and that is all')
    has(`/calls/${callId}/summary`, 'It is [')
    has(`/qa_evaluations?call_id=${callId}`, 'It is [')
    has('/transcripts/search', callId)
    has('told', 'It is […]')
    await call.close()
    await receiver.close()
  })
}

test.run()
