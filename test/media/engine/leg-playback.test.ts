import * as assert from 'uvu/assert'
import { LegPlayback, type PlayHooks } from '../../../media/engine/leg-playback.ts'
import { Prompts } from '../../../media/engine/prompts.ts'
import type { PlaySource } from '../../../media/protocol.ts'
import type { Spoken, TextToSpeech } from '../../../media/speech/speech-engines.ts'
import { suite } from '../../harness.ts'

/** A voice whose sentences have a frame per word, with the number of the sentence as sample value. The test decides when they are ready. */
class SlowVoice implements TextToSpeech {
  readonly asked: string[] = []
  readonly #made: (() => void)[] = []

  speaks(): boolean {
    return true
  }

  speak(text: string): Promise<Spoken | { error: string }> {
    this.asked.push(text)
    const loudness = this.asked.length
    return new Promise(resolve => {
      const samples = new Int16Array(160 * text.split(' ').length).fill(loudness)
      this.#made.push(() => resolve(text.includes('unspeakable') ? { error: 'unspeakable' } : { samples }))
    })
  }

  /** Finishes the oldest requested sentence. */
  async make(): Promise<void> {
    this.#made.shift()!()
    await new Promise(resolve => setImmediate(resolve))
  }
}

const speech = (text: string): PlaySource => ({ kind: 'speech', text, voice: null, language: null })

let voice: SlowVoice
let prompts: Prompts
let playback: LegPlayback
let told: string[]

const test = suite('media/engine/leg-playback')

test.beforeEach(() => {
  voice = new SlowVoice()
  prompts = new Prompts({ sampleRateHz: 8000, tts: voice })
  const owner = () => ({ legId: 'part_a', callId: null, affinity: '' })
  playback = new LegPlayback(prompts, owner, { began: () => {}, ended: () => {} }, { player: null })
  told = []
})
test.afterEach(() => prompts.close())

const hooks = (name: string): PlayHooks => ({
  started: () => told.push(`${name} started`),
  finished: (ended, heardMs) => told.push(`${name} ${ended} ${heardMs}`),
})
const play = (name: string, source: PlaySource, append = false) =>
  playback.play([source], { loop: false, append }, hooks(name))
/** The first sample of each frame; 0: none. */
const pull = (frames: number): number[] => Array.from({ length: frames }, () => playback.pull()?.[0] ?? 0)
const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

test('the first sentence is heard while the next is made, and not more than two are made ahead', async () => {
  const text = [
    'one two three four',
    'two words are here',
    'three words are here',
    'four words are here',
    'five words are here',
  ]
  const played = play('a', speech(`${text.join('. ')}.`))
  await turn()
  assert.is(voice.asked.length, 1)
  await voice.make()
  assert.is(await played, null)
  assert.equal(pull(2), [1, 1])
  assert.is(voice.asked.length, 2)
  await voice.make()
  await voice.make()
  assert.is(voice.asked.length, 3, 'the third waits until the second is heard')
  assert.equal(pull(3), [1, 1, 2])
  await turn()
  assert.is(voice.asked.length, 4)
  assert.equal(pull(10), [2, 2, 2, 3, 3, 3, 3, 0, 0, 0])
  await voice.make()
  assert.equal(pull(2), [4, 4], 'it goes on when the sentence is there')
  await voice.make()
  assert.equal(pull(8), [4, 4, 5, 5, 5, 5, 0, 0])
  assert.equal(told, ['a started', 'a played 400'])
})

test('a play that is appended begins in the frame after the one before', async () => {
  const first = play('a', speech('one sentence of five words'))
  await turn()
  await voice.make()
  await first
  const second = play('b', speech('another sentence of five words'), true)
  await turn()
  await voice.make()
  await second
  assert.equal(pull(12), [1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 0, 0])
  assert.equal(told, ['a started', 'a played 100', 'b started', 'b played 100'])
})

test('a play that takes the place of others ends them, those that load too', async () => {
  void play('a', speech('one sentence of five words'))
  void play('b', speech('another sentence of five words'), true)
  await turn()
  const last = play('c', { kind: 'tone', name: 'beep' })
  assert.equal(told, ['a interrupted 0', 'b interrupted 0'])
  await last
  await voice.make()
  await voice.make()
  playback.pull()
  assert.equal(told.at(-1), 'c started')
})

test('a first sentence that cannot be made is an error, a later one ends the play as failed', async () => {
  const refused = play('a', speech('this is unspeakable.'))
  await turn()
  await voice.make()
  assert.equal(await refused, { error: 'unspeakable' })
  assert.not(playback.playing)
  const played = play('b', speech('this can be said. this is unspeakable.'))
  await turn()
  await voice.make()
  assert.is(await played, null)
  await voice.make()
  pull(10)
  assert.equal(told, ['b started', 'b failed 80'])
})

test('a voice that takes long is taken as played after three seconds, and may fail then', async () => {
  const played = play('a', speech('this is unspeakable.'))
  await turn()
  pull(150)
  assert.is(await played, null)
  assert.ok(playback.playing)
  await voice.make()
  assert.not(playback.playing)
  assert.equal(told, ['a failed 0'])
})

test('a bad name is an error before anything is heard', async () => {
  assert.ok(await play('a', { kind: 'prompt', name: 'no-such-prompt' }))
  assert.equal(told, [])
})

test('a play without words ends at once', async () => {
  await play('a', speech(' '))
  pull(1)
  assert.equal(told, ['a played 0'])
})

test('too many plays in the queue are refused', async () => {
  for (let i = 0; i <= 100; i++) assert.is(await play(`p${i}`, { kind: 'silence', ms: 20 }, true), null)
  assert.ok(await play('too many', { kind: 'silence', ms: 20 }, true))
  pull(102)
  assert.is(told.filter(line => line.endsWith('played 20')).length, 101)
})

test('music that an announcement interrupts goes on where it was, and another one begins at its beginning', async () => {
  const other: PlaySource = { kind: 'file', path: 'fixtures/prompts/one-moment.wav' }
  const music: PlaySource = { kind: 'music' }
  const loop = (source: PlaySource, append: boolean) => playback.play([source], { loop: true, append }, hooks('loop'))
  const heard = (frames: number): number[][] => Array.from({ length: frames }, () => [...(playback.pull() ?? [])])
  const announced = async (source: PlaySource): Promise<void> => {
    await play('said', { kind: 'silence', ms: 20 })
    await loop(source, true)
    playback.pull()
  }
  await loop(music, false)
  const whole = heard(200)
  playback.stop()
  await announced(other)
  const fromBeginning = heard(50)
  await announced(music)
  assert.equal(heard(100), whole.slice(0, 100), 'another was heard between')
  await announced(music)
  assert.equal(heard(60), whole.slice(100, 160))
  // While it is still announced, another announcement.
  await announced(music)
  await play('said', { kind: 'silence', ms: 20 })
  await loop(music, true)
  await announced(music)
  assert.equal(heard(40), whole.slice(160))
  assert.equal(fromBeginning.length, 50)
})

test('while paused it is silent, and it goes on where it stood', async () => {
  const played = play('a', speech('one sentence of five words'))
  await turn()
  await voice.make()
  await played
  pull(2)
  playback.pause()
  assert.equal(pull(5), [0, 0, 0, 0, 0])
  playback.resume()
  assert.equal(pull(4), [1, 1, 1, 0])
  assert.equal(told, ['a started', 'a played 100'])
})

test.run()
