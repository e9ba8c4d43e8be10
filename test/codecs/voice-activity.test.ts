import { readFileSync } from 'node:fs'
import * as assert from 'uvu/assert'
import { loadVoiceDetector } from '../../codecs/voice-activity.ts'
import { readWav } from '../../codecs/wav.ts'
import { suite } from '../harness.ts'

const test = suite('codecs/voice-activity')
const create = await loadVoiceDetector()

const wav = readWav(readFileSync(new URL('../../fixtures/prompts/announcement.wav', import.meta.url)))
if ('error' in wav) throw new Error(wav.error)
const speech = wav.samples[0]!

/** Of how many of the frames it says that they are a voice. */
function share(samples: Int16Array, detector = create()): number {
  let voiced = 0
  let inRow = 0
  let isSpeech = false
  const frames = Math.floor(samples.length / 160)
  for (let i = 0; i < frames; i++) {
    const isVoice = detector.hear(samples.subarray(i * 160, (i + 1) * 160), isSpeech) === 'voice'
    inRow = isVoice ? inRow + 1 : 0
    // As whoever listens says it.
    isSpeech ||= inRow === 5
    if (isVoice) voiced++
  }
  detector.close()
  return voiced / frames
}

/** The same noise in each run (xorshift), at about this level [dBov]. */
function noise(seconds: number, levelDbov: number): Int16Array {
  let state = 1
  const amplitude = 32_768 * 10 ** (levelDbov / 20) * Math.sqrt(3)
  return Int16Array.from({ length: 8000 * seconds }, () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return Math.round((amplitude * state) / 2 ** 31)
  })
}

test('most of a sentence is a voice', () => {
  assert.ok(share(speech) > 0.6, `${share(speech)}`)
})

test('silence, the noise of a line and a hum are none', () => {
  assert.is(share(new Int16Array(16_000)), 0)
  assert.is(share(noise(2, -55)), 0)
  const hum = Int16Array.from({ length: 16_000 }, (_, i) => Math.round(60 * Math.sin((2 * Math.PI * 50 * i) / 8000)))
  assert.is(share(hum), 0)
})

test('a whisper of a voice below the floor is none', () => {
  assert.is(share(speech.map(sample => sample / 400)), 0)
})

test('what was learnt to be noise is no voice for some seconds, and then is again, lest somebody is never heard', () => {
  const detector = create()
  const frames = Math.floor(speech.length / 160)
  let at = 0
  const voiced = (seconds: number): number => {
    let count = 0
    for (let i = 0; i < seconds * 50; i++, at = (at + 1) % frames) {
      if (detector.hear(speech.subarray(at * 160, (at + 1) * 160), true) === 'voice') count++
    }
    return count / (seconds * 50)
  }
  assert.ok(voiced(6) > 0.5)
  detector.learnNoise()
  assert.is(voiced(3), 0)
  voiced(9)
  assert.ok(voiced(6) > 0.2)
  detector.close()
})

test('who speaks right behind a loud tone, or other steady noise, is heard from the first word', () => {
  const hears = (before: Int16Array, isLearnt = false): number => {
    const detector = create()
    for (let at = 0; at + 160 <= before.length; at += 160) detector.hear(before.subarray(at, at + 160), false)
    if (isLearnt) detector.learnNoise()
    let first = 0
    while (detector.hear(speech.subarray(first * 160, (first + 1) * 160), false) !== 'voice') first++
    detector.close()
    return first * 20
  }
  const inQuiet = hears(noise(3, -70))
  for (const hz of [300, 440, 700, 1000, 2100]) {
    for (const amplitude of [3000, 9000]) {
      const tone = Int16Array.from({ length: 24_000 }, (_, i) =>
        Math.round(amplitude * Math.sin((2 * Math.PI * hz * i) / 8000)),
      )
      for (const isLearnt of [false, true]) {
        const later = hears(tone, isLearnt) - inQuiet
        assert.ok(later <= 160, `${later} ms later behind ${hz} Hz${isLearnt ? ', learnt to be noise' : ''}`)
      }
    }
  }
  const later = hears(noise(3, -20)) - inQuiet
  assert.ok(later <= 160, `${later} ms later behind noise`)
})

test('steady noise is no voice, however loud and from its first frame on, and a voice above it is', () => {
  for (const level of [-50, -35, -20, -10]) assert.is(share(noise(4, level)), 0, `${level} dBov`)
  const loud = noise(20, -30)
  const both = Int16Array.from(speech, (sample, i) => sample / 2 + loud[i + 8000]!)
  const detector = create()
  for (let i = 0; i < 50; i++) detector.hear(loud.subarray(i * 160, (i + 1) * 160), false)
  const voiced = share(both, detector)
  assert.ok(voiced > 0.2, `${voiced}`)
})

test('one detector is not disturbed by another', () => {
  const [one, other] = [create(), create()]
  const alone = create()
  for (let at = 0; at + 160 <= speech.length; at += 160) {
    const frame = speech.subarray(at, at + 160)
    other.hear(noise(1, -20).subarray(0, 160), false)
    assert.is(one.hear(frame, false), alone.hear(frame, false))
  }
  for (const detector of [one, other, alone]) detector.close()
})

test('after close nothing is a voice, and closing twice is harmless', () => {
  const detector = create()
  detector.close()
  detector.close()
  detector.reset()
  assert.is(share(speech, detector), 0)
})

test.run()
