import * as assert from 'uvu/assert'
import { FollowUps, MAX_PENDING, type Outside } from '../../../control/kernel/follow-ups.ts'
import { MediaClient, type MediaHandler } from '../../../control/media-link/client.ts'
import { MAX_MESSAGE_BYTES } from '../../../media/protocol.ts'
import { FakeMedia } from '../../fakes/media.ts'
import { suite } from '../../harness.ts'
import { silent } from '../app-harness.ts'
import { until } from '../calls-world.ts'

/** Each has a channel of its own, and waits for its deadlines and reconnects. */
const test = suite('control/media-link/client', { together: true })

const EMPTY = { legs: [], rooms: [], captures: [], streams: [], recordings: [], browserIds: [], refers: [] }

interface Recorder extends MediaHandler {
  log: string[]
  /** Holds the next event until it is called. */
  release: () => void
  hold: boolean
  failures: number
  /** The number of an event that cannot be handled, whatever comes with it. */
  poison: number
  /** What follows the event of this number, of this leg. */
  after: (seq: number, legId: string) => Promise<void>
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
    poison: 0,
    failure: new Error('a bug'),
    position: async () => ({ bootId, lastSeq }),
    write: async () => {},
    booted: async id => {
      bootId = id
      lastSeq = 0
      handler.log.push(`booted ${id}`)
    },
    events: async batch => {
      if (handler.failures > 0) {
        handler.failures--
        throw handler.failure
      }
      if (batch.some(({ seq }) => seq === handler.poison)) throw handler.failure
      handler.log.push(`begin ${batch.map(({ seq, event }) => `${event.name} ${seq}`).join(', ')}`)
      if (handler.hold) await new Promise<void>(resolve => (handler.release = resolve))
      lastSeq = batch.at(-1)!.seq
      handler.log.push(`commit ${lastSeq}`)
      for (const { seq, event } of batch) {
        const { legId: key } = event.body as { legId: string }
        handler.followUps.begin({ key, run: () => handler.after(seq, key) })
      }
    },
    followUps: new FollowUps(),
    perform: ({ run }) => run({} as Outside),
    after: async seq => void handler.log.push(`after ${seq}`),
    faults: 0,
    setAside: async ({ seq }) => {
      lastSeq = seq
      handler.log.push(`skip ${seq}`)
    },
    faulted: async key => void handler.log.push(`ended ${key}`),
    recheck: async ({ seq }, legIds) => void handler.log.push(`recheck ${[...legIds]} at ${seq}`),
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
  assert.equal(await client.request('media.stats', {}), { counters: {}, gauges: {}, histograms: {} })
  await client.close()
  await media.close()
})

test('what is dialled because of a missed event, before the snapshot is compared, is not missing from it', async () => {
  const media = new FakeMedia()
  await media.listen()
  media.emit('leg.incoming', { legId: 'part_caller' } as never)
  const handler = recorder()
  const compared: string[] = []
  handler.reconcile = async ({ legs }) => void compared.push(...legs.map(({ legId }) => legId))
  const client = new MediaClient(media.path, handler, silent)
  const legs: { legId: string; state: string }[] = [{ legId: 'part_caller', state: 'incoming' }]
  media.overrides.set('media.snapshot', () => ({ ...EMPTY, seq: 1, legs: [...legs] }))
  // Meanwhile another caller comes, of whom control is told later.
  handler.after = async () =>
    void legs.push({ legId: 'part_dialled', state: 'dialing' }, { legId: 'part_next', state: 'incoming' })
  client.start()
  await until(() => client.state === 'ready')
  assert.equal(compared, ['part_caller', 'part_dialled'])
  await client.close()
  await media.close()
})

test('an event that comes alone is committed at once; what comes meanwhile is committed together, in order, and acknowledged once', async () => {
  const { media, handler, client, close } = await connected()
  handler.hold = true
  media.emit('leg.ringing', { legId: 'part_1' })
  await until(() => handler.log.includes('begin leg.ringing 1'))
  media.emit('leg.ringing', { legId: 'part_2' })
  media.emit('leg.held', { legId: 'part_1' })
  media.emit('leg.resumed', { legId: 'part_1' })
  // A round trip over the channel: the three have arrived.
  await client.request('media.stats', {})
  assert.is(media.acked, 0)
  assert.equal(handler.log.slice(2), ['begin leg.ringing 1'])
  handler.hold = false
  handler.release()
  await media.committed()
  await client.settled()
  assert.equal(handler.log.slice(3), [
    'commit 1',
    'after 1',
    'begin leg.ringing 2, leg.held 3, leg.resumed 4',
    'commit 4',
    'after 2',
    'after 3',
    'after 4',
  ])
  assert.is(media.acknowledgements, 2)
  assert.is(client.counters.batches, 2)
  assert.is(client.counters.events, 4)
  await close()
})

