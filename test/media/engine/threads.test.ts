import * as assert from 'uvu/assert'
import type { WorkingThread } from '../../../media/engine/engine-client.ts'
import { Threads } from '../../../media/engine/threads/threads.ts'
import { suite } from '../../harness.ts'

const test = suite('media/engine/threads')

const fake = (busy: number): WorkingThread => ({ request: async () => ({}) as never, busy: () => busy })
const open = (threads: Threads, near: string | null, legId: string): number => {
  const thread = threads.place(near)
  void thread.request('leg.open', { legId, affinity: 'org', host: '' })
  return threads.all.indexOf(thread)
}

test('a new leg goes to the thread that has most time left, and legs that come at once are spread', () => {
  const threads = new Threads([fake(0.3), fake(0.1)], () => 0)
  assert.is(open(threads, null, 'part_1'), 1)
  const even = new Threads([fake(0), fake(0)], () => 0)
  assert.equal(
    [1, 2, 3, 4].map(n => open(even, null, `part_${n}`)),
    [0, 1, 0, 1],
  )
})

test('one that is likely to meet somebody goes to the same thread, unless that is full', () => {
  let load = 0.5
  let now = 0
  const threads = new Threads([{ ...fake(0), busy: () => load }, fake(0.6)], () => now)
  assert.is(open(threads, 'room_1', 'part_1'), 0)
  load = 0.7
  now = 2000
  assert.is(open(threads, 'room_1', 'part_2'), 0)
  assert.is(open(threads, 'part_2', 'part_3'), 0)
  load = 0.9
  now = 4000
  assert.is(open(threads, 'room_1', 'part_4'), 1)
})

test.run()
