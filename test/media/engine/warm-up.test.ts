// Own process: it counts what is executed, by the inspector of the process.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { queryObjects } from 'node:v8'
import * as assert from 'uvu/assert'
import { warmUp } from '../../../media/engine/warm-up.ts'
import { RtpLeg } from '../../../media/legs/rtp-leg.ts'
import { Room } from '../../../media/rooms/room.ts'
import { chooseDatagrams } from '../../../media/rtp/datagrams/choose.ts'
import { JitterBuffer } from '../../../media/rtp/jitter.ts'
import { StreamFork } from '../../../media/streams/stream-fork.ts'
import { ClientFrames, StreamLane } from '../../../media/streams/stream-lane.ts'
import { StreamOutbox } from '../../../media/streams/stream-outbox.ts'
import { StreamTrack } from '../../../media/streams/stream-track.ts'
import { Executed } from '../../executed.ts'
import { TestEngine } from '../../fakes/engine.ts'
import { suite } from '../../harness.ts'

const test = suite('media/engine/warm-up')

/** What a packet passes, but for its socket: each law, encrypted or not, lost or not, a key or audio, alone or mixed. */
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
/** Of every packet and every frame of a fork. */
const KEPT = [RtpLeg, JitterBuffer, Room, StreamFork, StreamOutbox, StreamTrack, ClientFrames]

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
  // To wait for each packet for good keeps a process without calls busy, and costs each leg.
  assert.equal(done, [])
  // What V8 has compiled is worth little once the last object of a class is gone.
  for (const one of KEPT) assert.ok(Number(queryObjects(one)) >= 3, one.name)
  if (connections !== null) assert.is(Number(queryObjects(StreamLane)), 3)
  await world.close()
  rmSync(dataDir, { recursive: true })
})

test.run()
