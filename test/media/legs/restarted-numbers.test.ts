import * as assert from 'uvu/assert'
import { PCMU } from '../../../codecs/g711.ts'
import { RtpLeg } from '../../../media/legs/rtp-leg.ts'
import type { Quality } from '../../../media/protocol.ts'
import { LEG_SAMPLES, NO_HOOKS } from '../../../media/rooms/leg.ts'
import { Room } from '../../../media/rooms/room.ts'
import { parseRtcp, RtcpCompound } from '../../../media/rtp/rtcp.ts'
import { RtpSender } from '../../../media/rtp/rtp.ts'
import { suite } from '../../harness.ts'
import { mediaOf, Party, run, seeded, sharpest, toneFrame } from '../engine/party.ts'

const test = suite('media/legs/restarted-numbers')

const HZ = 415
const AMPLITUDE = 11_600
/** Ticks that are looked at behind the restart. */
const BEHIND = 60

interface Restart {
  /** how far the numbers jump, beyond the next one */
  sequence: number
  timestamp: number
  jitterMs: number
  /** tick of the restart */
  at: number
  /** nothing is sent for this long before it [ticks] */
  pause?: number
  /** the sender's clock stands still in the pause */
  isStill?: boolean
}

interface Outcome {
  /** how sharply the tone bends at most, relative to what it does on its own */
  bend: number
  /** the longest that it is softer than a tenth [ms] */
  hole: number
  before: Quality
  after: Quality
}

/** What a member of a room hears of a tone whose sender restarts its numbers under the same SSRC. */
function heardOf({ sequence, timestamp, jitterMs, at, pause = 0, isStill = false }: Restart): Outcome {
  const room = new Room({ roomId: 'call_1', kind: 'conference', chimes: false, musicWhenAlone: false, maxMembers: 3 })
  const parties = [1, 2, 3].map(n => new Party(`part_${n}`, `192.0.2.${n}`))
  room.legs.push(...parties.map(({ leg }) => leg))
  const [speaker, listener] = parties as [Party, Party]
  const random = seeded(9)
  const sender = new RtpSender({ ssrc: 7, sequence: 30_000, timestamp: 4_000_000, maxPayload: LEG_SAMPLES })
  const onTheWay: { arrival: number; packet: Uint8Array }[] = []
  const qualities: Quality[] = []
  run(room, at + BEHIND, (tick, now) => {
    if (tick === at - pause) qualities.push(speaker.leg.quality)
    if (tick === at) {
      sender.sequence = (sender.sequence + sequence) & 0xffff
      sender.timestamp = (sender.timestamp + timestamp) >>> 0
    }
    const isPause = tick >= at - pause && tick < at
    if (!isPause) {
      PCMU.encode(toneFrame(HZ, tick, AMPLITUDE), sender.packet.subarray(12))
      const arrival = Math.max(onTheWay.at(-1)?.arrival ?? 0, now + (jitterMs === 0 ? 0 : (random() >>> 8) % jitterMs))
      onTheWay.push({ arrival, packet: sender.write(0, LEG_SAMPLES, undefined, tick === 0).slice() })
    }
    if (!isPause || !isStill) sender.advance(LEG_SAMPLES)
    while (onTheWay.length > 0 && onTheWay[0]!.arrival <= now + 4) {
      const { arrival, packet } = onTheWay.shift()!
      speaker.leg.rtp(packet, '192.0.2.1', 4000, arrival)
    }
  })
  const heard = listener.heard()
  const from = at * LEG_SAMPLES
  const alone = sharpest(heard.subarray(from - (pause + 60) * LEG_SAMPLES, from - (pause + 5) * LEG_SAMPLES))
  const behind = heard.subarray(from - (pause === 0 ? 2 : 0) * LEG_SAMPLES)
  const bend = sharpest(pause === 0 ? behind : behind.subarray(5 * LEG_SAMPLES)) / alone
  return { bend, hole: longestHole(behind), before: qualities[0]!, after: speaker.leg.quality }
}

/** [ms] */
function longestHole(samples: Int16Array): number {
  let [longest, length] = [0, 0]
  for (const sample of samples) {
    length = Math.abs(sample) < AMPLITUDE / 10 ? length + 1 : 0
    longest = Math.max(longest, length)
  }
  return longest / 8
}

