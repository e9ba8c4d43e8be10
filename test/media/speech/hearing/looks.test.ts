import * as assert from 'uvu/assert'
import { lookWhileWanted, surest } from '../../../../media/speech/hearing/looks.ts'
import { MODEL_HZ, type Transcription } from '../../../../media/speech/moonshine/moonshine-model.ts'
import { suite } from '../../../harness.ts'

const test = suite('media/speech/hearing/looks')

/** A recogniser that returns given results, one after the other. */
class Ear {
  readonly shown: Float32Array[] = []
  readonly drafts: string[] = []
  readonly #answers: Transcription[]

  constructor(answers: [text: string, confidence: number][]) {
    this.#answers = answers.map(([text, confidence]) => ({ text, confidence }))
  }

  async transcribe(samples: Float32Array, draft = ''): Promise<Transcription> {
    this.shown.push(samples)
    this.drafts.push(draft)
    return this.#answers[this.shown.length - 1]!
  }
}

const SAID = Float32Array.from({ length: 2 * MODEL_HZ }, (_, i) => 0.01 * Math.sin(i / 5))
const alone = () => false

const textOf = async (ear: Ear, samples: Float32Array, isAwaited = alone): Promise<string> =>
  (await surest(ear, samples, isAwaited)).text

test('what the recogniser is sure of it looks at once, as loud as it knows speech', async () => {
  const ear = new Ear([['Hello.', -0.05]])
  assert.is(await textOf(ear, SAID), 'Hello.')
  assert.is(ear.shown.length, 1)
  assert.ok(Math.max(...ear.shown[0]!) > 5 * Math.max(...SAID))
})

test('in doubt it looks again, slower, a little slower, and at last brighter, and takes what it is surest of', async () => {
  const ear = new Ear([
    ['Friends.', -0.6],
    ['France.', -0.4],
    ['Fans.', -0.8],
    ['Prance.', -0.5],
  ])
  assert.is(await textOf(ear, SAID), 'France.')
  assert.is(ear.shown.length, 4)
  const lengths = ear.shown.map(({ length }) => length)
  assert.ok(lengths[1]! > lengths[2]! && lengths[2]! > lengths[0]!)
  assert.is(new Set(ear.shown).size, 4)
})

test('it stops looking as soon as it is sure, and each further look takes more doubt', async () => {
  for (const [confidences, looks] of [
    [[-0.6, -0.02], 2],
    [[-0.11, -0.09], 2],
    [[-0.19, -0.19], 2],
    [[-0.21, -0.21, -0.21], 3],
    [[-0.4, -0.4, -0.29], 3],
    [[-0.31, -0.31, -0.31, -0.31], 4],
  ] as [number[], number][]) {
    const ear = new Ear(confidences.map(confidence => ['Words.', confidence]))
    await textOf(ear, SAID)
    assert.is(ear.shown.length, looks, String(confidences))
  }
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

test('each look begins with what the recogniser was surest of before: a draft, which saves time', async () => {
  const ear = new Ear([
    ['Friends.', -0.6],
    ['France.', -0.4],
    ['Fans.', -0.8],
    ['Prance.', -0.5],
  ])
  await surest(ear, SAID, alone, 'Fren')
  assert.equal(ear.drafts, ['Fren', 'Friends.', 'France.', 'France.'])
})

test('none of the looks hangs on where the utterance was cut out of the call', async () => {
  const call = Float32Array.from({ length: 3 * MODEL_HZ }, (_, i) =>
    i > MODEL_HZ && i < 2 * MODEL_HZ ? 0.1 * Math.sin(i * i * 1e-5) : 0,
  )
  const doubts: [string, number][] = Array.from({ length: 4 }, () => ['Friends.', -0.9])
  const shownOf = async (samples: Float32Array): Promise<Float32Array[]> => {
    const ear = new Ear(doubts)
    await surest(ear, samples, alone)
    return ear.shown
  }
  const [whole, tight] = [await shownOf(call), await shownOf(call.slice(0.83 * MODEL_HZ, -0.71 * MODEL_HZ))]
  assert.is(whole.length, 4)
  for (const [look, shown] of whole.entries()) {
    assert.is(tight[look]!.length, shown.length)
    assert.ok(
      shown.every((sample, i) => Math.abs(sample - tight[look]![i]!) < 1e-6),
      `look ${look}`,
    )
  }
})

test('a look that is not wanted any more is given up, and gives no words', async () => {
  let isWanted = true
  const ear = {
    transcribe: async (_samples: Float32Array, _draft?: string, goesOn?: () => boolean): Promise<Transcription> => {
      assert.ok(goesOn?.())
      isWanted = false
      assert.not(goesOn?.())
      isWanted = true
      assert.not(goesOn?.())
      return { text: 'Fren', confidence: -0.1 }
    },
  }
  const asked = { draft: '', isWanted: () => isWanted }
  assert.equal(await lookWhileWanted(ear, SAID, 0, asked), { givenUp: true })
  const whole = new Ear([['Friends.', -0.05]])
  assert.equal(await lookWhileWanted(whole, SAID, 0, asked), { text: 'Friends.', confidence: -0.05, isSure: true })
})

test('it says whether a further look would change anything', async () => {
  const isSure = async (answers: [string, number][], isAwaited = alone) =>
    (await surest(new Ear(answers), SAID, isAwaited)).isSure
  assert.ok(await isSure([['Hello.', -0.05]]))
  assert.not(await isSure([['Hello.', -0.15]], () => true))
  assert.ok(await isSure(Array.from({ length: 4 }, () => ['Friends.', -0.9])))
})

test.run()
