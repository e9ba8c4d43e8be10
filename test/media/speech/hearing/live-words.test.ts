import * as assert from 'uvu/assert'
import { LiveWords } from '../../../../media/speech/hearing/live-words.ts'
import type { Manner, Understood } from '../../../../media/speech/speech-engines.ts'
import { suite } from '../../../harness.ts'

const test = suite('media/speech/hearing/live-words')

const SECOND = 8000

/** A recogniser that answers when the test says so. */
class Ear {
  readonly asked: { manner: Manner; seconds: number; answer: (answer: Understood | { error: string }) => void }[] = []
  readonly told: string[] = []
  readonly words = new LiveWords(
    (samples, manner) => new Promise(answer => this.asked.push({ manner, seconds: samples.length / SECOND, answer })),
  )

  grew(seconds: number, silenceMs = 0): void {
    this.words.grew(new Int16Array(seconds * SECOND), silenceMs, this.tell)
  }

  paused(seconds: number): void {
    this.words.paused(new Int16Array(seconds * SECOND), this.tell)
  }

  end(seconds: number) {
    return this.words.end(new Int16Array(seconds * SECOND))
  }

  readonly tell = (text: string): void => {
    this.told.push(text)
  }

  async hears(text: string | null, isSure = true, confidence = -0.05): Promise<void> {
    const open = this.asked.shift()!
    open.answer(text === null ? { error: 'busy' } : { text, engine: 'scripted', isSure, confidence })
    await new Promise(resolve => setImmediate(resolve))
  }

  /** Open requests: their manner, and their length of speech [s]. */
  get open(): [Manner, number][] {
    return this.asked.map(({ manner, seconds }) => [manner, seconds])
  }
}

test('who speaks on is looked at twice a second, and told of but for the last word, which may be half of one', async () => {
  const ear = new Ear()
  for (const seconds of [0.2, 0.4]) ear.grew(seconds)
  assert.equal(ear.open, [])
  ear.grew(0.5)
  assert.equal(ear.open, [['skim', 0.5]])
  await ear.hears('I want to can')
  assert.equal(ear.told, ['I want to'])
  ear.grew(0.6)
  ear.grew(1)
  assert.equal(ear.open, [])
  ear.grew(1.1)
  assert.equal(ear.open, [['skim', 1.1]])
})

test('where the recogniser answers late, who speaks on is looked at less often', async () => {
  const ear = new Ear()
  ear.grew(1)
  ear.grew(1.5)
  await ear.hears('I want')
  ear.grew(1.6)
  for (const seconds of [2.1, 2.5, 3.3]) ear.grew(seconds)
  assert.equal(ear.open, [])
  ear.grew(3.5)
  assert.equal(ear.open, [['skim', 3.5]])
})

test('who takes a breath is looked at at once, and once, and told of with the last word, which is whole', async () => {
  const ear = new Ear()
  ear.grew(0.5)
  await ear.hears('I want')
  ear.grew(0.7, 40)
  assert.equal(ear.open, [])
  ear.grew(0.8, 60)
  assert.equal(ear.open, [['peek', 0.8]])
  await ear.hears('I want to cancel')
  assert.equal(ear.told, ['I', 'I want to cancel'])
  ear.grew(0.9, 160)
  assert.equal(ear.open, [])
  ear.grew(1)
  ear.grew(1.1, 80)
  assert.equal(ear.open, [['peek', 1.1]])
})

test('a pause is told of after one look; in doubt it is looked at again, and each surer look is told of', async () => {
  const ear = new Ear()
  ear.paused(2)
  assert.equal(ear.open, [['glance', 2]])
  await ear.hears('I want to councils', false, -0.5)
  assert.equal(ear.told, ['I want to councils'])
  assert.equal(ear.open, [['peek2', 2]])
  const ended = ear.end(2)
  await ear.hears('I won to cancel', false, -0.6)
  assert.equal(ear.told, ['I want to councils'])
  assert.equal(ear.open, [['peek3', 2]])
  await ear.hears('I want to cancel')
  assert.equal(ear.told, ['I want to councils', 'I want to cancel'])
  const answer = await ended
  assert.is('text' in answer && answer.text, 'I want to cancel')
  assert.equal(ear.open, [])
})

test('where others wait for the recogniser, what the looks so far have made of it holds', async () => {
  const ear = new Ear()
  ear.paused(2)
  await ear.hears('I want to cancel', false, -0.2)
  await ear.hears(null)
  const answer = await ear.end(2)
  assert.is('text' in answer && answer.text, 'I want to cancel')
  assert.equal(ear.open, [])
})

test('what lies before a pause and is long enough is looked at no more: a long speech costs no more than it is long', async () => {
  const ear = new Ear()
  ear.paused(4)
  await ear.hears('The first sentence.')
  ear.grew(4.5)
  await ear.hears('And th')
  ear.paused(7)
  assert.equal(ear.open, [['glance', 3]])
  await ear.hears('And the second.')
  const answer = await ear.end(7)
  assert.is('text' in answer && answer.text, 'The first sentence. And the second.')
  assert.equal(ear.told, ['The first sentence.', 'The first sentence. And', 'The first sentence. And the second.'])
})

test('who speaks on without a pause is looked at from his last breath on, and so goes on being told of', async () => {
  const ear = new Ear()
  ear.grew(1, 60)
  await ear.hears('So.')
  ear.grew(1.2)
  ear.grew(4, 60)
  await ear.hears('So I called you twice.')
  ear.grew(4.1)
  ear.grew(5.5)
  await ear.hears('So I called you twice. And no')
  ear.grew(5.6)
  ear.grew(6.1)
  assert.equal(ear.open, [['skim', 2.1]])
  await ear.hears('And nobody has')
  ear.grew(6.2)
  ear.grew(7)
  assert.equal(ear.open, [['skim', 3]])
  await ear.hears('And nobody has ever answered')
  assert.is(ear.told.at(-1), 'So I called you twice. And nobody has ever')
  ear.paused(7.5)
  await ear.hears('And nobody has ever answered.')
  const answer = await ear.end(7.5)
  assert.is('text' in answer && answer.text, 'So I called you twice. And nobody has ever answered.')
})

test('what is short is looked at again together with what follows', async () => {
  const ear = new Ear()
  ear.paused(0.7)
  await ear.hears('No.')
  ear.grew(0.9)
  await ear.hears('No I')
  ear.paused(2)
  assert.equal(ear.open, [['glance', 2]])
})

test('what was not answered by the end is asked for as a whole, which nobody lets wait', async () => {
  const ear = new Ear()
  ear.paused(2)
  const ended = ear.end(2)
  assert.equal(ear.open, [
    ['glance', 2],
    ['whole', 2],
  ])
  await ear.hears(null)
  await ear.hears('I am here.')
  const answer = await ended
  assert.is('text' in answer && answer.text, 'I am here.')
})

test('words that come late do not take the place of newer ones', async () => {
  const ear = new Ear()
  ear.grew(1)
  ear.paused(1.5)
  const [peek, glance] = ear.asked.splice(0)
  glance!.answer({ text: 'Too expensive.', engine: 'scripted', isSure: true })
  await new Promise(resolve => setImmediate(resolve))
  peek!.answer({ text: 'To expand', engine: 'scripted', isSure: false })
  await new Promise(resolve => setImmediate(resolve))
  assert.equal(ear.told, ['Too expensive.'])
})

test.run()
