import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { wavHeader } from '../../../codecs/wav.ts'
import { consentPhrase } from '../../../control/kernel/phrases.ts'
import { CONSENT_TEXTS } from '../../../fixtures/prompts/consent-texts.ts'
import { PHRASE_TEXTS } from '../../../fixtures/prompts/phrase-texts.ts'
import { TEXTS } from '../../../fixtures/prompts/texts.ts'
import type { Clip } from '../../../media/engine/player.ts'
import { Prompts } from '../../../media/engine/prompts.ts'
import type { TextToSpeech } from '../../../media/speech/speech-engines.ts'
import { suite } from '../../harness.ts'

const test = suite('media/engine/prompts')

let dir = ''
let prompts: Prompts

test.beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'tandem-prompts-'))
  mkdirSync(join(dir, 'prompts'))
  mkdirSync(join(dir, 'music'))
  prompts = new Prompts({ sampleRateHz: 8000, fixturesDir: dir })
})
test.afterEach(async () => {
  await prompts.close()
  rmSync(dir, { recursive: true })
})

const ramp = (length: number, first = 0): Int16Array => Int16Array.from({ length }, (_, i) => first + i)

/** Writes the channels as a 16-bit WAV file. */
function write(path: string, channels: Int16Array[], sampleRateHz = 8000): string {
  const data = new Int16Array(channels[0]!.length * channels.length)
  channels.forEach((samples, c) => {
    samples.forEach((sample, i) => {
      data[i * channels.length + c] = sample
    })
  })
  const header = wavHeader({ sampleRateHz, channels: channels.length, dataBytes: data.byteLength })
  const full = join(dir, path)
  writeFileSync(full, Buffer.concat([header, new Uint8Array(data.buffer)]))
  return full
}

function clip(answer: Clip | { error: string }): Clip {
  if ('error' in answer) throw new Error(answer.error)
  return answer
}
const errorOf = (answer: object): string => ('error' in answer ? String(answer.error) : '')

test('prompts, music and files are loaded sample by sample', async () => {
  write('prompts/all-busy-2.wav', [ramp(1000, 1)])
  write('music/hold.wav', [ramp(1000, 2)])
  const path = write('mine.wav', [ramp(1000, 3)])
  const clips = await prompts.loadAll([
    { kind: 'prompt', name: 'all-busy-2' },
    { kind: 'music' },
    { kind: 'file', path },
  ])
  if ('error' in clips) throw new Error(clips.error)
  assert.equal(
    clips.map(({ samples }) => samples),
    [ramp(1000, 1), ramp(1000, 2), ramp(1000, 3)],
  )
  assert.equal(
    clips.map(({ length }) => length),
    [1000, 1000, 1000],
  )
})

test('a prompt is played in its language where it was recorded in that, else in English', async () => {
  write('prompts/welcome.wav', [ramp(1000, 1)])
  mkdirSync(join(dir, 'prompts', 'he'))
  write('prompts/he/welcome.wav', [ramp(1000, 2)])
  write('prompts/goodbye.wav', [ramp(1000, 3)])
  const first = async (name: string, language?: string): Promise<number> =>
    clip(await prompts.load({ kind: 'prompt', name, ...(language === undefined ? {} : { language }) })).samples[0]!
  assert.is(await first('welcome'), 1)
  for (const language of ['he', 'he-IL', 'HE']) assert.is(await first('welcome', language), 2)
  for (const language of ['en-GB', 'fr', '..', 'he/../../x']) assert.is(await first('welcome', language), 1)
  assert.is(await first('goodbye', 'he'), 3)
})

test('every prompt of the product is recorded in every language', async () => {
  const product = new Prompts({ sampleRateHz: 8000 })
  const english = new Map<string, Int16Array>()
  assert.equal(Object.keys(TEXTS), ['en', 'he', 'es', 'fr', 'de', 'pt', 'it'])
  for (const [language, ofRooms] of Object.entries(TEXTS)) {
    const texts = { ...ofRooms, ...PHRASE_TEXTS[language], ...CONSENT_TEXTS[language] }
    for (const name of Object.keys({ ...TEXTS.en, ...PHRASE_TEXTS.en, ...CONSENT_TEXTS.en })) {
      assert.ok(name in texts, `${language} ${name}`)
      const { samples, text } = clip(await product.load({ kind: 'prompt', name, language }))
      assert.ok(samples.length > 1500 && samples.length < 100_000, `${language} ${name}: ${samples.length}`)
      const said = (texts as Record<string, string | { text: string }>)[name]
      assert.is(text, typeof said === 'string' ? said : said?.text, 'and its words are known')
      if (language === 'en') english.set(name, samples)
      else assert.not.equal(samples, english.get(name), `${language} ${name} is English`)
    }
  }
  await product.close()
})

