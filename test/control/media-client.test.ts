import * as assert from 'uvu/assert'
import { MediaClient, type MediaHandler } from '../../control/media-client.ts'
import { FakeMedia } from '../fakes/media.ts'
import { suite } from '../harness.ts'
import { silent } from './app-harness.ts'
import { until } from './calls-world.ts'

const test = suite('control/media-client')

interface Recorder extends MediaHandler {
  log: string[]
  /** Holds the next event until it is called. */
  release: () => void
  hold: boolean
  failures: number
  /** What a failure is. */
  failure: Error
}

function recorder(): Recorder {
  let lastSeq = 0
  let bootId: string | null = null
  const handler: Recorder = {
    log: [],
    release: () => {},
    hold: false,
    failures: 0,
    failure: new Error('a bug'),
    position: async () => ({ bootId, lastSeq }),
    booted: async id => {
      bootId = id
      lastSeq = 0
      handler.log.push(`booted ${id}`)
    },
    event: async (seq, event) => {
      if (handler.failures > 0) {
        handler.failures--
        throw handler.failure
      }
      handler.log.push(`begin ${event.name} ${seq}`)
      if (handler.hold) await new Promise<void>(resolve => (handler.release = resolve))
      lastSeq = seq
      handler.log.push(`commit ${seq}`)
      return async () => void handler.log.push(`after ${seq}`)
    },
    skip: async seq => {
      lastSeq = seq
      handler.log.push(`skip ${seq}`)
    },
    reconcile: async snapshot => void handler.log.push(`reconcile ${snapshot.seq}`),
  }
  return handler
}

async function connected() {
  const media = new FakeMedia()
  await media.listen()
  const handler = recorder()
  const client = new MediaClient(media.path, handler, silent)
  client.start()
  await until(() => client.state === 'ready')
  const close = async (): Promise<void> => {
    handler.hold = false
    handler.release()
    await client.close()
    await media.close()
  }
  return { media, handler, client, close }
}

test('events missed are handled, then the snapshot, then requests are let through', async () => {
  const media = new FakeMedia()
  await media.listen()
  media.emit('leg.ringing', { legId: 'part_1' })
  const handler = recorder()
  const client = new MediaClient(media.path, handler, silent)
  assert.is(((await client.request('media.stats', {})) as { failure: string }).failure, 'unavailable')
  client.start()
  await until(() => client.state === 'ready')
  assert.equal(handler.log, ['booted boot-1', 'begin leg.ringing 1', 'commit 1', 'after 1', 'reconcile 1'])
  assert.equal(await client.request('media.stats', {}), { counters: {}, gauges: {} })
  await client.close()
  await media.close()
})

test('an event is delivered only after the one before it was committed, and acknowledged after its commit', async () => {
  const { media, handler, close } = await connected()
  handler.hold = true
  media.emit('leg.ringing', { legId: 'part_1' })
  media.emit('leg.ringing', { legId: 'part_2' })
  await until(() => handler.log.includes('begin leg.ringing 1'))
  assert.is(media.acked, 0)
  assert.not.ok(handler.log.includes('begin leg.ringing 2'))
  handler.hold = false
  handler.release()
  await media.committed()
  assert.equal(handler.log.slice(2), [
    'begin leg.ringing 1',
    'commit 1',
    'after 1',
    'begin leg.ringing 2',
    'commit 2',
    'after 2',
  ])
  await close()
})

test('a request without a reply in time is unavailable', async () => {
  const { media, client, close } = await connected()
  media.overrides.set('media.stats', () => 'silence')
  const reply = await client.request('media.stats', {}, 20)
  assert.is((reply as { failure: string }).failure, 'unavailable')
  assert.is(client.counters.deadlines, 1)
  await close()
})

test('when the channel breaks all pending requests are unavailable, and the client comes back by itself', async () => {
  const { media, handler, client, close } = await connected()
  media.overrides.set('media.stats', () => 'silence')
  const pending = [client.request('media.stats', {}), client.request('media.stats', {})]
  await media.until(() => media.sent('media.stats').length === 2)
  media.disconnect()
  for (const reply of await Promise.all(pending)) assert.is((reply as { failure: string }).failure, 'unavailable')
  assert.is(client.state, 'disconnected')
  media.emit('leg.ringing', { legId: 'part_1' })
  await until(() => client.state === 'ready')
  assert.ok(handler.log.includes('commit 1'))
  assert.not.ok(handler.log.slice(1).includes('booted boot-1'), 'it is the same media process')
  await close()
})

test('an event whose handling fails comes again; one that fails always is left out', async () => {
  const { media, handler, client, close } = await connected()
  handler.failures = 1
  media.emit('leg.ringing', { legId: 'part_1' })
  await until(() => handler.log.includes('commit 1'))
  handler.failures = 5
  media.emit('leg.ringing', { legId: 'part_2' })
  await until(() => handler.log.includes('skip 2'))
  assert.is(client.counters.skipped, 1)
  await until(() => client.state === 'ready')
  media.emit('leg.ringing', { legId: 'part_3' })
  await until(() => handler.log.includes('commit 3'))
  await close()
})

test('an event that finds the disk full is never left out: it comes again until the store takes it', async () => {
  const { media, handler, client, close } = await connected()
  handler.failure = Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' })
  handler.failures = 8
  media.emit('leg.ringing', { legId: 'part_1' })
  await until(() => handler.log.includes('commit 1'))
  assert.is(client.counters.skipped, 0)
  await close()
})

test('settled resolves when the events that came before it are committed', async () => {
  const { media, handler, client, close } = await connected()
  handler.hold = true
  media.emit('leg.ringing', { legId: 'part_1' })
  await until(() => handler.log.includes('begin leg.ringing 1'))
  let isSettled = false
  const settled = client.settled().then(() => {
    isSettled = true
  })
  await new Promise(resolve => setImmediate(resolve))
  assert.is(isSettled, false)
  handler.hold = false
  handler.release()
  await settled
  assert.ok(handler.log.includes('after 1'))
  await close()
})

test.run()
