import { Readable } from 'node:stream'
import Type from 'typebox'
import * as assert from 'uvu/assert'
import { conflict, problem } from '../../../control/http/errors.ts'
import { type Route, route } from '../../../control/http/route.ts'
import { createServer } from '../../../control/http/server.ts'
import { idParams, input, nullable, oneOf } from '../../../control/kernel/schema.ts'
import { insertApiKey } from '../../../control/organisation/api-key-routes.ts'
import { suite } from '../../harness.ts'
import { ask, makeWorld, START, serve } from '../app-harness.ts'
import { silent } from '../silent.ts'

const test = suite('control/http/server')

const body = input({
  name: Type.String({ maxLength: 5 }),
  member_user_ids: Type.Optional(Type.Array(Type.String({ pattern: '^usr_' }))),
  overflow: Type.Optional(input({ action: nullable(oneOf(['busy', 'queue'])) })),
})

const reply = Type.Object({ id: Type.String(), who: Type.String() })
const common = { tag: 'T', summary: 'S', status: 200, reply } as const

/** Answers who asked; `explode` and `crowd` throw, `refuse` is a conflict. */
const things: Route[] = [
  route({
    ...common,
    method: 'GET',
    path: '/things/:id',
    id: 'getThing',
    scope: 'calls:read',
    params: idParams,
    query: Type.Object({ count: Type.Optional(Type.Integer({ minimum: 1 })) }, { additionalProperties: false }),
    handler: async (context, { params, query }) => {
      if (params.id === 'explode') throw new Error('a secret of the inside')
      if (params.id === 'crowd') throw Object.assign(new Error('too many at once'), { code: 'SQLITE_BUSY' })
      if (params.id === 'refuse') return conflict('in_use', 'It is in use.')
      if (params.id === 'busy') return problem('capacity_exhausted', 'Full.', { retryAfterS: 7 })
      return { id: `${params.id}${query.count ?? ''}`, who: context.organisationId, hidden: 'not in the schema' }
    },
  }),
  route({
    ...common,
    method: 'POST',
    path: '/things',
    id: 'createThing',
    scope: 'calls:write',
    body,
    handler: async (context, input) => ({ id: input.body.name, who: context.organisationId }),
  }),
  route({
    ...common,
    method: 'POST',
    path: '/things/:id/poke',
    id: 'pokeThing',
    scope: 'calls:write',
    mode: 'live',
    params: idParams,
    handler: async context => ({ id: 'poked', who: context.organisationId }),
  }),
]

const world = await makeWorld()
const app = await serve(world, things)
const { live, test: testKey } = world.ours.keys

const keyWith = async (more: { scopes?: ['calls:read']; expiresAt?: string }): Promise<string> => {
  const secret = `sk_live_${Math.abs(Date.parse(more.expiresAt ?? '') || 1)}_${more.scopes?.length ?? 0}_0123456789`
  const tenant = { organisationId: world.ours.organisationId, livemode: true }
  const key = { name: '', secret, scopes: more.scopes ?? null, expiresAt: more.expiresAt ?? null, now: START }
  await insertApiKey(world.store.db, tenant, key)
  return secret
}

test('a request without a valid key answers 401, and says which is wrong', async () => {
  const none = await ask(app, 'GET /v1/things/a')
  assert.is(none.status, 401)
  assert.is(none.body.error.code, 'api_key_missing')
  assert.is(none.body.error.type, 'authentication_error')
  const wrong = await ask(app, 'GET /v1/things/a', { key: `${live}x` })
  assert.is(wrong.status, 401)
  assert.is(wrong.body.error.code, 'api_key_invalid')
  const basic = await ask(app, 'GET /v1/things/a', { headers: { authorization: 'Basic abc' } })
  assert.is(basic.body.error.code, 'api_key_invalid')
  const bare = await ask(app, 'GET /v1/things/a', { headers: { authorization: live } })
  assert.equal([bare.status, bare.body.error.code], [401, 'api_key_invalid'])
  assert.match(bare.body.error.message, 'Authorization: Bearer <key>', 'the key is right, and only sent wrongly')
})

test('a database that has too much to do just now is none that has failed: 503, with a time to try again', async () => {
  const { status, headers, body } = await ask(app, 'GET /v1/things/crowd', { key: live })
  assert.equal([status, body.error.code, headers['retry-after']], [503, 'store_unavailable', '5'])
})