test('the question whether a call may be recorded is heard in every language, for every key, where no voice speaks it', async () => {
  const product = new Prompts({ sampleRateHz: 8000 })
  for (const language of Object.keys(TEXTS)) {
    const lengths = new Set<number>()
    for (const key of '0123456789*#') {
      const source = consentPhrase(key, { voice: null, language })
      assert.is(source.kind === 'speech' && source.language, language)
      const { samples, text } = clip(await product.load(source))
      assert.is(text, source.kind === 'speech' ? source.text : '')
      assert.ok(samples.length > 8000 && samples.length < 80_000, `${language} ${key}: ${samples.length}`)
      lengths.add(samples.length)
    }
    assert.ok(lengths.size > 6, `${language}: the keys sound differently`)
  }
  assert.is(product.failures, 0)
  await product.close()
})

const place = (language: string, recorded: string[]) => ({
  kind: 'speech' as const,
  text: 'Sie sind auf Platz 3 der Warteschlange. Bitte warten.',
  voice: null,
  language,
  recorded,
})

test('what no voice can speak is heard as it was recorded, its parts one after the other; what one can, from the voice', async () => {
  await prompts.close()
  const asked: string[] = []
  const tts: TextToSpeech = {
    speaks: language => language === 'fr' || language === 'es',
    speak: async (text, _, language) => {
      asked.push(text)
      return language === 'fr' ? { samples: ramp(10, 500) } : { error: 'the provider fails' }
    },
  }
  prompts = new Prompts({ sampleRateHz: 8000, fixturesDir: dir, tts })
  mkdirSync(join(dir, 'prompts', 'de'))
  write('prompts/de/place-before.wav', [ramp(10, 100)])
  write('prompts/de/place-3.wav', [ramp(10, 200)])
  write('prompts/place-behind.wav', [ramp(10, 300)])
  const parts = ['place-before', 'place-3', 'place-behind']
  const [said, ...more] = (await prompts.loadAll([place('de', parts)])) as Clip[]
  assert.equal([...said!.samples], [...ramp(10, 100), ...ramp(10, 200), ...ramp(10, 300)])
  assert.is(said!.text, place('de', parts).text)
  assert.equal(more, [])
  assert.is(prompts.failures, 0)
  assert.equal(asked, [], 'who cannot speak it is not asked')
  assert.equal(clip(await prompts.load(place('fr', parts))).samples, ramp(10, 500))
  assert.match(errorOf(await prompts.load(place('de', ['place-4']))), /place-4\.wav/)
  assert.match(errorOf(await prompts.load({ kind: 'speech', text: 'Hallo.', voice: null, language: 'de' })), /fails/)
  assert.is(prompts.failures, 2)
  assert.equal(asked.length, 2)
  const [kept] = (await prompts.loadAll([place('es', ['place-behind'])])) as Clip[]
  assert.equal(
    [...kept!.samples],
    [...ramp(10, 300)],
    'a voice that should speak it and fails is no reason for silence',
  )
  assert.equal(asked.length, 3)
})

test('a file of another rate is as long, and has the same tone, at the rate of the room', async () => {
  const tone = (hz: number): Int16Array =>
    Int16Array.from({ length: hz }, (_, i) => 10_000 * Math.sin((2 * Math.PI * 440 * i) / hz))
  const { samples } = clip(await prompts.load({ kind: 'file', path: write('a.wav', [tone(48_000)], 48_000) }))
  assert.is(samples.length, 8000)
  const expected = tone(8000)
  for (let i = 400; i < 7600; i++) assert.ok(Math.abs(samples[i]! - expected[i]!) < 5, `sample ${i}`)
  const odd = clip(await prompts.load({ kind: 'file', path: write('b.wav', [tone(44_100)], 44_100) }))
  assert.is(odd.samples.length, 8000)
})

test('several channels become their mean, which cannot clip', async () => {
  const path = write('stereo.wav', [new Int16Array(10).fill(32_000), new Int16Array(10).fill(30_000)])
  assert.equal(clip(await prompts.load({ kind: 'file', path })).samples, new Int16Array(10).fill(31_000))
})

