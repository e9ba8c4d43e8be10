import * as assert from 'uvu/assert'
import type { WorkingThread } from '../../../media/engine/engine-client.ts'
import { Threads } from '../../../media/engine/threads/threads.ts'
import { suite } from '../../harness.ts'
import { mediaOf } from './party.ts'

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

test('a leg for which a thread has no port left goes to another one, if there is one', () => {
  const threads = new Threads([fake(0.1), fake(0.5)], () => 0)
  assert.is(threads.all.indexOf(threads.place(null, threads.all[0]!)), 1)
  const single = new Threads([fake(0.1)], () => 0)
  assert.is(single.place(null, single.all[0]!), single.all[0])
})

test('a thread that is being started again gets no leg that another one can take', () => {
  const threads = new Threads([{ ...fake(0), isReady: false }, fake(0.6)], () => 0)
  assert.is(open(threads, null, 'part_1'), 1)
  const alone = new Threads([{ ...fake(0), isReady: false }], () => 0)
  assert.is(open(alone, null, 'part_1'), 0)
})

test('with a thread its legs are lost, and those of others in its rooms; other legs and rooms are as before', async () => {
  const room = { kind: 'call' as const, chimes: false, musicWhenAlone: false, maxMembers: 8 }
  const asked: string[] = []
  const thread = (index: number): WorkingThread => ({
    request: async name => {
      asked.push(`${index} ${name}`)
      return {} as never
    },
  })
  const threads = new Threads([thread(0), thread(1)], () => 0)
  const at = new Date().toISOString()
  for (const index of [0, 1]) {
    threads.note({ name: 'room.opened', at, body: { roomId: `call_${index}` } }, index)
    for (const leg of ['a', 'b']) {
      await threads.all[index]!.request('leg.open', { legId: `part_${index}${leg}`, affinity: '', host: '' })
    }
  }
  const go = (index: number, legId: string, roomId: string) =>
    threads.all[index]!.request('leg.move', { legId, room: { roomId, ...room }, mustExist: true, muted: false })
  await go(0, 'part_0b', 'call_1')
  await go(1, 'part_1b', 'call_0')
  asked.length = 0
  assert.equal(threads.lost(0).sort(), ['part_0a', 'part_0b', 'part_1b'])
  assert.equal(asked, ['1 engine.died'], 'before anybody can be led from the next thread into a room of another')
  assert.is(threads.ofRoom('call_0'), undefined)
  assert.is(threads.ofRoom('call_1'), threads.all[1])
  asked.length = 0
  await threads.all[1]!.request('leg.close', { legId: 'part_1b' })
  await threads.all[0]!.request('leg.close', { legId: 'part_0b' })
  assert.equal(asked, ['1 leg.close', '0 leg.stop_play', '1 room.unseat', '0 leg.close'])
})

test('an answered leg that begins in a room of another thread has its audio first, and then its place there', async () => {
  const asked: [thread: number, name: string, body: object][] = []
  const thread = (index: number): WorkingThread => ({
    request: async (name, body) => {
      asked.push([index, name, body])
      if (name === 'leg.open') return { port: 20_000, ssrc: 7, begun: { legId: 'part_1' } } as never
      return (name === 'leg.connect' ? { legId: 'part_1', roomId: 'call_1' } : {}) as never
    },
  })
  const threads = new Threads([thread(0), thread(1)], () => 0)
  const at = new Date().toISOString()
  threads.note({ name: 'room.opened', at, body: { roomId: 'call_1' } }, 0)
  const enter = { roomId: 'call_1', kind: 'call' as const, chimes: false, musicWhenAlone: false, maxMembers: 8 }
  const begin = { media: mediaOf('192.0.2.1'), enter }
  const opened = await threads.all[1]!.request('leg.open', { legId: 'part_1', affinity: 'org', host: '', begin })
  assert.equal(opened, { port: 20_000, ssrc: 7, begun: { legId: 'part_1', roomId: 'call_1' } })
  assert.equal(
    asked.map(([index, name]) => [index, name]),
    [
      [1, 'leg.open'],
      [0, 'room.reserve'],
      [1, 'leg.connect'],
      [0, 'room.seat'],
    ],
  )
  const [[, , first]] = asked as [[number, string, { begin: object }]]
  assert.equal(first.begin, { ...begin, enter: null })
})

test.run()