test('a key as the user name, without a password, is taken as curl -u KEY: sends it', async () => {
  const authorization = `Basic ${Buffer.from(`${live}:`).toString('base64')}`
  const { status, body } = await ask(app, 'GET /v1/things/a', { headers: { authorization } })
  assert.is(status, 200)
  assert.is(body.who, world.ours.organisationId)
  const wrong = `Basic ${Buffer.from(`${live}x:`).toString('base64')}`
  assert.is(
    (await ask(app, 'GET /v1/things/a', { headers: { authorization: wrong } })).body.error.code,
    'api_key_invalid',
  )
})

test('who misspells a parameter is told which one was probably meant, in a body, in an object in it, and in a query', async () => {
  for (const [body, param, meant] of [
    [{ nmae: 'a' }, 'nmae', 'name'],
    [{ name: 'a', overflow: { acton: 'busy' } }, 'overflow.acton', 'overflow.action'],
  ] as const) {
    const { status, body: answer } = await ask(app, 'POST /v1/things', { key: live, body })
    assert.is(status, 400)
    assert.is(answer.error.code, 'parameter_unknown')
    assert.is(answer.error.param, param)
    assert.is(answer.error.message, `Unknown parameter: ${param}. Did you mean ${meant}?`)
  }
  const inQuery = await ask(app, 'GET /v1/things/a?cuont=1', { key: live })
  assert.match(inQuery.body.error.message, 'Did you mean count?')
  const far = await ask(app, 'POST /v1/things', { key: live, body: { name: 'a', zzzzzz: 1 } })
  assert.not.match(far.body.error.message, 'Did you mean')
})

test('of a body with thousands of unknown parameters a hundred are compared with the known ones', async () => {
  const unknown = Array.from({ length: 100 }, (_, i) => [`zzzzzzzz${i}`, 1])
  const said = async (entries: unknown[][]): Promise<string> => {
    const body = Object.fromEntries([...entries, ['nmae', 'a']])
    return (await ask(app, 'POST /v1/things', { key: live, body })).body.error.message
  }
  assert.is(await said(unknown.slice(1)), 'Unknown parameter: nmae. Did you mean name?')
  assert.is(await said(unknown), 'Missing required parameter: name.')
})

test('a slash at the end of a path is no empty ID: 404 that says what to do', async () => {
  for (const path of ['/v1/things/', '/v1/things//poke']) {
    const { status, body } = await ask(app, `GET ${path}`, { key: live })
    assert.is(status, 404)
    assert.match(body.error.message, 'remove the trailing slash')
  }
})

test('a key answers 401 from the moment it expires', async () => {
  const key = await keyWith({ expiresAt: '2026-11-21T10:00:00.001Z' })
  assert.is((await ask(app, 'GET /v1/things/a', { key })).status, 200)
  world.clock.advance(1)
  const late = await ask(app, 'GET /v1/things/a', { key })
  assert.is(late.status, 401)
  assert.is(late.body.error.code, 'api_key_expired')
})

test('a key that lacks the scope answers 403, and the scope is named', async () => {
  const key = await keyWith({ scopes: ['calls:read'] })
  assert.is((await ask(app, 'GET /v1/things/a', { key })).status, 200)
  const refused = await ask(app, 'POST /v1/things', { key, body: { name: 'a' } })
  assert.is(refused.status, 403)
  assert.is(refused.body.error.code, 'scope_missing')
  assert.match(refused.body.error.message, 'calls:write')
})

test('an operation for live keys refuses a test key', async () => {
  assert.is((await ask(app, 'POST /v1/things/a/poke', { key: live })).status, 200)
  const refused = await ask(app, 'POST /v1/things/a/poke', { key: testKey })
  assert.is(refused.status, 403)
  assert.is(refused.body.error.code, 'live_key_required')
})

test('every answer echoes the version that rendered it, and carries a request ID', async () => {
  for (const asked of [{ key: live }, {}, { key: live, headers: { 'service-version': '2026-11-01' } }]) {
    const answer = await ask(app, 'GET /v1/things/a', asked)
    assert.is(answer.headers['service-version'], '2026-11-01')
    assert.match(String(answer.headers['request-id']), /^req_[0-9a-z]{26}$/)
  }
})