/** Every jump alone and with others: small, as far as a jitter buffer reaches, beyond what counts as loss, and anywhere. */
const SEQUENCES = [0, 1, 2, 3, 5, 40, 200, 5000, 30_000, -1, -2, -5, -40, -90, -200, -5000]
const TIMESTAMPS = [
  0, 160, 320, 480, 800, 4800, 16_000, 1_000_000, 2_000_000_000, -160, -800, -4800, -16_000, -1_000_000,
]

for (const jitterMs of [0, 20, 60]) {
  test(`a sender that restarts its numbers under the same SSRC is heard without a hole or a click, and nothing of it counts as lost, with ${jitterMs} ms of jitter`, () => {
    for (const sequence of SEQUENCES) {
      for (const timestamp of TIMESTAMPS) {
        // As where so many packets were lost.
        if (sequence > 0 && timestamp === sequence * LEG_SAMPLES) continue
        // As where nothing was said for so long, on this network.
        if (sequence === 0 && timestamp > 0 && timestamp <= 8 * jitterMs) continue
        const { bend, hole, before, after } = heardOf({ sequence, timestamp, jitterMs, at: 150 })
        const what = `by ${sequence} and ${timestamp}`
        assert.ok(bend < 2, `${what}: ${bend} times the bend`)
        assert.ok(hole < 10, `${what}: ${hole} ms`)
        assert.ok(after.packetsLost - before.packetsLost <= 0, `${what}: ${after.packetsLost} lost`)
        assert.ok(after.jitterMs < before.jitterMs + 10, `${what}: ${after.jitterMs} ms of jitter`)
        assert.ok(after.delayMs < before.delayMs + 45, `${what}: ${after.delayMs} after ${before.delayMs} ms`)
      }
    }
  })
}

test('after a pause without a word, as of hold, its first packets are heard, whether its timestamps go on, stand still or restart', () => {
  for (const pause of [10, 40, 120]) {
    for (const [sequence, timestamp, isStill] of [
      [0, 0, false],
      [0, 0, true],
      [0, 1_000_000, false],
      [0, -1_000_000, false],
      [777, 1_000_000, false],
      [-777, -4000, false],
      [0, 8000, true],
    ] as const) {
      const { bend, hole, after } = heardOf({ sequence, timestamp, isStill, pause, jitterMs: 5, at: 250 })
      const what = `${pause} ticks, by ${sequence} and ${timestamp}`
      assert.ok(hole < 70, `${what}: ${hole} ms`)
      assert.ok(bend < 2, `${what}: ${bend} times the bend`)
      assert.ok(after.packetsLost <= 2, `${what}: ${after.packetsLost} lost`)
      assert.ok(after.delayMs < 70, `${what}: ${after.delayMs} ms`)
    }
  }
})

test('RTCP tells of a restarted sender from its restart on: nothing lost, and the numbers that it has now', () => {
  const reports: RtcpCompound[] = []
  const keep = (bytes: Uint8Array, length: number): void => {
    const compound = new RtcpCompound()
    assert.ok(parseRtcp(bytes.subarray(0, length), compound))
    reports.push(compound)
  }
  const leg = new RtpLeg('part_1', { sendRtp: () => {}, sendRtcp: keep }, NO_HOOKS, seeded(5), () => {})
  leg.connect(mediaOf('192.0.2.1'), 0)
  const sender = new RtpSender({ ssrc: 7, sequence: 30_000, timestamp: 4_000_000, maxPayload: LEG_SAMPLES })
  for (let tick = 0; tick < 1500; tick++) {
    const now = tick * 20
    if (tick === 700) sender.sequence = 30_020
    leg.rtp(sender.write(0, LEG_SAMPLES).slice(), '192.0.2.1', 4000, now)
    sender.advance(LEG_SAMPLES)
    leg.pull(now + 5, false, false)
    leg.send(null, null, now + 5)
  }
  const block = reports.at(-1)!.blocks[0]!
  assert.equal([block.cumulativeLost, block.fractionLost], [0, 0])
  assert.ok(block.highestSequence < 31_000, `${block.highestSequence}`)
})

test.run()
