import { createHmac } from 'node:crypto'
import * as assert from 'uvu/assert'
import { loadResampler } from '../../../codecs/resample.ts'
import type { StreamSnapshot, StreamSpec } from '../../../media/protocol.ts'
import { chooseDatagrams } from '../../../media/rtp/datagrams/choose.ts'
import { type RunningStream, StreamDialler } from '../../../media/streams/stream-socket.ts'
import { gaps } from '../../fakes/stream-wire.ts'
import { TwilioReceiver } from '../../fakes/twilio-receiver.ts'
import { type Behaviour, WsReceiver } from '../../fakes/ws-receiver.ts'
import { suite } from '../../harness.ts'

const test = suite('media/streams/stream-socket')
/** Most of its time it waits for a second that the end of a stream may take, or for the next try to connect. */
const WAITS = { together: true }

const SECRET = `whsec_${Buffer.from('a secret of 32 bytes for signing').toString('base64')}`
const options = { userAgent: 'tandem/0.0.1', createResampler: await loadResampler() }
const { datagrams } = await chooseDatagrams('auto')
const { connections } = datagrams
/** On the sockets of Node, and on the system's own calls where they work: each by itself, and all of a slot together, as in the product. */
const native = new StreamDialler({ ...options, connections })
const DIALLERS = { node: new StreamDialler(options), native, together: native }
type Kind = keyof typeof DIALLERS
const KINDS: Kind[] = connections === null ? ['node'] : ['node', 'native', 'together']
const immediate = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

interface Running extends RunningStream {
  kind: Kind
  changes: StreamSnapshot[]
  faults: unknown[]
  /** Makes its clock throw from now on. */
  breakClock(): void
  /** Keys that the receiver has pressed for the party. */
  pressed: string[]
  /** Advances its clock [ms]. */
  later(ms: number): void
  /** Stops its clock: nothing waits too long from now on, however long the machine is busy with others. */
  stopClock(): void
  until(condition: (snapshot: StreamSnapshot) => boolean): Promise<void>
}

function start(url: string, spec: Partial<StreamSpec> = {}, kind: Kind = KINDS.at(-1)!): Running {
  const changes: StreamSnapshot[] = []
  const pressed: string[] = []
  const faults: unknown[] = []
  let isBroken = false
  const watchers = new Set<() => void>()
  let skewMs = 0
  let stoppedAt: number | null = null
  const stream = DIALLERS[kind].startStream(
    {
      streamId: 'ms_1',
      target: { legId: 'leg_1' },
      url,
      tracks: 'both',
      format: 'mulaw_8000',
      customParameters: { k: 'v' },
      accountSid: 'org_1',
      callSid: 'call_1',
      signingSecret: SECRET,
      addresses: { publicOnly: false, allowed: [] },
      ...spec,
    },
    {
      now: () => {
        if (isBroken) throw new Error('a bug')
        return (stoppedAt ?? performance.now()) + skewMs
      },
      fault: error => faults.push(error),
      press: key => {
        pressed.push(key)
        return true
      },
      changed: snapshot => {
        changes.push(snapshot)
        for (const watcher of [...watchers]) watcher()
      },
    },
  )
  const until = (condition: (snapshot: StreamSnapshot) => boolean): Promise<void> =>
    new Promise(resolve => {
      const watcher = (): void => {
        if (!condition(stream.snapshot())) return
        watchers.delete(watcher)
        resolve()
      }
      watchers.add(watcher)
      watcher()
    })
  return {
    kind,
    changes,
    pressed,
    faults,
    breakClock: () => {
      isBroken = true
    },
    voice: stream.voice,
    later: ms => {
      skewMs += ms
    },
    stopClock: () => {
      stoppedAt = performance.now()
    },
    until,
    sink: stream.sink,
    dtmf: key => stream.dtmf(key),
    stop: reason => stream.stop(reason),
    snapshot: () => stream.snapshot(),
    counters: () => stream.counters(),
  }
}

