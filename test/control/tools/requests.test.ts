import * as assert from 'uvu/assert'
import { secretReader } from '../../../control/secrets/values.ts'
import type { HttpSettings } from '../../../control/tools/schema.ts'
import { useHttp } from '../../../control/tools/use-http.ts'
import { httpPost } from '../../../control/webhooks/http-post.ts'
import { WebhookReceiver } from '../../fakes/webhook-receiver.ts'
import { suite } from '../../harness.ts'
import { makeWholeApp, VAULT, type WholeApp } from '../whole-app.ts'

const test = suite('control/tools/requests')

const world: WholeApp = await makeWholeApp()
const server = await new WebhookReceiver().listen()
test.after(async () => {
  await server.close()
  await world.close()
})

/** What the server got is forgotten, and it answers 204. */
const fresh = () => {
  server.received.splice(0)
  server.say(204)
}

const PLAIN: Omit<HttpSettings, 'url'> = {
  ...{ method: 'POST', headers: {}, body: null, body_format: 'json', timeout_ms: 5000, retries: 0, response: {} },
}

/** A model has asked for a tool of these settings. */
const use = (settings: Partial<HttpSettings>, input: Record<string, unknown> = {}, call = {}) =>
  useHttp(
    { post: httpPost, allowedNetworks: ['127.0.0.0/8'], secrets: secretReader(world.store.db, VAULT) },
    { ...PLAIN, url: `${server.url}/orders`, ...settings },
    {
      tenant: { organisationId: world.ours.organisationId, livemode: true },
      ...{ input, call, key: 'one-use', signal: new AbortController().signal },
    },
  )

const answers = (text: string) => {
  server.answer = response => response.writeHead(200).end(text)
}

test('retries follow 429 and 5xx, not what another attempt would not mend; all have one Idempotency-Key', async () => {
  fresh()
  for (const [status, attempts] of [
    [500, 3],
    [503, 3],
    [429, 3],
    [404, 1],
    [400, 1],
    [302, 1],
  ] as const) {
    server.received.splice(0)
    server.say(status, { location: `${server.url}/elsewhere` })
    const result = await use({ retries: 2 })
    assert.equal([result.outcome, result.attempts, result.httpStatus], ['failed', attempts, status], String(status))
    assert.is(server.received.length, attempts, 'and no redirect is followed')
    assert.ok(server.received.every(({ headers }) => headers['idempotency-key'] === 'one-use'))
  }
})

test('an attempt is given up after timeout_ms, another follows it, and the one that is answered counts', async () => {
  fresh()
  server.answer = response => {
    if (server.received.length > 1) response.writeHead(200).end('late but there')
  }
  const result = await use({ timeout_ms: 500, retries: 1 })
  assert.equal([result.outcome, result.attempts], ['success', 2])
  assert.is('output' in result && result.output, 'late but there')
  server.received.splice(0)
  server.answer = () => {}
  assert.is((await use({ timeout_ms: 500 })).outcome, 'timeout')
})

test('without a body the parameters that stand nowhere else are the body, as JSON or as a form, of GET and DELETE the query', async () => {
  fresh()
  const input = { order: 42, note: 'two words & more', tags: ['a'] }
  const url = `${server.url}/orders/{{order}}`
  await use({ url }, input, { caller: '+15550100' })
  assert.equal(JSON.parse(server.received[0]!.body), { note: 'two words & more', tags: ['a'] })
  assert.is(server.received[0]!.path, '/orders/42')
  await use({ url, body_format: 'form' }, input)
  const { body, headers } = server.received[1]!
  assert.equal(
    [headers['content-type'], Object.fromEntries(new URLSearchParams(body))],
    ['application/x-www-form-urlencoded', { note: 'two words & more', tags: '["a"]' }],
  )
  for (const method of ['GET', 'DELETE'] as const) {
    server.received.splice(0)
    await use({ url, method, headers: { 'x-from': '{{caller}}' } }, input, { caller: '+15550100' })
    const { path, body, headers } = server.received[0]!
    assert.equal(
      [path, body, headers['x-from']],
      ['/orders/42?note=two+words+%26+more&tags=%5B%22a%22%5D', '', '+15550100'],
    )
  }
})

