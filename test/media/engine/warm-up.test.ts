// Own process: it counts what is executed, by the inspector of the process.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { queryObjects, setFlagsFromString } from 'node:v8'
import * as assert from 'uvu/assert'
import { warmUp } from '../../../media/engine/warm-up.ts'
import { RtpLeg } from '../../../media/legs/rtp-leg.ts'
import { Room } from '../../../media/rooms/room.ts'
import { chooseDatagrams } from '../../../media/rtp/datagrams/choose.ts'
import { JitterBuffer } from '../../../media/rtp/jitter.ts'
import { PlayoutDelay } from '../../../media/rtp/playout-delay.ts'
import { ReceptionStats } from '../../../media/rtp/reception-stats.ts'
import { parseRtcp, RTCP_BUFFER_BYTES, RtcpCompound, writeReport } from '../../../media/rtp/rtcp.ts'
import { StreamFork } from '../../../media/streams/stream-fork.ts'
import { ClientFrames, StreamLane } from '../../../media/streams/stream-lane.ts'
import { StreamOutbox } from '../../../media/streams/stream-outbox.ts'
import { StreamTrack } from '../../../media/streams/stream-track.ts'
import { Executed } from '../../executed.ts'
import { TestEngine } from '../../fakes/engine.ts'
import { suite } from '../../harness.ts'

const test = suite('media/engine/warm-up')

/** The code that packets pass, except sockets: both laws, encrypted or not, lost or not, keys and audio, alone or mixed. */
const HOT = [
  'codecs/detectors/dtmf-detector.ts',
  'codecs/plc.ts',
  'codecs/g711.ts',
  'media/engine/player.ts',
  'media/engine/rooms.ts',
  'media/legs/leg-keys.ts',
  'media/legs/packet-relay.ts',
  'media/legs/rtp-leg.ts',
  'media/rooms/leg.ts',
  'media/rooms/mixer.ts',
  'media/rooms/pass-through.ts',
  'media/rooms/room.ts',
  'media/rtp/dtmf-events.ts',
  'media/rtp/jitter.ts',
  'media/rtp/latch.ts',
  'media/rtp/packet-ring.ts',
  'media/rtp/playout-delay.ts',
  'media/rtp/reception-stats.ts',
  'media/rtp/rtcp.ts',
  'media/rtp/rtp.ts',
  'media/srtp/srtp-receiver.ts',
  'media/srtp/srtp-sender.ts',
  'media/streams/stream-fork.ts',
  'media/streams/stream-outbox.ts',
  'media/streams/stream-track.ts',
  'media/streams/stream-wire.ts',
]
/** Classes whose objects every packet, and every frame of a fork, passes. */
const KEPT = [RtpLeg, JitterBuffer, Room, StreamFork, StreamOutbox, StreamTrack, ClientFrames]

/** Number of objects that live of each class. A query collects all garbage, several times, so one is made for all of them: by a class above theirs. */
function countLiving(classes: readonly { name: string; prototype: object }[]): Map<string, number> {
  class Any {}
  for (const { prototype } of classes) Object.setPrototypeOf(prototype, Any.prototype)
  const counts = new Map(classes.map(({ name }) => [name, 0]))
  for (const text of queryObjects(Any, { format: 'summary' })) {
    const name = /^\w+/.exec(text)?.[0] ?? ''
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return counts
}

/** The sockets that the product would have here. */
const { datagrams } = await chooseDatagrams('auto')
const { connections } = datagrams

test('what every packet and every frame of a fork passes is run before the first call; it does nothing more, and lives on', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tandem-test-'))
  const world = new TestEngine(dataDir)
  const executed = new Executed()
  await executed.begin()
  let frames = 0
  const done: string[] = []
  const effects = {
    attend: () => done.push('attend'),
    cross: () => done.push('cross'),
    emitOwn: () => done.push('emitOwn'),
  }
  const files = await executed.files(['codecs', 'media'], async () => {
    const warm = await warmUp({ ...world.options, ...effects, connections }, work => datagrams.sendTogether(work))
    frames = warm.ticks
    await warm.rehearse(9)
  })
  executed.end()
  assert.is(frames, 400)
  assert.equal(
    (connections === null ? HOT : [...HOT, 'media/streams/stream-lane.ts']).filter(file => !files.includes(file)),
    [],
  )
  assert.equal([world.events, world.faults, world.ends], [[], [], []])
  assert.equal(world.engine.snapshot().legs, [])
  assert.is(world.clockRuns, false)
  // No effect remains: attending to datagrams would keep a process without calls busy.
  assert.equal(done, [])
  // V8 discards much of what it has compiled when the last object of a class is collected.
  const living = countLiving([...KEPT, StreamLane])
  for (const one of KEPT) assert.ok(living.get(one.name)! >= 3, one.name)
  if (connections !== null) assert.is(living.get(StreamLane.name), 3)
  await world.close()
  rmSync(dataDir, { recursive: true })
})

/** Whether V8 has one layout for both. */
setFlagsFromString('--allow-natives-syntax')
const haveSameLayout = new Function('one', 'other', 'return %HaveSameMap(one, other)') as (
  one: object,
  other: object,
) => boolean

/** A source whose SSRC, timestamps and NTP time need all of 32 bits, and a clock of fractions. */
const SSRC = 0xfedc_ba98
const NTP = 0xf123_4567
const START_MS = 12_345.678

function measured(): ReceptionStats {
  const stats = new ReceptionStats()
  for (let i = 0; i < 30; i++) stats.receive(SSRC, i, (0xffff_ff00 + i * 160) >>> 0, START_MS + i * 20.3)
  stats.senderReport(SSRC, NTP, START_MS)
  stats.report(START_MS + 700.1)
  return stats
}

function judged(): PlayoutDelay {
  const delay = new PlayoutDelay(20, 400)
  for (let group = 0; group < 40; group++) {
    Object.assign(delay, { packets: 8, least: 1.3 + (group % 3), most: 25.7, smoothedMs: 12.9 })
    delay.endGroup()
  }
  delay.shift(0.7)
  return delay
}

function parsed(): RtcpCompound {
  const bytes = new Uint8Array(RTCP_BUFFER_BYTES)
  const sent = { wallMs: (0xf000 - 2_208_988_800) * 1000, rtpTimestamp: SSRC, packets: 1, octets: 160 }
  const report = new RtcpCompound()
  parseRtcp(bytes.subarray(0, writeReport(bytes, SSRC, sent, null, 'far')), report)
  assert.ok(report.senderNtp >= 2 ** 31)
  return report
}

const LAYOUTS: readonly (readonly [name: string, create: () => object, use: () => object])[] = [
  ['reception statistics', () => new ReceptionStats(), measured],
  ['playout delay', () => new PlayoutDelay(20, 400), judged],
  ['RTCP report', () => new RtcpCompound(), parsed],
]

test('what is compiled before the first call fits its packets: their objects have the layout that V8 has seen', () => {
  for (const [name, create, use] of LAYOUTS) {
    const before = create()
    assert.ok(haveSameLayout(before, use()), name)
  }
})

test.run()
