import * as assert from 'uvu/assert'
import { goertzelCoefficient, goertzelDbov, goertzelPower } from '../../codecs/goertzel.ts'
import { levelDbov, SILENCE_DBOV } from '../../codecs/level.ts'
import { suite } from '../harness.ts'

const test = suite('codecs/level')

const sine = (hz: number, amplitude: number): Int16Array =>
  Int16Array.from({ length: 160 }, (_, i) => Math.round(amplitude * Math.sin((2 * Math.PI * hz * i) / 8000)))

test('0 dBov is a full-scale square wave, and a full-scale sine is 3 dB less', () => {
  assert.is(levelDbov(new Int16Array(160).fill(-32_768)), 0)
  assert.ok(Math.abs(levelDbov(sine(1000, 32_767)) + 3.01) < 0.01)
  assert.ok(Math.abs(levelDbov(sine(1000, 3276.7)) + 23.01) < 0.01)
})

test('silence is -127 dBov (RFC 6464 §3), and so is no frame at all', () => {
  assert.is(levelDbov(new Int16Array(160)), SILENCE_DBOV)
  assert.is(levelDbov(new Int16Array(0)), SILENCE_DBOV)
})

test('Goertzel measures a sine at its frequency and nothing elsewhere', () => {
  const samples = sine(1000, 10_000)
  const at = (hz: number): number => goertzelDbov(goertzelPower(samples, goertzelCoefficient(hz, 8000)), samples.length)
  assert.ok(Math.abs(at(1000) - levelDbov(samples)) < 0.01)
  assert.ok(at(1500) < -80)
  assert.ok(at(50) < -80)
})

test('Goertzel measures from the first sample on', () => {
  assert.is(goertzelPower([10], goertzelCoefficient(1000, 8000)), 100)
})

test('Goertzel measures a part of the samples', () => {
  const samples = new Int16Array(480)
  samples.set(sine(1000, 10_000), 160)
  const power = goertzelPower(samples, goertzelCoefficient(1000, 8000), 160, 320)
  assert.ok(Math.abs(power / (10_000 * 80) ** 2 - 1) < 0.001)
})

test.run()
