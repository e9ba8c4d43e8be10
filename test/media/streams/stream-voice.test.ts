import * as assert from 'uvu/assert'
import { StreamVoice } from '../../../media/streams/stream-voice.ts'
import { suite } from '../../harness.ts'

const test = suite('media/streams/stream-voice')

/** Samples that count up from `first`. */
const count = (first: number, length: number): Int16Array => Int16Array.from({ length }, (_, i) => first + i)

function voiceOf(): { voice: StreamVoice; reached: string[] } {
  const reached: string[] = []
  const voice: StreamVoice = new StreamVoice(() => reached.push(...voice.takeReached()))
  return { voice, reached }
}

const pull = (voice: StreamVoice): number[] | null => {
  const frame = voice.pull()
  return frame === null ? null : [...frame]
}

test('what is said comes out sample by sample, in whatever pieces it came', () => {
  const { voice } = voiceOf()
  let said = 0
  const heard: number[] = []
  for (const length of [1, 159, 160, 7, 1000, 3, 480, 150]) {
    voice.write(count(said, length))
    said += length
  }
  for (let frame = pull(voice); frame !== null; frame = pull(voice)) heard.push(...frame)
  voice.write(new Int16Array(0))
  for (let frame = pull(voice); frame !== null; frame = pull(voice)) heard.push(...frame)
  assert.equal(heard.slice(0, said), [...count(0, said)])
})

test('a last piece shorter than a frame waits one frame for more, and is then filled up with silence', () => {
  const { voice } = voiceOf()
  voice.write(count(1, 100))
  assert.is(pull(voice), null)
  voice.write(count(101, 100))
  assert.equal(pull(voice), [...count(1, 160)])
  assert.equal(pull(voice), [...count(161, 40), ...new Array(120).fill(0)])
  assert.is(pull(voice), null)
})

test('a mark is reached when the audio before it has been played to its end, and not when it was given out', () => {
  const { voice, reached } = voiceOf()
  voice.write(count(0, 320))
  voice.mark('both')
  voice.write(count(0, 160))
  voice.mark('all')
  voice.pull()
  voice.pull()
  assert.equal(reached, [])
  voice.pull()
  assert.equal(reached, ['both'])
  voice.pull()
  assert.equal(reached, ['both', 'all'])
})

test('a mark with nothing before it is reached at once', () => {
  const { voice, reached } = voiceOf()
  voice.mark('now')
  assert.equal(reached, ['now'])
})

/** Samples in which what is stopped fades out: 5 ms. */
const FADE = 40

/** A frame of this value that fades out. */
const isFading = (frame: number[] | null, value: number): boolean =>
  frame?.every((sample, n) => Math.abs(sample - value * Math.max(0, 1 - (n + 1) / (FADE + 1))) <= 1) === true

test('who is left in the middle of a word goes on there, and tells so; what `clear` took meanwhile is not heard any more', () => {
  const { voice } = voiceOf()
  voice.write(count(0, 800))
  voice.pull()
  assert.not(voice.isMidway)
  assert.equal([...voice.breakOff()!], [...count(160, 160)])
  assert.equal(pull(voice), [...count(160, 160)])
  assert.ok(voice.isMidway)
  voice.pull()
  assert.not(voice.isMidway)
  voice.breakOff()
  voice.clear()
  voice.write(count(2000, 160))
  assert.equal(pull(voice), [...count(2000, 160)])
  assert.not(voice.isMidway)
})

test('`clear` forgets what waits and reaches its marks, in their order; what is being heard fades out', () => {
  const { voice, reached } = voiceOf()
  voice.write(new Int16Array(800).fill(1000))
  voice.mark('a')
  voice.write(new Int16Array(800).fill(1000))
  voice.mark('b')
  voice.pull()
  voice.clear()
  assert.equal(reached, ['a', 'b'])
  assert.ok(isFading(pull(voice), 1000))
  assert.is(pull(voice), null)
  voice.write(count(5, 160))
  voice.clear()
  assert.is(pull(voice), null, 'nothing of it was heard')
  voice.write(count(5, 160))
  assert.equal(pull(voice), [...count(5, 160)])
})

test('what is said right behind a `clear` is heard at once, beside the end of what was said before', () => {
  const { voice } = voiceOf()
  voice.write(new Int16Array(800).fill(1000))
  voice.pull()
  voice.clear()
  voice.write(new Int16Array(320).fill(70))
  const frame = pull(voice)!.map(sample => sample - 70)
  assert.ok(isFading(frame, 1000))
  assert.equal(pull(voice), new Array(160).fill(70))
})

test('60 s wait, what comes beyond is refused and counted, and what waits is whole', () => {
  const { voice } = voiceOf()
  const second = (n: number): Int16Array => new Int16Array(8000).fill(n)
  for (let n = 0; n < 60; n++) assert.ok(voice.write(second(n)))
  assert.not.ok(voice.write(second(60)))
  assert.is(voice.refused, 8000)
  const frame = voice.pull()
  assert.is(frame?.[0], 0)
  assert.not.ok(voice.write(second(61)))
  assert.is(voice.refused, 8000 + 7840)
  for (let n = 1; n < 60 * 50; n++) assert.is(voice.pull()?.[159], Math.floor(n / 50))
  assert.is(voice.pull()?.[0], 61)
})

test.run()
