import * as assert from 'uvu/assert'
import { suite } from '../../harness.ts'
import { APP_CONFIG, makeWholeApp } from '../whole-app.ts'

const test = suite('control/browsers/guest-pin')

/** Posts the guest form of a new room with these PINs; answers the status and the tries that are left. */
async function guestOf(pins: object, trustedProxies: string[] = []) {
  const app = await makeWholeApp({ config: { ...APP_CONFIG, trustedProxies } })
  const { body: room } = await app.live('POST /v1/conference_rooms', { name: 'Board', ...pins })
  const path = new URL(room.join_url).pathname
  return {
    ...app,
    tryPin: async (pin: string, headers: Record<string, string> = {}) => {
      const form = { name: 'Eve', ...(pin === '' ? {} : { pin }) }
      const { status, body } = await app.live(`POST ${path}`, form, { headers })
      return [status, body.error?.details?.tries_left ?? null]
    },
  }
}

test("a guest cannot guess the moderator's PIN between two entries of the members'", async () => {
  const { tryPin, clock, close } = await guestOf({ pin: '4711', moderator_pin: '99887' })
  assert.equal(await tryPin(''), [400, null], 'nothing is guessed')
  assert.equal(await tryPin('1111'), [400, 2])
  assert.equal(await tryPin('2222'), [400, 1])
  assert.equal(await tryPin('4711'), [201, null], 'who mistyped comes in all the same')
  assert.equal(await tryPin('3333'), [400, 0])
  assert.equal(await tryPin('99887'), [429, null])
  clock.advance(10 * 60 * 1000)
  assert.equal(await tryPin('1111'), [400, 2])
  assert.equal(await tryPin('99887'), [201, null])
  assert.equal(await tryPin('1111'), [400, 2], 'a moderator has nothing left to guess')
  await close()
})

test("nor where members need no PIN; where there is no moderator's, the right one forgives", async () => {
  const open = await guestOf({ moderator_pin: '99887' })
  assert.equal(await open.tryPin('1111'), [400, 2])
  assert.equal(await open.tryPin('2222'), [400, 1])
  assert.equal(await open.tryPin(''), [201, null])
  assert.equal(await open.tryPin('3333'), [400, 0])
  assert.equal(await open.tryPin('99887'), [429, null])
  await open.close()
  const plain = await guestOf({ pin: '4711' })
  assert.equal(await plain.tryPin('1111'), [400, 2])
  assert.equal(await plain.tryPin('4711'), [201, null])
  assert.equal(await plain.tryPin('2222'), [400, 2])
  await plain.close()
})

test('a PIN that is entered before the room opens is no try', async () => {
  const early = await guestOf({ pin: '4711', schedule: { start_at: '2026-11-21T12:00:00Z' } })
  for (let i = 0; i < 5; i++) assert.equal(await early.tryPin('4711'), [409, null])
  early.clock.advance(2 * 60 * 60 * 1000)
  assert.equal(await early.tryPin('1111'), [400, 2])
  assert.equal(await early.tryPin('4711'), [201, null])
  await early.close()
})

test('another address of the same IPv6 network, or a forged X-Forwarded-For, is no fresh start', async () => {
  const from = (forwarded: string) => ({ 'x-forwarded-for': forwarded })
  const proxied = await guestOf({ pin: '4711' }, ['127.0.0.1/32'])
  for (const [i, left] of [2, 1, 0].entries()) {
    assert.equal(await proxied.tryPin('1111', from(`2001:db8:1:2::${i}`)), [400, left])
  }
  assert.equal(await proxied.tryPin('4711', from('2001:db8:1:2:ffff::1')), [429, null])
  assert.equal(await proxied.tryPin('1111', from('2001:db8:1:3::1')), [400, 2], 'the network beside it')
  await proxied.close()
  const direct = await guestOf({ pin: '4711' })
  for (const left of [2, 1, 0]) assert.equal(await direct.tryPin('1111', from(`1.2.3.${left}`)), [400, left])
  assert.equal(await direct.tryPin('4711', from('1.2.3.9')), [429, null])
  await direct.close()
})

test.run()
