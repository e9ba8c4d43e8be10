import * as assert from 'uvu/assert'
import { clamp16 } from '../../../codecs/audio.ts'
import { Limiter } from '../../../codecs/limiter.ts'
import type { RoomSpec } from '../../../media/protocol.ts'
import { LEG_SAMPLES } from '../../../media/rooms/leg.ts'
import { Mixer } from '../../../media/rooms/mixer.ts'
import { Room } from '../../../media/rooms/room.ts'
import { suite } from '../../harness.ts'
import { KeepingSink, levelOf, Party, run, seeded, toneFrame } from '../engine/party.ts'

/** A sine of −3 dBov, which is full scale. */
const LOUD = 32_767
const TONES = [400, 700, 1150]
const SECOND = 50

/** Level of everything except these tones, relative to them: harmonics, intermodulation, noise [dB]. */
function distortionDb(samples: ArrayLike<number>, tones: readonly number[]): number {
  let total = 0
  let wanted = 0
  for (let i = 0; i < samples.length; i++) total += samples[i]! ** 2
  for (const hz of tones) {
    let [cosine, sine] = [0, 0]
    for (let i = 0; i < samples.length; i++) {
      cosine += samples[i]! * Math.cos((2 * Math.PI * hz * i) / 8000)
      sine += samples[i]! * Math.sin((2 * Math.PI * hz * i) / 8000)
    }
    wanted += (2 * (cosine ** 2 + sine ** 2)) / samples.length
  }
  return 10 * Math.log10((total - wanted) / wanted)
}

/** Frames of noise of this amplitude, the same in each run. */
function noise(seed: number, amplitude: number): () => Int16Array {
  const random = seeded(seed)
  return () => Int16Array.from({ length: LEG_SAMPLES }, () => Math.round(amplitude * ((2 * random()) / 2 ** 32 - 1)))
}

/** Mixes so many frames for one listener; `said` gives what the talkers say in each. */
function mix(frames: number, said: (tick: number) => Int16Array[]): { out: Int16Array; sum: number[] } {
  const [mixer, limiter] = [new Mixer(LEG_SAMPLES), new Limiter()]
  const out = new Int16Array(frames * LEG_SAMPLES)
  const sum: number[] = []
  for (let tick = 0; tick < frames; tick++) {
    const talkers = said(tick)
    mixer.clear()
    for (const frame of talkers) mixer.add(frame)
    mixer.all(out.subarray(tick * LEG_SAMPLES, (tick + 1) * LEG_SAMPLES), limiter)
    for (let i = 0; i < LEG_SAMPLES; i++) sum.push(talkers.reduce((total, frame) => total + frame[i]!, 0))
  }
  return { out, sum }
}

const test = suite('media/rooms/limited-mix')

test('three talkers at −3 dBov are heard without harmonics and intermodulation, where a clamp distorts by a quarter', () => {
  const { out, sum } = mix(3 * SECOND, tick => TONES.map(hz => toneFrame(hz, tick, LOUD)))
  const settled = out.subarray(SECOND * LEG_SAMPLES)
  const limited = distortionDb(settled, TONES)
  const clamped = distortionDb(sum.slice(SECOND * LEG_SAMPLES).map(clamp16), TONES)
  assert.ok(clamped > -13, `a clamp: ${clamped} dB`)
  assert.ok(limited < -60, `limited: ${limited} dB`)
  for (const hz of TONES) assert.ok(levelOf(hz, settled) > -14, `${hz} Hz: ${levelOf(hz, settled)} dBov`)
})

test('also while they begin to speak nothing is clipped, and the gain falls without a click', () => {
  // A voice takes some milliseconds to be loud.
  const loudness = (tick: number): number => Math.min(1, Math.max(0, tick - 7) / 3) * LOUD
  const { out, sum } = mix(20, tick => [
    toneFrame(TONES[0]!, tick, LOUD),
    ...TONES.slice(1).map(hz => {
      const [from, to] = [loudness(tick), loudness(tick + 1)]
      return Int16Array.from({ length: LEG_SAMPLES }, (_, i) =>
        Math.round(
          (from + ((to - from) * i) / LEG_SAMPLES) * Math.sin((2 * Math.PI * hz * (tick * LEG_SAMPLES + i)) / 8000),
        ),
      )
    }),
  ])
  let before = 1
  for (let i = 0; i < out.length; i++) {
    if (Math.abs(sum[i]!) < 6000) continue
    const gain = out[i]! / sum[i]!
    assert.ok(Math.abs(out[i]!) <= 32_767 && gain <= 1.001, `${gain} at ${i}`)
    assert.ok(before - gain < 0.05, `the gain falls from ${before} to ${gain} at ${i}`)
    before = gain
  }
})

