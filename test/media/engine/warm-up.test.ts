// Own process: it counts what is executed, by the inspector of the process.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { queryObjects } from 'node:v8'
import * as assert from 'uvu/assert'
import { warmUp } from '../../../media/engine/warm-up.ts'
import { RtpLeg } from '../../../media/legs/rtp-leg.ts'
import { Room } from '../../../media/rooms/room.ts'
import { JitterBuffer } from '../../../media/rtp/jitter.ts'
import { Executed } from '../../executed.ts'
import { TestEngine } from '../../fakes/engine.ts'
import { suite } from '../../harness.ts'

const test = suite('media/engine/warm-up')

/** What a packet passes, but for its socket: each law, encrypted or not, lost or not, a key or audio, alone or mixed. */
const HOT = [
  'codecs/detectors/dtmf-detector.ts',
  'codecs/plc.ts',
  'codecs/g711.ts',
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
]

test('what every packet passes is run before the first call; its legs do nothing more, and live on', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tandem-test-'))
  const world = new TestEngine(dataDir)
  const executed = new Executed()
  await executed.begin()
  let frames = 0
  const files = await executed.files(['codecs', 'media'], async () => {
    frames = await warmUp(world.options)
  })
  executed.end()
  assert.is(frames, 400)
  assert.equal(
    HOT.filter(file => !files.includes(file)),
    [],
  )
  assert.equal([world.events, world.faults, world.ends], [[], [], []])
  assert.equal(world.engine.snapshot().legs, [])
  assert.is(world.clockRuns, false)
  // What V8 has compiled is worth little once the last object of a class is gone.
  for (const one of [RtpLeg, JitterBuffer, Room]) assert.ok(Number(queryObjects(one)) >= 3, one.name)
  await world.close()
  rmSync(dataDir, { recursive: true })
})

test.run()
