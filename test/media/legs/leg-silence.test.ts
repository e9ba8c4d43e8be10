import * as assert from 'uvu/assert'
import { loudness } from '../../../bench/spectrum.ts'
import { ComfortNoise } from '../../../codecs/comfort-noise.ts'
import { Room } from '../../../media/rooms/room.ts'
import { suite } from '../../harness.ts'
import { Party, run, toneFrame } from '../engine/party.ts'

const test = suite('media/legs/leg-silence')
const SPEC = { roomId: 'room', kind: 'conference' as const, chimes: false, musicWhenAlone: false, maxMembers: 3 }

function noiseOf(...payload: number[]): Int16Array {
  const noise = new ComfortNoise()
  noise.describe(Uint8Array.from(payload), 0, payload.length)
  const samples = new Int16Array(16_000)
  noise.fill(samples)
  return samples
}

/** From 1, of low frequencies alone, to -1, of high ones. */
const slope = (samples: Int16Array): number => {
  let [product, power] = [0, 0]
  for (let i = 1; i < samples.length; i++) {
    product += samples[i]! * samples[i - 1]!
    power += samples[i]! ** 2
  }
  return product / power
}

test('RFC 3389 §3.1: noise has the level that it is described with, with a spectrum or without', () => {
  for (const level of [30, 45, 60]) {
    assert.ok(Math.abs(loudness(noiseOf(level)) + level) < 0.5, `${loudness(noiseOf(level))}`)
    assert.ok(Math.abs(loudness(noiseOf(level, 50, 140)) + level) < 1, `${loudness(noiseOf(level, 50, 140))}`)
  }
  assert.ok(noiseOf(127).every(sample => Math.abs(sample) <= 1))
})

test('RFC 3389 §3.2: it has the spectrum of the reflection coefficients, and none that breaks it', () => {
  assert.ok(Math.abs(slope(noiseOf(40))) < 0.05)
  assert.ok(slope(noiseOf(40, 64)) > 0.4, 'the first is minus the correlation with the sample before')
  assert.ok(slope(noiseOf(40, 190)) < -0.4)
  assert.ok(loudness(noiseOf(40, ...new Array(40).fill(255))) < -25)
})

test('who falls silent by comfort noise is heard as that noise, at its level, until it speaks again; without it as nothing', () => {
  for (const level of [null, 40, 55]) {
    const room = new Room(SPEC)
    const [speaker, listener] = [new Party('leg_a', '10.0.0.1'), new Party('leg_b', '10.0.0.2')]
    room.legs.push(speaker.leg, listener.leg)
    const said = (tick: number, now: number): void => speaker.speak(toneFrame(1000, tick), now)
    run(room, 30, said)
    const packet = Uint8Array.of(0x80, 13, 0, 31, 0, 0, 0x16, 0xa8, 0, 0, 0, 7, level ?? 0)
    run(
      room,
      40,
      (tick, now) => {
        if (tick === 30 && level !== null) speaker.leg.rtp(packet, '10.0.0.1', 4000, now)
      },
      30,
    )
    const silence = loudness(listener.heard(40, 68))
    if (level === null) assert.ok(silence < -70, `${silence}`)
    else assert.ok(Math.abs(silence + level) < 1.5, `${silence} dBov in place of -${level}`)
    run(room, 30, said, 70)
    assert.ok(loudness(listener.heard(85, 100)) > -16, 'the tone is back')
  }
})

test.run()