test('no answer is taken for another type than it says, an error neither', async () => {
  for (const line of ['GET /v1/things/a', 'GET /v1/nowhere', 'GET /%zz', 'GET /v1/things']) {
    assert.is((await ask(app, line, { key: live })).headers['x-content-type-options'], 'nosniff', line)
  }
})

test('a nonexistent version answers 400 unknown_version', async () => {
  const answer = await ask(app, 'GET /v1/things/a', { key: live, headers: { 'service-version': '2020-01-01' } })
  assert.is(answer.status, 400)
  assert.is(answer.body.error.code, 'unknown_version')
  assert.is(answer.body.error.param, 'Service-Version')
  assert.is(answer.headers['service-version'], '2026-11-01')
})

test('an error has type, code, message, param, doc_url and the request ID of the header', async () => {
  const answer = await ask(app, 'GET /v1/things/refuse', { key: live })
  assert.is(answer.status, 409)
  assert.equal(answer.body, {
    error: {
      type: 'invalid_request_error',
      code: 'resource_conflict',
      message: 'It is in use.',
      param: null,
      doc_url: 'http://localhost:80/docs/errors#resource_conflict',
      request_id: answer.headers['request-id'],
      details: { reason: 'in_use' },
    },
  })
})

test('a failure of ours answers 500 and tells nothing of the inside', async () => {
  const answer = await ask(app, 'GET /v1/things/explode', { key: live })
  assert.is(answer.status, 500)
  assert.is(answer.body.error.code, 'internal_error')
  assert.is(answer.body.error.type, 'api_error')
  assert.not.match(answer.text, 'secret')
})

test('no capacity answers 429 with Retry-After', async () => {
  const answer = await ask(app, 'GET /v1/things/busy', { key: live })
  assert.is(answer.status, 429)
  assert.is(answer.headers['retry-after'], '7')
})

test('an answer holds what its schema names and nothing else', async () => {
  const answer = await ask(app, 'GET /v1/things/a', { key: live })
  assert.equal(answer.body, { id: 'a', who: world.ours.organisationId })
})

const REFUSED: [string, unknown, string, string | null][] = [
  ['a parameter that is missing', {}, 'parameter_missing', 'name'],
  ['an absent body', undefined, 'parameter_missing', 'name'],
  ['an unknown parameter', { name: 'a', nam: 'b' }, 'parameter_unknown', 'nam'],
  ['an unknown inner parameter', { name: 'a', overflow: { action: 'busy', x: 1 } }, 'parameter_unknown', 'overflow.x'],
  ['a misspelt one beside a missing one', { nam: 'b' }, 'parameter_unknown', 'nam'],
  ['a missing inner parameter', { name: 'a', overflow: {} }, 'parameter_missing', 'overflow.action'],
  ['a wrong inner value', { name: 'a', overflow: { action: 'fly' } }, 'parameter_invalid', 'overflow.action'],
  ['a wrong list item', { name: 'a', member_user_ids: ['usr_1', 'x'] }, 'parameter_invalid', 'member_user_ids[1]'],
  ['a number for a string', { name: 5 }, 'parameter_invalid', 'name'],
  ['a string that is too long', { name: 'abcdef' }, 'parameter_invalid', 'name'],
  ['a list for the body', [], 'parameter_invalid', null],
]

for (const [what, sent, code, param] of REFUSED) {
  test(`${what} answers 400 ${code} with param ${param}`, async () => {
    const answer = await ask(app, 'POST /v1/things', { key: live, body: sent })
    assert.is(answer.status, 400, answer.text)
    assert.is(answer.body.error.code, code)
    assert.is(answer.body.error.param, param)
  })
}

test('an enumeration names what is allowed', async () => {
  const answer = await ask(app, 'POST /v1/things', { key: live, body: { name: 'a', overflow: { action: 'fly' } } })
  assert.match(answer.body.error.message, 'busy, queue')
})

test('a query string is text: numbers in it are read, unknown parameters and repeated ones are refused', async () => {
  assert.is((await ask(app, 'GET /v1/things/a?count=3', { key: live })).body.id, 'a3')
  for (const [query, param] of [
    ['cuont=3', 'cuont'],
    ['count=x', 'count'],
    ['count=0', 'count'],
    ['count=1&count=2', 'count'],
  ]) {
    const answer = await ask(app, `GET /v1/things/a?${query}`, { key: live })
    assert.is(answer.status, 400, query)
    assert.is(answer.body.error.param, param)
  }
})