test('however many events wait, a commit takes 32 of them at most', async () => {
  const { media, handler, client, close } = await connected()
  handler.hold = true
  for (let leg = 1; leg <= 101; leg++) media.emit('leg.ringing', { legId: `part_${leg}` })
  await client.request('media.stats', {})
  handler.hold = false
  handler.release()
  await media.committed()
  const commits = handler.log.filter(line => line.startsWith('commit')).map(line => Number(line.slice(7)))
  const sizes = commits.map((seq, n) => seq - (commits[n - 1] ?? 0))
  assert.is(Math.max(...sizes), 32)
  assert.is(commits.at(-1), 101)
  await close()
})

test('what follows from a commit has its turn before later events that wait are committed', async () => {
  const { media, handler, close } = await connected()
  // As long as a step asks a database that answers at once.
  handler.after = async seq => {
    for (let turns = 0; turns < 100; turns++) await null
    handler.log.push(`after ${seq}`)
  }
  for (let leg = 1; leg <= 70; leg++) media.emit('leg.ringing', { legId: `part_${leg}` })
  await until(() => handler.log.includes('after 70'))
  for (const [n, line] of handler.log.entries()) {
    const committed = handler.log.slice(0, n).filter(before => before.startsWith('commit'))
    const behind = Number(committed.at(-1)?.slice(7) ?? 0)
    const after = handler.log.slice(0, n).filter(before => before.startsWith('after'))
    if (line.startsWith('begin')) assert.is(after.length, behind, line)
  }
  await close()
})

test('when one of the events that came together cannot be handled, the others are neither lost nor doubled', async () => {
  const { media, handler, client, close } = await connected()
  handler.hold = true
  media.emit('leg.ringing', { legId: 'part_1' })
  await until(() => handler.log.includes('begin leg.ringing 1'))
  handler.poison = 3
  for (const leg of [2, 3, 4, 5]) media.emit('leg.ringing', { legId: `part_${leg}` })
  await client.request('media.stats', {})
  handler.hold = false
  handler.release()
  await until(() => handler.log.includes('after 5'))
  const done = handler.log.filter(line => /^(after|skip)/.test(line))
  assert.equal(done, ['after 1', 'after 2', 'skip 3', 'after 4', 'after 5'])
  assert.is(client.counters.skipped, 1)
  assert.is(client.counters.split, 1)
  await close()
})

test('a snapshot that is too long for one message comes in several, and what is in it is compared', async () => {
  const media = new FakeMedia()
  await media.listen()
  for (let n = 0; n < 40_000; n++) media.rooms.set(`call_${n}`, new Set([`part_${n}`]))
  assert.ok(JSON.stringify(media.snapshot()).length > MAX_MESSAGE_BYTES)
  const handler = recorder()
  let compared = 0
  handler.reconcile = async ({ rooms }) => {
    compared = rooms.length
  }
  const client = new MediaClient(media.path, handler, silent)
  client.start()
  await until(() => client.state === 'ready')
  assert.equal([compared, client.counters.connections], [40_000, 1])
  await client.close()
  await media.close()
})

test('a request without a reply in time is unanswered, and nothing but a fact', async () => {
  const { media, handler, client, close } = await connected()
  media.overrides.set('media.stats', () => 'silence')
  const reply = await client.request('media.stats', {}, 20)
  assert.is((reply as { failure: string }).failure, 'unanswered')
  assert.is(client.counters.deadlines, 1)
  assert.not.ok(
    handler.log.some(line => line.startsWith('recheck')),
    'it has changed nothing',
  )
  await close()
})

test('what became of a command without a reply is told by the next snapshot, after the events before it', async () => {
  const { media, handler, client, close } = await connected()
  media.overrides.set('leg.hold', () => 'silence')
  const reply = await client.request('leg.hold', { legId: 'part_1', held: true, sources: [] }, 20)
  assert.is((reply as { failure: string }).failure, 'unanswered')
  media.emit('leg.ringing', { legId: 'part_2' })
  await until(() => handler.log.some(line => line.startsWith('recheck')))
  assert.equal(handler.log.slice(-1), ['recheck part_1 at 1'])
  assert.ok(handler.log.indexOf('commit 1') > 0)
  assert.is(client.state, 'ready', 'the channel is as it was')
  assert.is(client.counters.connections, 1)
  await close()
})