const frame = new Int16Array(160)
const streaming = ({ status }: StreamSnapshot): boolean => status === 'streaming'
const ended = ({ status }: StreamSnapshot): boolean => status === 'stopped' || status === 'failed'

/** Why it ended, and what the last try to connect met. */
async function endOf(url: string, spec: Partial<StreamSpec> = {}): Promise<(string | null | undefined)[]> {
  const stream = start(url, spec)
  await stream.until(ended)
  const { endedReason, endedDetail } = stream.snapshot()
  return [endedReason, endedDetail]
}

/** Runs `work` as the work of a slot. */
const inSlot = ({ kind }: Running, work: () => void): void =>
  kind === 'together' ? datagrams.sendTogether(work) : work()

async function speak(stream: Running, ticks: number): Promise<void> {
  for (let i = 0; i < ticks; i++) {
    inSlot(stream, () => {
      stream.sink.write('inbound', frame)
      stream.sink.write('outbound', frame)
    })
    await immediate()
  }
}

test('A receiver written for Twilio Media Streams works unchanged, and hears each track', async () => {
  const receiver = await TwilioReceiver.listen()
  const stream = start(receiver.url)
  await stream.until(streaming)
  const tones: Int16Array[] = []
  for (let n = 0; n < 100; n++) {
    const tone = (hz: number): Int16Array =>
      Int16Array.from({ length: 160 }, (_, i) => 8000 * Math.sin((2 * Math.PI * hz * (160 * n + i)) / 8000))
    tones.push(tone(440))
    stream.sink.write('inbound', tone(440))
    stream.sink.write('outbound', tone(1000))
    if (n === 50) stream.dtmf('#')
    await immediate()
  }
  const closed = receiver.ended()
  const final = await stream.stop('stopped')
  await closed
  const call = receiver.calls[0]!
  assert.equal(receiver.complaints, [])
  assert.equal([call.streamSid, call.callSid, call.accountSid], ['ms_1', 'call_1', 'org_1'])
  assert.equal(call.mediaFormat, { encoding: 'audio/x-mulaw', sampleRate: 8000, channels: 1 })
  assert.equal(call.customParameters, { k: 'v' })
  assert.equal([call.digits, call.stopped, call.closeCode], ['#', true, 1000])
  assert.is(call.audio.outbound?.length, 100)
  const worst = Math.max(
    ...tones.flatMap((tone, n) => [...tone].map((s, i) => Math.abs(s - call.audio.inbound![n]![i]!))),
  )
  assert.ok(worst <= 256)
  assert.equal(final, {
    streamId: 'ms_1',
    status: 'stopped',
    framesSent: 200,
    framesDropped: 0,
    framesReceived: 0,
    framesRefused: 0,
    endedReason: 'stopped',
  })
  await receiver.close()
})

