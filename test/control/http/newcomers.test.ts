import Type from 'typebox'
import * as assert from 'uvu/assert'
import { type Route, route } from '../../../control/http/route.ts'
import { idParams, input } from '../../../control/http/schema.ts'
import { suite } from '../../harness.ts'
import { ask, makeWorld, serve } from '../app-harness.ts'

const test = suite('control/http/newcomers')

const reply = Type.Object({ id: Type.String() })
const common = { tag: 'T', summary: 'S', status: 200, reply, scope: 'calls:read' } as const
const routes: Route[] = [
  route({
    ...common,
    method: 'GET',
    path: '/things',
    id: 'listThings',
    query: Type.Object({ room_id: Type.Optional(Type.String()) }, { additionalProperties: false }),
    handler: async () => ({ id: 'list' }),
  }),
  route({
    ...common,
    method: 'GET',
    path: '/things/:id',
    id: 'getThing',
    params: idParams,
    handler: async (_, { params }) => ({ id: params.id }),
  }),
  route({
    ...common,
    method: 'POST',
    path: '/things',
    id: 'createThing',
    body: input({
      timeout_s: Type.Optional(Type.Integer()),
      metadata: Type.Optional(Type.Object({})),
      overflow: Type.Optional(input({ audio_asset_id: Type.Optional(Type.String()) })),
    }),
    handler: async () => ({ id: 'made' }),
  }),
]

const world = await makeWorld()
const app = await serve(world, routes)
const { live } = world.ours.keys
test.after(async () => {
  await app.close()
  await world.store.close()
})

const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` })

test('curl -u KEY: authenticates: the key is the user name of HTTP basic authentication', async () => {
  assert.is((await ask(app, 'GET /v1/things', { headers: basic(`${live}:`) })).status, 200)
  assert.is((await ask(app, 'GET /v1/things', { headers: basic(live) })).status, 200)
  for (const text of ['sk_live_wrong:', ':', `:${live}`, '', `${live} :`, '\u0000:']) {
    const { status, body } = await ask(app, 'GET /v1/things', { headers: basic(text) })
    assert.equal([status, body.error.code], [401, 'api_key_invalid'], text)
  }
  const { status } = await ask(app, 'GET /v1/things', { headers: { authorization: 'Basic !!!' } })
  assert.is(status, 401)
})

test('an unknown parameter that is nearly a known one is answered with the one that was meant', async () => {
  const said = async (line: string, body?: unknown) => (await ask(app, line, { key: live, body })).body.error
  for (const [sent, param, meant] of [
    [{ timeot_s: 1 }, 'timeot_s', 'timeout_s'],
    [{ timeoutS: 1 }, 'timeoutS', 'timeout_s'],
    [{ timeout: 1 }, 'timeout', 'timeout_s'],
    [{ time: 1 }, 'time', 'timeout_s'],
    [{ meta_data: {} }, 'meta_data', 'metadata'],
    [{ overflow: { audio_asset: 'x' } }, 'overflow.audio_asset', 'overflow.audio_asset_id'],
  ] as const) {
    const error = await said('POST /v1/things', sent)
    assert.equal([error.code, error.param], ['parameter_unknown', param])
    assert.is(error.message, `Unknown parameter: ${param}. Did you mean ${meant}?`)
  }
  assert.match((await said('GET /v1/things?roomid=1')).message, /Did you mean room_id\?$/)
  for (const stranger of ['colour', 'x', '']) {
    assert.is((await said('POST /v1/things', { [stranger]: 1 })).message, `Unknown parameter: ${stranger}.`)
  }
})

test('a trailing slash is no empty ID: 404 says so', async () => {
  for (const line of [
    'GET /v1/things/',
    'GET /v1/things/?room_id=1',
    'GET /v1/things/a/',
    'GET /v1//things',
    'POST /v1/things/',
  ]) {
    const { status, body } = await ask(app, line, { key: live })
    assert.equal([status, body.error.code], [404, 'resource_missing'], line)
    assert.match(body.error.message, /slash|empty/, line)
  }
})

test.run()