test('when the channel breaks all pending requests are unanswered, and the client comes back by itself', async () => {
  const { media, handler, client, close } = await connected()
  media.overrides.set('media.stats', () => 'silence')
  const pending = [client.request('media.stats', {}), client.request('media.stats', {})]
  await media.until(() => media.sent('media.stats').length === 2)
  media.disconnect()
  for (const reply of await Promise.all(pending)) assert.is((reply as { failure: string }).failure, 'unanswered')
  assert.is(client.state, 'disconnected')
  media.emit('leg.ringing', { legId: 'part_1' })
  await until(() => client.state === 'ready')
  assert.ok(handler.log.includes('commit 1'))
  assert.not.ok(handler.log.slice(1).includes('booted boot-1'), 'it is the same media process')
  await close()
})

test('an event whose handling fails is tried again; one that fails always is set aside, and the channel stays as it is', async () => {
  const { media, handler, client, close } = await connected()
  handler.failures = 1
  media.emit('leg.ringing', { legId: 'part_1' })
  await until(() => handler.log.includes('commit 1'))
  handler.failures = 3
  media.emit('leg.ringing', { legId: 'part_2' })
  await until(() => handler.log.includes('skip 2'))
  assert.is(client.counters.skipped, 1)
  await until(() => client.state === 'ready')
  media.emit('leg.ringing', { legId: 'part_3' })
  await until(() => handler.log.includes('commit 3'))
  assert.is(client.counters.connections, 1)
  await close()
})

test('an event that finds the disk full is never left out: it comes again until the store takes it', async () => {
  const { media, handler, client, close } = await connected()
  handler.failure = Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' })
  handler.failures = 4
  media.emit('leg.ringing', { legId: 'part_1' })
  await until(() => handler.log.includes('commit 1'))
  assert.is(client.counters.skipped, 0)
  await close()
})

