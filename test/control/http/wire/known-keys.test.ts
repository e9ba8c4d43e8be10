import * as assert from 'uvu/assert'
import { BELIEVED_MS } from '../../../../control/http/wire/known-keys.ts'
import { suite } from '../../../harness.ts'
import { ask } from '../../app-harness.ts'
import { makeWholeApp } from '../../whole-app.ts'

const test = suite('control/http/wire/known-keys')

async function newKey() {
  const world = await makeWholeApp()
  const { id, secret } = (await world.live('POST /v1/api_keys', { name: 'Lost' })).body
  const statusOf = async (): Promise<number> => (await ask(world.app, 'GET /v1/callbacks', { key: secret })).status
  assert.is(await statusOf(), 200)
  return { world, id, statusOf }
}

test('a key that is revoked is refused from then on, however much it was in use', async () => {
  const { world, id, statusOf } = await newKey()
  const running = Array.from({ length: 5 }, statusOf)
  const revoking = world.live(`DELETE /v1/api_keys/${id}`)
  const meanwhile = Array.from({ length: 5 }, statusOf)
  assert.is((await revoking).status, 200)
  assert.is(await statusOf(), 401)
  await Promise.all([...running, ...meanwhile])
  assert.is(await statusOf(), 401, 'nobody who had asked before has remembered it')
  await world.close()
})

test('a key that another node has revoked is refused after a second at the latest', async () => {
  const { world, id, statusOf } = await newKey()
  await world.store.db.deleteFrom('api_keys').where('id', '=', id).execute()
  world.clock.advance(BELIEVED_MS + 1)
  assert.is(await statusOf(), 401)
  await world.close()
})

test('a key that expires is refused from that moment on', async () => {
  const world = await makeWholeApp()
  const expires_at = new Date(world.clock.now().getTime() + 500).toISOString()
  const { secret: key } = (await world.live('POST /v1/api_keys', { name: 'Short', expires_at })).body
  assert.is((await ask(world.app, 'GET /v1/callbacks', { key })).status, 200)
  world.clock.advance(500)
  const { status, body } = await ask(world.app, 'GET /v1/callbacks', { key })
  assert.equal([status, body.error.code], [401, 'api_key_expired'])
  await world.close()
})

test.run()
