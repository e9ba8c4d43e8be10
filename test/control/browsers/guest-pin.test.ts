import * as assert from 'uvu/assert'
import { suite } from '../../harness.ts'
import { makeWholeApp } from '../whole-app.ts'

const test = suite('control/browsers/guest-pin')

/** Posts the guest form of a new room with these PINs; answers the status and the tries that are left. */
async function guestOf(pins: object) {
  const app = await makeWholeApp()
  const { body: room } = await app.live('POST /v1/conference_rooms', { name: 'Board', ...pins })
  const path = new URL(room.join_url).pathname
  return {
    ...app,
    tryPin: async (pin: string) => {
      const { status, body } = await app.live(`POST ${path}`, { name: 'Eve', ...(pin === '' ? {} : { pin }) })
      return [status, body.error?.details?.tries_left ?? null]
    },
  }
}

test("a guest cannot guess the moderator's PIN between two entries of the members'", async () => {
  const { tryPin, clock, close } = await guestOf({ pin: '4711', moderator_pin: '99887' })
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

test.run()
