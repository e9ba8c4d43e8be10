import * as assert from 'uvu/assert'
import { EchoGuard } from '../../../../media/speech/hearing/echo-guard.ts'
import { Endpointer } from '../../../../media/speech/hearing/endpointer.ts'
import { suite } from '../../../harness.ts'
import { seeded } from '../../engine/party.ts'

const test = suite('media/speech/hearing/echo-guard')

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

/** Words of 12 frames with pauses of 12 between them, and what a line gives back of them, 8 frames later. */
const WORD = 12
const DELAY = 8
const saying = (frame: number): number => (frame < 0 || frame % (2 * WORD) >= WORD ? 0 : 16_000)
/** 34 dB below. */
const echoOf = (frame: number): number => 0.02 * saying(frame - DELAY)

test('a soft voice between our words is no echo, once it is known how late the line gives back what, and how loud', () => {
  const guard = new EchoGuard()
  // 31 dB below our words, 3 dB above their echo.
  const soft = 460
  let heard = 0
  for (let i = 0; i < 400; i++) {
    guard.sent(new Int16Array(160).fill(saying(i)))
    const speaks = i >= 200 && i < 225
    const isEcho = guard.mayBeEcho(new Int16Array(160).fill(Math.max(speaks ? soft : 0, echoOf(i))))
    if (!speaks) assert.ok(isEcho, `frame ${i}: the line's echo is taken for a voice`)
    else if (!isEcho) heard++
  }
  assert.ok(heard >= 6, `${heard} of 25 frames were held for a voice`)
})

test('a voice over ours does not become an echo by lasting', () => {
  const guard = new EchoGuard()
  // 24 dB below our words, 10 dB above their echo.
  const voice = 1000
  const heard: number[] = []
  for (let i = 0; i < 300; i++) {
    guard.sent(new Int16Array(160).fill(saying(i)))
    const speaks = i >= 200
    if (!guard.mayBeEcho(new Int16Array(160).fill(Math.max(speaks ? voice : 0, echoOf(i)))) && speaks) heard.push(i)
  }
  assert.ok(heard.filter(i => i >= 250).length >= 20, `after a second it is heard in frames ${heard}`)
})

test('what lingers of our words in a room is an echo, also when we have fallen silent', () => {
  for (let seed = 1; seed <= 20; seed++) {
    const random = unit(seed)
    const guard = new EchoGuard()
    const endpointer = new Endpointer({ afterMs: 200, endOfSpeechMs: 700, maxUtteranceMs: 20_000 })
    let lingers = 0
    for (let i = 0; i < 1000; i++) {
      // Sentences of three seconds with a second between them, in words of any loudness.
      const peak = i % 200 >= 150 || i % 9 === 0 ? 0 : 4000 + 16_000 * random()
      guard.sent(noise(peak, random))
      lingers = Math.max(0.85 * lingers, 0.05 * peak)
      const isEcho = guard.isSilent || guard.mayBeEcho(noise(lingers, random))
      assert.is(
        endpointer.frame(isEcho ? 'perhaps' : 'voice'),
        'none',
        `seed ${seed}, frame ${i}: we interrupt ourselves`,
      )
    }
  }
})

test.run()
