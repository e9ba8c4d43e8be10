import * as assert from 'uvu/assert'
import { EchoGuard } from '../../../media/speech/echo-guard.ts'
import { suite } from '../../harness.ts'
import { seeded } from '../party.ts'

const test = suite('media/speech/echo-guard')

/** From 0 to 1. */
const unit = (seed: number): (() => number) => {
  const random = seeded(seed)
  return () => random() / 2 ** 32
}

/** A frame of noise of about this peak. */
function noise(peak: number, random: () => number): Int16Array {
  return Int16Array.from({ length: 160 }, () => Math.round(peak * (2 * random() - 1)))
}

test('half a second after we fell silent, however loud we were, nothing is an echo', () => {
  for (let seed = 1; seed <= 200; seed++) {
    const random = unit(seed)
    const guard = new EchoGuard()
    for (let i = 0; i < 100; i++) guard.sent(noise(8000 + 16_000 * random(), random))
    const soft = noise(300, random)
    assert.ok(guard.mayBeEcho(soft), 'while it can come back it may be one')
    for (let i = 0; i < 25; i++) guard.sent(new Int16Array(160))
    assert.not(guard.mayBeEcho(soft), `seed ${seed}`)
  }
})

test('what may be an echo is judged by the loudest frame of the last half second, at any time', () => {
  const random = unit(7)
  const guard = new EchoGuard()
  const peaks: number[] = []
  for (let i = 0; i < 2000; i++) {
    const peak = random() < 0.2 ? 0 : Math.round(20_000 * random() ** 3)
    peaks.push(peak)
    guard.sent(new Int16Array(160).fill(peak))
    const loudest = Math.max(...peaks.slice(-25))
    // 20 dB are a tenth of the amplitude.
    assert.is(guard.mayBeEcho(new Int16Array(160).fill(Math.floor(loudest * 0.098))), loudest > 0, `frame ${i}`)
    assert.not(guard.mayBeEcho(new Int16Array(160).fill(Math.ceil(loudest * 0.102) + 1)), `frame ${i}`)
  }
})

test.run()
