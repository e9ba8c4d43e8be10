import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import * as assert from 'uvu/assert'
import { ArrayLease } from '../../../codecs/arrays.ts'
import { dtmfTone } from '../../../codecs/tones.ts'
import type { LegSocket } from '../../../media/engine/legs.ts'
import { LEG_SAMPLES } from '../../../media/rooms/leg.ts'
import type { RtpReceiver } from '../../../media/rtp/rtp-socket.ts'
import { type FarEnd, type Given, TestEngine } from '../../fakes/engine.ts'
import { suite } from '../../harness.ts'
import { mediaOf, Speaker } from '../engine/party.ts'

// Own process: it counts what is outside the heap.

const test = suite('media/legs/leg-arrays')

const TALK_TICKS = 50
const LEGS = 100

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Speaks like a voice: a tone that comes and goes, of which packets are lost, and a key. */
function talk(world: TestEngine, farEnd: FarEnd, loudness: number): void {
  const key = dtmfTone('5', 100)
  world.run(TALK_TICKS, tick => {
    const at = tick % TALK_TICKS
    const frame = Int16Array.from({ length: LEG_SAMPLES }, (_, i) => {
      const sample = at * LEG_SAMPLES + i
      return loudness * Math.sin(sample * 0.11) * Math.sin(sample / 900)
    })
    if (at >= 20 && at < 25) frame.set(key.subarray((at - 20) * LEG_SAMPLES, (at - 19) * LEG_SAMPLES))
    const { receiver } = farEnd
    if (at % 9 === 8) farEnd.receiver = null
    farEnd.speaker.speak(frame, world.now)
    farEnd.receiver = receiver
  })
}

/** A call in an echo. @returns the packets that the far end received */
async function call(world: TestEngine, legId: string, loudness: number): Promise<Uint8Array[]> {
  const farEnd = await world.join(legId, { roomId: `call_${legId}`, kind: 'echo' })
  talk(world, farEnd, loudness)
  await world.engine.do('leg.close', { legId })
  return farEnd.received.payloads
}

async function withEngine(work: (world: TestEngine) => Promise<void>, given: Given = {}): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tandem-test-'))
  const world = new TestEngine(dataDir, { threads: 1, ...given })
  try {
    await work(world)
  } finally {
    await world.close()
    rmSync(dataDir, { recursive: true })
  }
}

test('nothing that a leg said is in what the next one hears', () =>
  withEngine(async world => {
    // Of the same length: their hosts are told from each other by it.
    const first = await call(world, 'leg_a', 3000)
    await call(world, 'leg_b', 30_000)
    const third = await call(world, 'leg_c', 3000)
    assert.ok(first.length > TALK_TICKS / 2, `${first.length} packets`)
    assert.equal(third, first)
  }))

test('the arrays of a leg that could not be closed go to nobody', () =>
  withEngine(async world => {
    const { end } = ArrayLease.prototype
    let ended = 0
    ArrayLease.prototype.end = function () {
      ended++
      end.call(this)
    }
    try {
      await world.join('leg_a')
      await world.engine.do('leg.close', { legId: 'leg_a' })
      assert.is(ended, 1)
      const farEnd = await world.join('leg_b')
      Object.defineProperty(farEnd, 'closed', {
        set: () => {
          throw new Error('it stays open')
        },
      })
      await world.engine.do('leg.close', { legId: 'leg_b' })
      assert.is(world.faults.length, 1)
      assert.is(ended, 1)
    } finally {
      ArrayLease.prototype.end = end
    }
  }))

test('a leg that comes after another has left takes less than 2 KB outside the heap', async () => {
  let receiver: RtpReceiver | null = null
  const socket: LegSocket = {
    ...{ port: 20_000, sendRtp: () => {}, sendRtcp: () => {}, close: () => {} },
    listen: to => {
      receiver = to
    },
  }
  const host = '192.0.2.1'
  const packets: Uint8Array[] = []
  const speaker = new Speaker(packet => packets.push(packet))
  for (let i = 0; i < TALK_TICKS; i++) speaker.speak(new Int16Array(LEG_SAMPLES).fill(100 * i), 0)
  await withEngine(
    async world => {
      const callOf = async (legId: string): Promise<void> => {
        await world.engine.do('leg.open', { legId, affinity: '', host: '' })
        const enter = { roomId: legId, kind: 'echo', chimes: false, musicWhenAlone: false, maxMembers: 2 } as const
        world.engine.do('leg.connect', { legId, media: mediaOf(host), enter })
        world.run(TALK_TICKS, tick => receiver?.rtp(packets[tick % TALK_TICKS]!, host, 4000, world.now))
        await world.engine.do('leg.close', { legId })
      }
      for (let leg = 0; leg < 20; leg++) await callOf(`warm_${leg}`)
      collect()
      const before = process.memoryUsage().arrayBuffers
      for (let leg = 0; leg < LEGS; leg++) await callOf(`leg_${leg}`)
      const each = (process.memoryUsage().arrayBuffers - before) / LEGS
      assert.ok(each < 2048, `${each} bytes`)
    },
    { openSocket: async () => socket },
  )
})

test('what still comes for a leg that has left does nothing', () =>
  withEngine(async world => {
    const gone = await world.join('leg_gone', { roomId: 'call_gone', kind: 'echo' })
    talk(world, gone, 3000)
    const { receiver } = gone
    await world.engine.do('leg.close', { legId: 'leg_gone' })
    const sent = gone.received.payloads.length
    const next = await world.join('leg_next', { roomId: 'call_next', kind: 'echo' })
    gone.receiver = receiver
    const loud = new Int16Array(LEG_SAMPLES).fill(30_000)
    world.run(TALK_TICKS, () => {
      gone.speaker.speak(loud, world.now)
      next.speaker.speak(new Int16Array(LEG_SAMPLES), world.now)
    })
    assert.is(gone.received.payloads.length, sent)
    assert.is(Math.max(...next.received.heard().map(Math.abs)), 0)
  }))

test.run()