test('sums that fit are exact to the sample, whatever was said before that has died away', () => {
  const [quiet, other] = [noise(1, 10_000), noise(2, 22_000)]
  const { out, sum } = mix(200, () => [quiet(), other()])
  assert.equal(Array.from(out), sum)
  // Loud for a while, then for two seconds not.
  const after = mix(200, tick => (tick < 20 ? TONES.map(hz => toneFrame(hz, tick, LOUD)) : [quiet(), other()]))
  const from = 120 * LEG_SAMPLES
  assert.equal(Array.from(after.out.subarray(from)), after.sum.slice(from))
})

test('the gain is back within half a second after the last loud word', () => {
  const { out, sum } = mix(100, tick =>
    tick < 30 ? TONES.map(hz => toneFrame(hz, tick, LOUD)) : [toneFrame(500, tick, 20_000)],
  )
  const gainAt = (tick: number): number =>
    levelOf(500, out.subarray(tick * 160, tick * 160 + 160)) -
    levelOf(500, Int16Array.from(sum.slice(tick * 160, tick * 160 + 160)))
  assert.ok(gainAt(31) < -6, `${gainAt(31)} dB at once`)
  assert.ok(gainAt(56) > -1, `${gainAt(56)} dB half a second later`)
  assert.ok(gainAt(90) === 0, 'exact in the end')
})

const spec: RoomSpec = { roomId: 'call_1', kind: 'conference', chimes: false, musicWhenAlone: false, maxMembers: 9 }

function roomOf(count: number): { room: Room; parties: Party[] } {
  const room = new Room(spec)
  const parties = Array.from({ length: count }, (_, i) => new Party(`part_${i}`, `192.0.2.${i + 1}`))
  room.legs.push(...parties.map(party => party.leg))
  return { room, parties }
}

test('each listener is limited by what it hears itself: with two loud talkers the third hears both softer, each of them the other as it is', () => {
  const { room, parties } = roomOf(3)
  run(room, 2 * SECOND, (tick, now) => {
    parties[0]!.speak(toneFrame(400, tick, 31_000), now)
    parties[1]!.speak(toneFrame(700, tick, 31_000), now)
  })
  const heard = parties.map(party => party.heard(SECOND, 2 * SECOND))
  assert.ok(levelOf(700, heard[0]!) > -3.6, `${levelOf(700, heard[0]!)}`)
  assert.ok(levelOf(400, heard[1]!) > -3.6, `${levelOf(400, heard[1]!)}`)
  const third = [levelOf(400, heard[2]!), levelOf(700, heard[2]!)]
  for (const level of third) assert.ok(level < -8.5 && level > -10, `${level}`)
  assert.ok(distortionDb(heard[2]!, [400, 700]) < -33, `G.711 alone: ${distortionDb(heard[2]!, [400, 700])} dB`)
})

test('who begins to speak softly amid loud talkers hears no step in them', () => {
  const { room, parties } = roomOf(4)
  run(room, 3 * SECOND, (tick, now) => {
    for (const i of [0, 1, 2]) parties[i]!.speak(toneFrame(TONES[i]!, tick, 30_000), now)
    if (tick >= 100) parties[3]!.speak(toneFrame(2900, tick, 500), now)
  })
  for (let tick = 99; tick < 110; tick++) {
    const level = levelOf(400, parties[3]!.heard(tick, tick + 1))
    assert.ok(level > -14.5 && level < -11.5, `${level} dBov in tick ${tick}`)
  }
})

test('where not everybody hears everybody, and in the mix that is captured, loud talkers are limited as well', () => {
  const { room, parties } = roomOf(4)
  const sink = new KeepingSink()
  room.sinks.push(sink)
  parties[2]!.leg.heardBy = new Set(['part_3'])
  run(room, 2 * SECOND, (tick, now) => {
    for (const i of [0, 1, 2]) parties[i]!.speak(toneFrame(TONES[i]!, tick, 31_000), now)
  })
  const listener = parties[3]!.heard(SECOND, 2 * SECOND)
  assert.ok(distortionDb(listener, TONES) < -33, `${distortionDb(listener, TONES)} dB`)
  const captured = sink.samples('inbound', SECOND, 2 * SECOND)
  assert.ok(distortionDb(captured, [400, 700]) < -33, `${distortionDb(captured, [400, 700])} dB`)
})

test.run()