test('The upgrade request is signed over an empty body and names its user agent, and asks for no compression', async () => {
  const receiver = await WsReceiver.listen('reads')
  const stream = start(receiver.url)
  await stream.until(streaming)
  const { headers } = receiver.connections[0]!
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.`
  const hmac = createHmac('sha256', 'a secret of 32 bytes for signing').update(signed).digest('base64')
  assert.is(headers['webhook-signature'], `v1,${hmac}`)
  assert.ok(Math.abs(Number(headers['webhook-timestamp']) - Date.now() / 1000) < 5)
  assert.is(headers['user-agent'], 'tandem/0.0.1')
  assert.is(headers['sec-websocket-extensions'], undefined)
  await stream.stop('stopped')
  await receiver.close()
})

// Before those that begin together: what it counts depends on the pace of its frames.
test('A receiver that never reads again does not hold up the end of its stream for more than 1 s', async () => {
  const receiver = await WsReceiver.listen('never reads')
  const stream = start(receiver.url, { format: 'l16_16000' })
  await stream.until(streaming)
  while (stream.snapshot().framesDropped === 0) await speak(stream, 1)
  const before = performance.now()
  const { status, framesDropped } = await stream.stop('call_ended')
  assert.ok(performance.now() - before > 990)
  assert.is(status, 'stopped')
  assert.ok(framesDropped > 180)
  await receiver.close()
})

for (const kind of KINDS) {
  test(
    `${kind}: A receiver that never reads costs its own frames: the chunk gap is frames_dropped, and another stream loses none`,
    async () => {
      const [slow, good] = [await WsReceiver.listen('never reads'), await WsReceiver.listen('reads')]
      const stalled = start(slow.url, { format: 'l16_16000' }, kind)
      const other = start(good.url, {}, kind)
      await Promise.all([stalled.until(streaming), other.until(streaming)])
      let ticks = 0
      for (; stalled.snapshot().framesDropped < 500; ticks++) await Promise.all([speak(stalled, 1), speak(other, 1)])
      const { framesDropped } = stalled.snapshot()
      stalled.stopClock()
      slow.resume()
      await slow.until(() => slow.messages.at(-1)?.media?.chunk === String(ticks))
      assert.is(stalled.snapshot().framesDropped, framesDropped)
      assert.is(gaps(slow.chunks('inbound')).length + gaps(slow.chunks('outbound')).length, framesDropped)
      await Promise.all([stalled.stop('stopped'), other.stop('stopped')])
      await good.until(() => good.connections[0]?.closeCode === 1000)
      assert.is(other.snapshot().framesDropped, 0)
      assert.equal(gaps(good.chunks('inbound')), [])
      assert.is(good.chunks('outbound').length, ticks)
      await Promise.all([slow.close(), good.close()])
    },
    WAITS,
  )
}

for (const kind of KINDS) {
  test(
    `${kind}: an exception behind a write, or in a frame, ends the stream it belongs to and no other one`,
    async () => {
      const receiver = await WsReceiver.listen('reads')
      const streams = [start(receiver.url, {}, kind), start(receiver.url, {}, kind), start(receiver.url, {}, kind)]
      for (const stream of streams) await stream.until(streaming)
      const [behind, within, whole] = streams as [Running, Running, Running]
      const speakAll = (then = (): void => {}): void =>
        inSlot(whole, () => {
          for (const { sink } of streams) for (const track of ['inbound', 'outbound'] as const) sink.write(track, frame)
          then()
        })
      for (let tick = 0; tick < 5; tick++) speakAll()
      speakAll(behind.breakClock)
      await behind.until(ended)
      within.breakClock()
      speakAll()
      await within.until(ended)
      for (let tick = 0; tick < 93; tick++) {
        speakAll()
        await immediate()
      }
      for (const stream of [behind, within]) {
        assert.equal([stream.snapshot().status, stream.snapshot().endedReason], ['failed', 'connect_failed'])
        assert.equal(stream.faults.map(String), ['Error: a bug'])
      }
      assert.equal([whole.snapshot().status, whole.faults], ['streaming', []])
      await whole.stop('stopped')
      await receiver.until(() => receiver.connections[2]!.closeCode === 1000)
      assert.is(receiver.connections[2]!.messages.filter(({ event }) => event === 'media').length, 2 * 100)
      await receiver.close()
    },
    WAITS,
  )
}

for (const behaviour of ['never reads', 'answers no pings'] as Behaviour[]) {
  test(
    `A receiver that ${behaviour} for 5 s has a stalled stream, which is told`,
    async () => {
      const receiver = await WsReceiver.listen(behaviour)
      const stream = start(receiver.url)
      await stream.until(streaming)
      await speak(stream, 20)
      assert.is(stream.snapshot().status, 'streaming')
      stream.later(5000)
      await speak(stream, 1)
      assert.equal(
        stream.changes.map(({ status }) => status),
        ['streaming', 'stalled'],
      )
      await stream.stop('stopped')
      await receiver.close()
    },
    WAITS,
  )
}

for (const kind of KINDS) {
  test(
    `${kind}: A receiver that reads again, and answers, streams again`,
    async () => {
      const receiver = await WsReceiver.listen('never reads')
      const stream = start(receiver.url, {}, kind)
      await stream.until(streaming)
      await speak(stream, 20)
      stream.later(5000)
      await speak(stream, 1)
      assert.is(stream.snapshot().status, 'stalled')
      receiver.resume()
      await stream.until(streaming)
      assert.equal(
        stream.changes.map(({ status }) => status),
        ['streaming', 'stalled', 'streaming'],
      )
      await speak(stream, 10)
      await stream.stop('stopped')
      await receiver.close()
    },
    WAITS,
  )
}

for (const [kind, behaviour] of KINDS.flatMap(kind =>
  (['resets', 'closes with 1011', 'breaks the framing'] as Behaviour[]).map(behaviour => [kind, behaviour] as const),
)) {
  test(
    `${kind}: A receiver that ${behaviour} is reconnected to, and the stream goes on where it was`,
    async () => {
      const receiver = await WsReceiver.listen(behaviour, 'reads')
      const stream = start(receiver.url, {}, kind)
      await stream.until(streaming)
      while (stream.snapshot().status === 'streaming') await speak(stream, 1)
      assert.equal(
        stream.changes.map(({ status }) => status),
        ['streaming', 'reconnecting'],
      )
      await stream.until(streaming)
      await speak(stream, 10)
      await stream.stop('stopped')
      await receiver.until(() => receiver.connections[1]?.closeCode === 1000)
      const [first, second] = receiver.connections
      assert.is(second?.messages[1]?.start?.reconnected, true)
      assert.is(second?.messages[1]?.streamSid, first?.messages[1]?.streamSid)
      assert.not.equal(second?.headers['webhook-id'], first?.headers['webhook-id'])
      assert.is(second?.messages.at(-1)?.event, 'stop')
      await receiver.close()
    },
    WAITS,
  )
}

for (const kind of KINDS) {
  test(`${kind}: A stream that is stopped in a slot sends what it has of it, then stop, then closes`, async () => {
    const receiver = await WsReceiver.listen('reads')
    const stream = start(receiver.url, {}, kind)
    await stream.until(streaming)
    await speak(stream, 3)
    const stopped: Promise<StreamSnapshot>[] = []
    inSlot(stream, () => {
      stream.sink.write('inbound', frame)
      stream.sink.write('outbound', frame)
      stopped.push(stream.stop('call_ended'))
    })
    const final = (await stopped[0])!
    assert.equal([final.framesSent, final.framesDropped, final.endedReason], [8, 0, 'call_ended'])
    await receiver.until(() => receiver.connections[0]?.closeCode === 1000)
    assert.equal(
      receiver.messages.map(({ event }) => event),
      ['connected', 'start', ...new Array(8).fill('media'), 'stop'],
    )
    assert.equal(
      receiver.chunks('outbound').map(({ chunk }) => chunk),
      [1, 2, 3, 4],
    )
    await receiver.close()
  })
}

for (const behaviour of ['answers 302', 'answers 500', 'refuses'] as Behaviour[]) {
  test(
    `A receiver that ${behaviour} is tried three times, then the stream has failed`,
    async () => {
      const receiver = await WsReceiver.listen(behaviour)
      const stream = start(receiver.url)
      await stream.until(ended)
      assert.equal([stream.snapshot().status, stream.snapshot().endedReason], ['failed', 'connect_failed'])
      assert.is(receiver.dials, 3)
      await receiver.close()
    },
    WAITS,
  )
}

test(
  'A receiver that hangs in the handshake holds up neither another stream nor its own end',
  async () => {
    const [hanging, good] = [await WsReceiver.listen('hangs in the handshake'), await WsReceiver.listen('reads')]
    const stuck = start(hanging.url)
    await hanging.until(() => hanging.dials === 1)
    const other = start(good.url)
    await other.until(streaming)
    await Promise.all([speak(stuck, 50), speak(other, 50)])
    const [end, otherEnd] = await Promise.all([stuck.stop('stopped'), other.stop('stopped')])
    assert.equal([end.status, end.endedReason, end.framesSent, end.framesDropped], ['stopped', 'stopped', 0, 100])
    assert.equal([otherEnd.framesSent, otherEnd.framesDropped], [100, 0])
    await Promise.all([hanging.close(), good.close()])
  },
  WAITS,
)

for (const kind of KINDS) {
  test(`${kind}: A receiver that closes with 1000 ends the stream`, async () => {
    const receiver = await WsReceiver.listen('closes with 1000')
    const stream = start(receiver.url, {}, kind)
    await stream.until(streaming)
    while (!ended(stream.snapshot())) await speak(stream, 1)
    assert.is(stream.snapshot().endedReason, 'receiver_closed')
    await receiver.close()
  })
}

for (const kind of KINDS) {
  test(`${kind}: Whatever the receiver sends is read, counted and ignored`, async () => {
    const receiver = await WsReceiver.listen('sends garbage')
    const stream = start(receiver.url, {}, kind)
    await stream.until(streaming)
    while (stream.counters().messagesIgnored < 4) await speak(stream, 1)
    assert.is(stream.snapshot().status, 'streaming')
    const { framesSent } = await stream.stop('stopped')
    await receiver.until(() => receiver.connections[0]?.closeCode === 1000)
    assert.is(receiver.chunks('inbound').length + receiver.chunks('outbound').length, framesSent)
    await receiver.close()
  })
}

for (const kind of KINDS) {
  test(`${kind}: A message over 64 KiB closes with 1009`, async () => {
    const receiver = await WsReceiver.listen('sends a large message')
    const stream = start(receiver.url, {}, kind)
    await stream.until(streaming)
    while (!ended(stream.snapshot())) await speak(stream, 1)
    const { endedReason, endedDetail } = stream.snapshot()
    assert.equal([endedReason, endedDetail], ['receiver_closed', 'a message of the receiver was too long'])
    await receiver.until(() => receiver.connections[0]?.closeCode === 1009)
    assert.is(receiver.dials, 1)
    await receiver.close()
  })
}

test(
  'An address that may not be dialled is not dialled, given as a number or by a name',
  async () => {
    const receiver = await WsReceiver.listen('reads')
    const addresses = { publicOnly: true, allowed: [] }
    const hosts = ['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]', '0x7f.1']
    const ends = hosts.map(host => endOf(`ws://${host}:${receiver.port}/`, { addresses }))
    const [unfit, unnamed] = ['this URL may not be dialled', 'localhost has no address that may be dialled']
    assert.equal(
      await Promise.all(ends),
      [unfit, unnamed, unfit, unfit].map(detail => ['connect_failed', detail]),
    )
    assert.is(receiver.dials, 0)
    const allowed = start(`ws://localhost:${receiver.port}/`, {
      addresses: { publicOnly: true, allowed: ['127.0.0.0/8'] },
    })
    await allowed.until(streaming)
    await allowed.stop('stopped')
    await receiver.close()
  },
  WAITS,
)

test(
  'A URL that cannot be dialled fails like a receiver that cannot be reached',
  async () => {
    const urls = ['no url', 'http://127.0.0.1/', 'ws+unix:/run/a.sock:/', 'ws://127.0.0.1:1/#part', 'ws://127.0.0.1:1/']
    const unfit = 'this URL may not be dialled'
    const details = [unfit, unfit, unfit, 'The URL contains a fragment identifier', 'connect ECONNREFUSED 127.0.0.1:1']
    assert.equal(
      await Promise.all(urls.map(url => endOf(url))),
      details.map(detail => ['connect_failed', detail]),
    )
    const receiver = await WsReceiver.listen()
    const [, detail] = await endOf(`wss://127.0.0.1:${receiver.port}/`)
    assert.match(detail!, /^SSL routines: [a-z ]+$/, 'without TLS')
    await receiver.close()
  },
  WAITS,
)

test.run()