test('tones are one round long, and silence is as long as asked', async () => {
  const lengths: [Parameters<Prompts['load']>[0], number][] = [
    [{ kind: 'tone', name: 'ringback' }, 5000],
    [{ kind: 'tone', name: 'busy' }, 1000],
    [{ kind: 'tone', name: 'beep' }, 200],
    [{ kind: 'silence', ms: 1234 }, 1234],
    [{ kind: 'silence', ms: 0 }, 0],
  ]
  for (const [source, ms] of lengths) assert.is(clip(await prompts.load(source)).length, ms * 8)
  const { samples } = clip(await prompts.load({ kind: 'tone', name: 'busy' }))
  assert.ok(samples.subarray(0, 4000).some(sample => sample !== 0))
  assert.ok(samples.subarray(4000).every(sample => sample === 0))
})

test('a name that is none is an error and leads to no file', async () => {
  writeFileSync(join(dir, 'secret.wav'), 'x')
  for (const name of ['../secret', '', 'a/b', 'A', 'a.wav', 'a\0', '..']) {
    assert.match(errorOf(await prompts.load({ kind: 'prompt', name })), /no prompt is named/)
  }
  assert.is(prompts.failures, 7)
})

test('a missing or damaged file is an error value, and is read again when it is there', async () => {
  assert.match(errorOf(await prompts.load({ kind: 'prompt', name: 'late' })), /ENOENT/)
  assert.match(errorOf(await prompts.load({ kind: 'file', path: join(dir, 'none.wav') })), /ENOENT/)
  assert.match(errorOf(await prompts.load({ kind: 'file', path: dir })), /EISDIR/)
  writeFileSync(join(dir, 'text.wav'), 'this is no audio at all')
  assert.match(errorOf(await prompts.load({ kind: 'file', path: join(dir, 'text.wav') })), /not_wav/)
  assert.is(prompts.failures, 4)
  write('prompts/late.wav', [ramp(10)])
  assert.equal(clip(await prompts.load({ kind: 'prompt', name: 'late' })).samples, ramp(10))
})

test('one bad source makes an error of the list', async () => {
  write('prompts/good.wav', [ramp(10)])
  const sources = ['good', 'bad', 'good'].map(name => ({ kind: 'prompt' as const, name }))
  assert.match(errorOf(await prompts.loadAll(sources)), /bad\.wav/)
})

test('a silence that never ends, and a file too large to hold, are refused', async () => {
  for (const ms of [-1, Number.NaN, Number.POSITIVE_INFINITY, 1e12]) {
    assert.match(errorOf(await prompts.load({ kind: 'silence', ms })), /silence of/)
  }
  const path = write('huge.wav', [ramp(10)])
  truncateSync(path, 65 * 1024 * 1024)
  assert.match(errorOf(await prompts.load({ kind: 'file', path })), /larger than/)
})

test('what was loaded is shared, also by those who ask at the same time', async () => {
  write('prompts/one.wav', [ramp(10)])
  const source = { kind: 'prompt' as const, name: 'one' }
  const [a, b] = await Promise.all([prompts.load(source), prompts.load(source)])
  assert.is(a, b)
  assert.is(await prompts.load(source), a)
})

test('a file that was replaced is read again', async () => {
  const path = write('mine.wav', [ramp(10)])
  assert.is(clip(await prompts.load({ kind: 'file', path })).length, 10)
  write('mine.wav', [ramp(20)])
  assert.is(clip(await prompts.load({ kind: 'file', path })).length, 20)
})

test('the cache is bounded, and lets go what was not played for longest', async () => {
  await prompts.close()
  prompts = new Prompts({ sampleRateHz: 8000, fixturesDir: dir, maxCacheBytes: 5000 })
  const load = (name: string): Promise<Clip | { error: string }> => prompts.load({ kind: 'prompt', name })
  for (const name of ['a', 'b', 'c']) write(`prompts/${name}.wav`, [ramp(1000)])
  const a = await load('a')
  const b = await load('b')
  assert.is(await load('a'), a)
  await load('c')
  assert.ok(prompts.cachedBytes <= 5000)
  assert.is(await load('a'), a, 'a was played after b')
  assert.is.not(await load('b'), b)
})

test('a file larger than the cache is played and not kept', async () => {
  await prompts.close()
  prompts = new Prompts({ sampleRateHz: 8000, fixturesDir: dir, maxCacheBytes: 100 })
  write('prompts/a.wav', [ramp(1000)])
  assert.is(clip(await prompts.load({ kind: 'prompt', name: 'a' })).length, 1000)
  assert.is(prompts.cachedBytes, 0)
})

test('without being told otherwise it plays the files of the package', async () => {
  const product = new Prompts({ sampleRateHz: 8000 })
  const root = new URL('../../../fixtures/prompts/no-such-prompt.wav', import.meta.url).pathname
  assert.match(errorOf(await product.load({ kind: 'prompt', name: 'no-such-prompt' })), root)
  await product.close()
})

test.run()