test('an event in whose way other transactions are again and again comes again over the same channel, and refuses nobody', async () => {
  const { media, handler, client, close } = await connected()
  handler.failure = Object.assign(new Error('could not serialize access'), { code: '40001' })
  handler.failures = 2
  media.emit('leg.ringing', { legId: 'part_1' })
  await until(() => handler.log.includes('commit 1'))
  assert.is(client.counters.connections, 1)
  assert.is(client.counters.skipped, 0)
  assert.is(client.counters.storeOutages, 0)
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

test('what follows an event waits for later ones too; where so many wait that events wait for them, nothing hangs', async () => {
  const { media, handler, close } = await connected()
  handler.perform = ({ key }, port) => port.settled().then(() => void handler.log.push(`settled ${key}`))
  handler.hold = true
  media.emit('leg.ringing', { legId: 'part_1' })
  await until(() => handler.log.includes('begin leg.ringing 1'))
  media.emit('leg.ringing', { legId: 'part_2' })
  handler.release()
  await until(() => handler.log.includes('begin leg.ringing 2'))
  assert.not.ok(handler.log.includes('settled part_1'))
  handler.hold = false
  handler.release()
  await until(() => handler.log.includes('settled part_1'))
  const events = 2 * MAX_PENDING
  for (let n = 0; n < events; n++) media.emit('leg.ringing', { legId: 'part_3' })
  await until(() => handler.log.filter(line => line === 'settled part_3').length === events)
  await close()
})

test('it is known since when what media told waits, those in hand and those behind them; while it may be of any time, no time is told', async () => {
  const { media, handler, client, close } = await connected()
  assert.is(client.waitingSince, null)
  handler.hold = true
  media.emit('leg.ringing', { legId: 'part_1' })
  const { at } = media.unacknowledged[0]!.event
  await until(() => handler.log.includes('begin leg.ringing 1'))
  assert.is(client.waitingSince, at)
  await until(() => new Date().toISOString() !== at)
  media.emit('leg.ringing', { legId: 'part_2' })
  const later = media.unacknowledged[1]!.event.at
  await client.request('media.stats', {})
  handler.release()
  await until(() => handler.log.includes('begin leg.ringing 2'))
  assert.is(client.waitingSince, later)
  handler.hold = false
  handler.release()
  await client.settled()
  assert.is(client.waitingSince, null)
  media.disconnect()
  await until(() => client.state === 'disconnected')
  assert.is(client.waitingSince, '')
  await close()
})

/** Longer than a busy machine takes for what does not hang. */
const HANGS_MS = 1000

test('a leg whose commands hang holds up itself alone: what follows the events of others is done, and its own in order', async () => {
  const { media, handler, client, close } = await connected()
  media.overrides.set('leg.hold', body => ((body as { legId: string }).legId === 'part_1' ? 'silence' : {}))
  const hold = { held: true, sources: [] }
  handler.after = async (seq, legId) => {
    await client.request('leg.hold', { legId, ...hold }, HANGS_MS)
    handler.log.push(`after ${seq}`)
  }
  for (const legId of ['part_1', 'part_2', 'part_1', 'part_2']) media.emit('leg.ringing', { legId })
  await client.request('media.stats', {})
  await client.settled()
  await until(() => handler.log.includes('after 4'))
  assert.equal(client.counters.deadlines, 0, 'the first one hangs still')
  await until(() => handler.log.includes('after 3'))
  const done = handler.log.filter(line => line.startsWith('after'))
  assert.equal(done, ['after 2', 'after 4', 'after 1', 'after 3'])
  await close()
})

test('what follows an event and throws ends the call that it belongs to; what follows the events of others is done', async () => {
  const { media, handler, client, close } = await connected()
  const after = handler.after
  handler.after = (seq, legId) => (legId === 'part_1' ? Promise.reject(new Error('a bug')) : after(seq, legId))
  media.emit('leg.ringing', { legId: 'part_1' })
  media.emit('leg.ringing', { legId: 'part_2' })
  await until(() => handler.log.includes('ended part_1') && handler.log.includes('after 2'))
  assert.is(client.counters.connections, 1)
  assert.is(client.state, 'ready')
  await close()
})

test('what follows an event while the database is away is found again: the channel begins anew', async () => {
  const { media, handler, client, close } = await connected()
  handler.after = () => Promise.reject(Object.assign(new Error('disk full'), { code: 'SQLITE_FULL' }))
  media.emit('leg.ringing', { legId: 'part_1' })
  await until(() => client.counters.connections === 2 && client.state === 'ready')
  assert.is(handler.log.filter(line => line.startsWith('reconcile')).length, 2)
  await close()
})

/** What PostgreSQL's client says when nobody listens there. */
const AWAY = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })

test('while it is not known how far events were committed, who calls and who knocks is refused at once, and all is taken up when it is', async () => {
  const media = new FakeMedia()
  await media.listen()
  media.dialIn('part_1', '1000')
  const handler = recorder()
  const { position } = handler
  handler.position = async () => {
    throw AWAY
  }
  const client = new MediaClient(media.path, handler, silent, { publicUrl: 'http://tandem.test' })
  client.start()
  const refused = await media.command('leg.reject', 'part_1')
  assert.equal([refused.sipCode, refused.reason], [503, 'store_unavailable'])
  const knock = { use: 'call' as const, token: 'secret', origin: null, host: '192.0.2.1' }
  media.emit('browser.connecting', { browserId: 'page_1', ...knock })
  const { status, body } = await media.command('browser.refuse')
  const { error } = body as { error: { code: string; doc_url: string } }
  assert.equal([status, error.code], [503, 'store_unavailable'])
  assert.is(error.doc_url, 'http://tandem.test/docs/errors#store_unavailable')
  assert.equal([client.state, client.counters.connections, handler.log], ['reconciling', 1, []])
  handler.position = position
  await until(() => client.state === 'ready')
  assert.is(client.counters.connections, 1, 'the channel stays')
  assert.equal(handler.log.slice(0, 2), [
    'booted boot-1',
    // The caller has been told his end; the page is gone, and its token unused.
    'begin leg.incoming 1, leg.ended 2, browser.closed 3',
  ])
  assert.is(media.sent('leg.reject').length, 1)
  await client.close()
  await media.close()
})

test('a page that knocks in an outage of a running channel is refused at once', async () => {
  const { media, handler, close } = await connected()
  handler.failure = AWAY
  handler.failures = 2
  media.emit('browser.connecting', {
    browserId: 'page_1',
    use: 'phone',
    token: 'secret',
    origin: null,
    host: '192.0.2.1',
  })
  assert.is((await media.command('browser.refuse')).status, 503)
  await media.committed()
  assert.ok(handler.log.includes('begin browser.closed 1'))
  await close()
})

test.run()
