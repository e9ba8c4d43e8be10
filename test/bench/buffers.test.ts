import * as assert from 'uvu/assert'
import { runRooms } from '../../bench/buffers/virtual-rooms.ts'
import { suite } from '../harness.ts'

const test = suite('bench/buffers')

const plan = { legs: 6, roomSize: 3, seconds: 10, seed: 5 }

test('over a calm network every frame is heard, within the slot after the one it came in', () => {
  const { framesExpected, framesHeard, latencyMs } = runRooms({ ...plan, jitterMs: 0 })
  assert.ok(framesExpected > 500, `${framesExpected}`)
  assert.is(framesHeard, framesExpected)
  assert.ok(latencyMs!.max < 30, `${latencyMs!.max} ms`)
})

test('what a network makes late is waited for, and two runs are the same', () => {
  const calm = runRooms({ ...plan, jitterMs: 0 })
  const late = runRooms({ ...plan, jitterMs: 5 })
  assert.ok(late.latencyMs!.p50 > calm.latencyMs!.p50 + 5, `${late.latencyMs!.p50} and ${calm.latencyMs!.p50} ms`)
  assert.equal(runRooms({ ...plan, jitterMs: 5 }), late)
})

test.run()
