import * as assert from 'uvu/assert'
import { surest } from '../../../../media/speech/hearing/looks.ts'
import { MODEL_HZ, type Transcription } from '../../../../media/speech/moonshine/moonshine-model.ts'
import { suite } from '../../../harness.ts'

const test = suite('media/speech/hearing/looks')

/** A recogniser that makes this of what it is shown, one after the other. */
class Ear {
  readonly shown: Float32Array[] = []
  readonly #answers: Transcription[]

  constructor(answers: [text: string, confidence: number][]) {
    this.#answers = answers.map(([text, confidence]) => ({ text, confidence }))
  }

  async transcribe(samples: Float32Array): Promise<Transcription> {
    this.shown.push(samples)
    return this.#answers[this.shown.length - 1]!
  }
}

const SAID = Float32Array.from({ length: 2 * MODEL_HZ }, (_, i) => 0.01 * Math.sin(i / 5))
const alone = () => false

const textOf = async (ear: Ear, samples: Float32Array, isAwaited = alone): Promise<string> =>
  (await surest(ear, samples, isAwaited)).text

test('what the recogniser is sure of it looks at once, as it came', async () => {
  const ear = new Ear([['Hello.', -0.05]])
  assert.is(await textOf(ear, SAID), 'Hello.')
  assert.equal(ear.shown, [SAID])
})

test('in doubt it looks again, louder, tighter and with silence around, and takes what it is surest of', async () => {
  const ear = new Ear([
    ['Friends.', -0.6],
    ['France.', -0.3],
    ['Fans.', -0.8],
    ['Prance.', -0.4],
  ])
  assert.is(await textOf(ear, SAID), 'France.')
  const [first, louder, tighter, padded] = ear.shown
  assert.is(first, SAID)
  assert.ok(Math.max(...louder!) > 5 * Math.max(...SAID))
  assert.ok(tighter!.length < SAID.length && padded!.length > SAID.length)
  assert.is(ear.shown.length, 4)
})

test('it stops looking as soon as it is sure', async () => {
  const ear = new Ear([
    ['Friends.', -0.6],
    ['France.', -0.02],
  ])
  assert.is(await textOf(ear, SAID), 'France.')
  assert.is(ear.shown.length, 2)
})

test('it looks once where there are no words, where others wait, and at what is long', async () => {
  const noWords = new Ear([['', -0.6]])
  assert.is(await textOf(noWords, SAID), '')
  const awaited = new Ear([['Friends.', -0.6]])
  assert.is(await textOf(awaited, SAID, () => true), 'Friends.')
  const long = new Ear([['A long story.', -0.6]])
  assert.is(await textOf(long, new Float32Array(9 * MODEL_HZ)), 'A long story.')
  assert.equal(
    [noWords, awaited, long].map(({ shown }) => shown.length),
    [1, 1, 1],
  )
})

test.run()