test('an operation without parameters refuses one', async () => {
  assert.is((await ask(app, 'POST /v1/things/a/poke', { key: live, body: {} })).status, 200)
  const answer = await ask(app, 'POST /v1/things/a/poke', { key: live, body: { hard: true } })
  assert.is(answer.body.error.code, 'parameter_unknown')
})

test('a body that is not JSON answers 400 invalid_json', async () => {
  for (const [type, payload] of [
    ['application/json', '{"name":'],
    ['application/json', '{"__proto__":{"x":1},"name":"a"}'],
    ['application/x-www-form-urlencoded', 'name=a'],
    ['text/plain', 'hello'],
  ]) {
    const answer = await ask(app, 'POST /v1/things', { key: live, body: payload, headers: { 'content-type': type! } })
    assert.is(answer.status, 400, `${type} ${payload}`)
    assert.is(answer.body.error.code, 'invalid_json')
  }
})

test('an empty body is told so where a parameter is required, and a name that no object takes is not called bad JSON', async () => {
  const told = async (payload: string) => {
    const headers = { 'content-type': 'application/json' }
    const { body } = await ask(app, 'POST /v1/things', { key: live, body: payload, headers })
    return [body.error.code, body.error.param, body.error.message]
  }
  const empty = ['parameter_missing', 'name', 'The body is empty. Missing required parameter: name.']
  for (const payload of ['', 'null', '{}']) assert.equal(await told(payload), empty, payload)
  assert.is((await told('{"count":1}'))[2], 'Missing required parameter: name.')
  for (const payload of ['{"name":"a","__proto__":{}}', '{"constructor":{"prototype":1}}']) {
    assert.match((await told(payload))[2], /has a key "__proto__" or "constructor"/)
  }
  assert.is((await told('{"name":"__proto__"'))[2], 'The body is not valid JSON.')
})

test('a body of more than a mebibyte is refused', async () => {
  const answer = await ask(app, 'POST /v1/things', { key: live, body: { name: 'a'.repeat(1024 * 1024) } })
  assert.is(answer.status, 400)
  assert.is(answer.body.error.code, 'parameter_invalid')
  assert.is(answer.body.error.message, 'The body is longer than 1048576 bytes.')
})

test('what needs no key takes bodies of at most 32 KiB, before anything of them is judged', async () => {
  const forms = await createServer({ log: silent })
  forms.post('/form', async ({ body }) => ({ is: typeof body }))
  const told = async (length: number) => {
    const { status, body } = await ask(forms, 'POST /form', { body: { name: 'a'.repeat(length) } })
    return [status, body.error?.message ?? body.is]
  }
  assert.equal(await told(32_000), [200, 'object'])
  assert.equal(await told(33_000), [400, 'The body is longer than 32768 bytes.'])
  await forms.close()
})

test('an unknown route answers 404 in the envelope', async () => {
  const odd = ['GET /v1/things/%E0%A4%A', `GET /v1/things/${'x'.repeat(300)}`, 'GET /v1//things/a']
  for (const line of ['GET /v1/nothing', 'PUT /v1/nothing', 'GET /', ...odd]) {
    const answer = await ask(app, line, { key: live })
    assert.is(answer.status, 404, line)
    assert.is(answer.body.error.code, 'resource_missing')
    assert.is(answer.body.error.request_id, answer.headers['request-id'])
  }
})

test('a method that a path does not take answers 405, and Allow names those that it takes', async () => {
  for (const [line, allow] of [
    ['PUT /v1/things', 'POST'],
    ['OPTIONS /v1/things/a', 'GET, HEAD'],
    ['GET /v1/things/a/poke', 'POST'],
  ]) {
    const answer = await ask(app, line!, { key: live })
    assert.equal([answer.status, answer.body.error.code, answer.headers.allow], [405, 'method_not_allowed', allow])
  }
})

test('HEAD answers what GET answers, without the body', async () => {
  const [get, head] = [
    await ask(app, 'GET /v1/things/a', { key: live }),
    await ask(app, 'HEAD /v1/things/a', { key: live }),
  ]
  assert.equal([head.status, head.text], [200, ''])
  assert.equal(head.headers['content-length'], get.headers['content-length'])
  assert.is((await ask(app, 'HEAD /v1/things/a')).status, 401)
})