test('what is known of the call stands whatever the model says; a parameter neither leaves its place in the URL nor breaks a header', async () => {
  fresh()
  await use({ body: { from: '{{caller}}', text: 'from {{caller}}' } }, { caller: 'forged' }, { caller: '+15550100' })
  assert.equal(JSON.parse(server.received[0]!.body), { from: '+15550100', text: 'from +15550100' })
  await use({ url: `${server.url}/orders/{{order}}` }, { order: 'a/../b?c=d#e' })
  assert.is(server.received[1]!.path, '/orders/a%2F..%2Fb%3Fc%3Dd%23e')
  const climbing = await use({ url: `${server.url}/orders/{{order}}` }, { order: '..' })
  assert.is(climbing.outcome, 'failed')
  const broken = await use({ headers: { 'x-note': '{{note}}' } }, { note: 'a\r\nx-admin: 1' })
  assert.is(broken.outcome, 'failed')
  const foreign = await use({ headers: { 'x-note': '{{note}}' }, retries: 2 }, { note: 'Ольга' })
  assert.equal(
    [foreign.outcome, foreign.attempts, 'message' in foreign && foreign.message],
    ['failed', 1, 'a parameter does not fit into the header x-note'],
    'a header has the characters of Latin-1 only (RFC 9110 §5.5)',
  )
  assert.is(server.received.length, 2, 'these were not sent')
})

test('response names what the model is told, by JSONPath; empty it is the whole answer', async () => {
  fresh()
  const answer = { state: 'shipped', lines: [{ id: 1 }, { id: 2 }], nothing: null }
  answers(JSON.stringify(answer))
  const output = async (response: Record<string, string>) => {
    const result = await use({ response })
    return 'output' in result ? JSON.parse(result.output) : result
  }
  assert.equal(await output({ state: '$.state', ids: '$.lines[*].id', gone: '$.gone' }), {
    ...{ state: 'shipped', ids: [1, 2], gone: null },
  })
  assert.equal(await output({}), answer)
  answers('plain words')
  const plain = await use({ response: { state: '$.state' } })
  assert.equal([plain.outcome, 'message' in plain && plain.message], ['failed', 'the answer is not JSON'])
})

test('of an answer of 16 KiB the model is told 4,000 characters, and so is whoever tests the tool', async () => {
  fresh()
  answers('b'.repeat(20_000))
  const long = await use({ response: {} })
  assert.is('output' in long && long.output, 'b'.repeat(4000))
  answers(JSON.stringify({ words: 'c'.repeat(10_000) }))
  const part = await use({ response: { words: '$.words' } })
  assert.is('output' in part && part.output, `{"words":"${'c'.repeat(3990)}`)
  answers(`${'b'.repeat(3999)}👍`)
  const odd = await use({ response: {} })
  assert.is('output' in odd && odd.output, 'b'.repeat(3999), 'not half of a character')
})

test('each attempt reads the secrets anew: what is rotated between two is not sent again; one that is gone fails the use', async () => {
  fresh()
  const { body: secret } = await world.live('POST /v1/secrets', { name: 'ROTATED', value: 'first-value-1' })
  const headers = { authorization: 'Bearer {{secret:ROTATED}}' }
  server.answer = async response => {
    if (server.received.length > 1) return response.writeHead(204).end()
    await world.live(`POST /v1/secrets/${secret.id}/rotate`, { value: 'second-value-2' })
    response.writeHead(503).end()
  }
  assert.is((await use({ headers, retries: 1 })).outcome, 'success')
  assert.equal(
    server.received.map(received => received.headers.authorization),
    ['Bearer first-value-1', 'Bearer second-value-2'],
  )
  await world.live(`DELETE /v1/secrets/${secret.id}`)
  const gone = await use({ headers, retries: 1 })
  assert.equal([gone.outcome, 'message' in gone && gone.message], ['failed', 'there is no secret ROTATED'])
  assert.is(server.received.length, 2)
})

test('an address that is not allowed is not asked, at the time of the use', async () => {
  fresh()
  const parts = { post: httpPost, allowedNetworks: [], secrets: secretReader(world.store.db, VAULT) }
  const result = await useHttp(
    parts,
    { ...PLAIN, url: `${server.url}/orders` },
    {
      tenant: { organisationId: world.ours.organisationId, livemode: true },
      ...{ input: {}, call: {}, key: 'one-use', signal: new AbortController().signal },
    },
  )
  assert.equal([result.outcome, result.attempts, server.received.length], ['failed', 1, 0])
})

test.run()
