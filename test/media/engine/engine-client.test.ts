import { EventEmitter } from 'node:events'
import { mock } from 'node:test'
import type { Worker } from 'node:worker_threads'
import * as assert from 'uvu/assert'
import { EngineClient, type EngineHooks } from '../../../media/engine/engine-client.ts'
import type { EngineConfig } from '../../../media/engine/engine-protocol.ts'
import { newDescriptorList } from '../../../media/rtp/datagrams/own-descriptors.ts'
import { suite } from '../../harness.ts'

/** Own process: its timers are mocked for all who share one. */
const test = suite('media/engine/engine-client')

/** A thread that replies when the test says so. */
class SlowThread extends EventEmitter {
  readonly asked: { id: number; name: string }[] = []

  postMessage(message: { id: number; name: string }): void {
    this.asked.push(message)
  }

  answer(index: number, body: object): void {
    this.emit('message', [{ type: 'reply', id: this.asked[index]!.id, body }])
  }
}

test('a command that its thread has not answered in 4.5 s is unanswered; an answer that comes later is none, and others are not held up', async () => {
  mock.timers.enable({ apis: ['setTimeout'] })
  try {
    const thread = new SlowThread()
    const client = new EngineClient(
      () => ({}) as never,
      { handOver: send => send() } as EngineHooks,
      () => thread as unknown as Worker,
    )
    let first: object | null = null
    const slow = client.request('leg.read', { legId: 'part_1' }).then(reply => {
      first = reply
    })
    const quick = client.request('leg.read', { legId: 'part_2' })
    thread.answer(1, { legId: 'part_2' })
    assert.equal(await quick, { legId: 'part_2' })
    mock.timers.tick(4499)
    await Promise.resolve()
    assert.is(first, null)
    mock.timers.tick(1)
    await slow
    const message = 'leg.read: no answer of the engine thread within 4500 ms'
    assert.equal(first, { failure: 'unanswered', message })
    thread.answer(0, { legId: 'part_1' })
    assert.is(client.unanswered, 1)
    const next = client.request('leg.read', { legId: 'part_1' })
    thread.answer(2, { legId: 'part_1' })
    assert.equal(await next, { legId: 'part_1' })
    mock.timers.tick(10_000)
    assert.is(client.unanswered, 1, 'what was answered in time is not counted')
  } finally {
    mock.timers.reset()
  }
})

test('who comes into and leaves the own room of a party is heard by the main thread alone', () => {
  const thread = new SlowThread()
  const heard: string[] = []
  const own = ({ name }: { name: string }) => void heard.push(name)
  const hooks = { own, handOver: (send: () => void) => send() } as unknown as EngineHooks
  new EngineClient(
    () => ({}) as never,
    hooks,
    () => thread as unknown as Worker,
  )
  thread.emit('message', [{ type: 'own', event: { name: 'room.opened' } }])
  assert.equal(heard, ['room.opened'])
})

test('what a thread tells together is heard in its order, and what was asked for last', async () => {
  const thread = new SlowThread()
  const heard: string[] = []
  const event = ({ name }: { name: string }) => void heard.push(name)
  const hooks = { event, handOver: (send: () => void) => send() } as unknown as EngineHooks
  const client = new EngineClient(
    () => ({}) as never,
    hooks,
    () => thread as unknown as Worker,
  )
  const closed = client.request('leg.close', { legId: 'part_1' }).then(() => heard.push('reply'))
  const events = ['leg.left', 'room.closed'].map(name => ({ type: 'event', event: { name } }))
  thread.emit('message', [...events, { type: 'reply', id: 1, body: {} }])
  await closed
  assert.equal(heard, ['leg.left', 'room.closed', 'reply'])
})

/** A client with threads that die when the test says so, and what it tells. */
function mortal() {
  const threads: SlowThread[] = []
  const told: string[] = []
  const hooks = {
    sockets: () => {},
    died: ({ message }: Error) => void told.push(`died: ${message}`),
    failed: ({ message }: Error) => void told.push(`failed: ${message}`),
    handOver: (send: () => void) => send(),
  } as unknown as EngineHooks
  const client = new EngineClient(
    () => ({ descriptors: newDescriptorList() }) as EngineConfig,
    hooks,
    () => {
      threads.push(new SlowThread())
      return threads.at(-1) as unknown as Worker
    },
  )
  const ready = (): boolean => threads.at(-1)!.emit('message', [{ type: 'sockets', kind: 'node', problem: null }])
  return { client, threads, told, ready }
}

test('a thread that dies is replaced, what it was asked is unanswered, and the next one is asked from then on', async () => {
  const { client, threads, told, ready } = mortal()
  ready()
  const asked = client.request('leg.read', { legId: 'part_1' })
  threads[0]!.emit('error', new Error('a bug'))
  threads[0]!.emit('exit', 1)
  assert.equal(await asked, { failure: 'unanswered', message: 'the engine thread died' })
  assert.equal(told, ['died: a bug'])
  assert.is(client.isReady, false)
  const next = client.request('leg.read', { legId: 'part_2' })
  assert.is(threads.length, 2)
  threads[1]!.answer(0, { legId: 'part_2' })
  assert.equal(await next, { legId: 'part_2' })
  ready()
  assert.is(client.isReady, true)
  assert.is(client.restarts, 1)
})

test('one that dies before it was ready is not replaced, nor the fourth within a minute', () => {
  const early = mortal()
  early.threads[0]!.emit('exit', 7)
  assert.equal(early.told, ['failed: exit code 7'])
  const { threads, told, ready } = mortal()
  for (let n = 0; n < 4; n++) {
    ready()
    threads[n]!.emit('exit', n)
  }
  assert.equal(told, ['died: exit code 0', 'died: exit code 1', 'died: exit code 2', 'failed: exit code 3'])
})

test.run()