test('HEAD of a download answers its length, and nothing of it is read', async () => {
  let read = 0
  async function* endless() {
    for (; ; read++) yield Buffer.alloc(1024)
  }
  const download = route({
    ...common,
    method: 'GET',
    path: '/download',
    id: 'getDownload',
    scope: 'calls:read',
    reply: Type.String({ format: 'binary' }),
    rawType: 'audio/wav',
    handler: async () => ({ raw: Readable.from(endless()), status: 200, headers: { 'Content-Length': 5_000_000_000 } }),
  })
  const files = await serve(world, [download])
  const { status, text, headers } = await ask(files, 'HEAD /v1/download', { key: live })
  assert.equal([status, text, headers['content-length']], [200, '', '5000000000'])
  await new Promise(resolve => setImmediate(resolve))
  assert.is(read, 0)
  await files.close()
})

test('an answer of 401 says in which way to authenticate', async () => {
  assert.is((await ask(app, 'GET /v1/things/a')).headers['www-authenticate'], 'Bearer')
  assert.is((await ask(app, 'GET /v1/things/a', { key: live })).headers['www-authenticate'], undefined)
})

test('a body that is not UTF-8 answers 400 invalid_json, and is not stored as other characters', async () => {
  const body = Buffer.concat([Buffer.from('{"name":"'), Buffer.from([0xe4]), Buffer.from('"}')])
  const answer = await ask(app, 'POST /v1/things', { key: live, body, headers: { 'content-type': 'application/json' } })
  assert.equal([answer.status, answer.body.error.code], [400, 'invalid_json'])
})

test('a query string that is not UTF-8 answers 400 and names the parameter: read as other characters it would find nothing', async () => {
  const asked = async (query: string) => {
    const { status, body } = await ask(app, `GET /v1/things/a?${query}`, { key: live })
    return [status, body.error?.param, body.error?.message]
  }
  assert.equal(await asked('limit=1&starting_after=%e4'), [400, 'starting_after', 'starting_after is not UTF-8.'])
  assert.equal(await asked('metadata%5Ba%5D=%C3%A9%c3'), [400, 'metadata[a]', 'metadata[a] is not UTF-8.'])
  assert.is((await asked('%ff=1'))[0], 400)
  assert.equal(await asked('name=%C3%A9%EF%BF%BD'), [400, 'name', 'Unknown parameter: name.'], 'it is text')
})

test('a body of unknown type, or a compressed one, is told how it is to be sent', async () => {
  const said = async (headers: Record<string, string>) => {
    const { status, body } = await ask(app, 'POST /v1/things', {
      key: live,
      body: Buffer.from('{"name":"a"}'),
      headers,
    })
    return [status, body.error.code, body.error.message]
  }
  assert.equal(await said({ 'content-type': '' }), [
    400,
    'invalid_json',
    'Send the body as JSON with "Content-Type: application/json".',
  ])
  assert.equal(await said({ 'content-type': 'application/json', 'content-encoding': 'gzip' }), [
    400,
    'invalid_json',
    'The body is gzip: send it without Content-Encoding.',
  ])
  assert.is(
    (await ask(app, 'POST /v1/things', { key: live, body: { name: 'a' }, headers: { 'content-encoding': 'identity' } }))
      .status,
    200,
  )
})

test('what is wrong with a parameter is said in a sentence', async () => {
  const said = async (body: unknown) => (await ask(app, 'POST /v1/things', { key: live, body })).body.error.message
  assert.is(await said([]), 'The body must be an object.')
  assert.is(await said({ name: 1 }), 'name must be a string.')
  assert.is(await said({ name: 'toolong' }), 'name must have at most 5 characters.')
})

test('a key that asks too often answers 429 with Retry-After, and other keys do not', async () => {
  const slow = await serve(world, things, { burst: 2, perSecond: 1 })
  const statuses = []
  for (let i = 0; i < 3; i++) statuses.push((await ask(slow, 'GET /v1/things/a', { key: live })).status)
  assert.equal(statuses, [200, 200, 429])
  const refused = await ask(slow, 'GET /v1/things/a', { key: live })
  assert.is(refused.body.error.code, 'rate_limited')
  assert.is(refused.headers['retry-after'], '1')
  assert.is((await ask(slow, 'GET /v1/things/a', { key: testKey })).status, 200)
  world.clock.advance(1000)
  assert.is((await ask(slow, 'GET /v1/things/a', { key: live })).status, 200)
})

test.run()
