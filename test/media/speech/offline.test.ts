import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { readWav } from '../../../codecs/wav.ts'
import { Prompts } from '../../../media/engine/prompts.ts'
import { SpeechClient } from '../../../media/speech/speech-client.ts'
import type { SpeechOwner } from '../../../media/speech/speech-engines.ts'
import { SpeechHost } from '../../../media/speech/speech-host.ts'
import { abilitiesOf, OFFLINE_SPEECH, type SpeechUse } from '../../../media/speech/speech-protocol.ts'
import { TestEngine } from '../../fakes/engine.ts'
import { suite } from '../../harness.ts'

const LEG = 'part_a'
/** Allows a model of 28 MB to load on a busy machine. */
const LOADING = { timeoutMs: 60_000 }

type Line = SpeechUse & SpeechOwner
const lines: { message: string; fields: Line }[] = []
const note = (fields: object, message: string): void => {
  lines.push({ message, fields: fields as Line })
}
const host = new SpeechHost(OFFLINE_SPEECH, { info: note, warn: note } as never)
const client = new SpeechClient(host.port(), abilitiesOf(OFFLINE_SPEECH))
const prompts = new Prompts({ sampleRateHz: 8000, tts: client })
const dataDir = mkdtempSync(join(tmpdir(), 'tandem-test-'))

const recorded = (name: string): Int16Array => {
  const wav = readWav(readFileSync(new URL(`../../../fixtures/prompts/${name}.wav`, import.meta.url)))
  if ('error' in wav) throw new Error(wav.error)
  return wav.samples[0]!
}
const words = (text: string): string => text.toLowerCase().replace(/[^a-z ]/g, '')

const test = suite('media/speech/offline')

test.after(async () => {
  await prompts.close()
  await host.close()
  rmSync(dataDir, { recursive: true })
})

test(
  'recorded English speech on a leg becomes the text of an utterance',
  async () => {
    const engine = new TestEngine(dataDir, { prompts, stt: client })
    const caller = await engine.join(LEG)
    engine.engine.do('leg.listen', {
      legId: LEG,
      listen: { listenId: 'l1', language: 'en-GB', endOfSpeechMs: 700, maxUtteranceMs: 20_000, bargeIn: null },
    })
    engine.say(caller, recorded('wait-moderator'), 60)
    await engine.until(() => engine.of('leg.utterance').length === 1)
    const { utterance } = engine.of('leg.utterance')[0]!
    assert.is(words(utterance.text), 'please wait for the moderator')
    assert.is(utterance.engine, 'moonshine')
    await engine.close()
    const understood = lines.map(({ fields }) => fields).find(({ kind }) => kind === 'transcribe')
    assert.equal([understood?.legId, understood?.callId], [LEG, 'call_room'], 'the line carries the call')
  },
  LOADING,
)

test(
  'what is spoken to a leg is understood when it is transcribed back, and both are counted with what they cost',
  async () => {
    const engine = new TestEngine(dataDir, { prompts, stt: client })
    const caller = await engine.join(LEG)
    caller.speaker.speak(new Int16Array(160), engine.now)
    const text = 'Thank you for calling us. We look forward to seeing you tomorrow evening.'
    const source = { kind: 'speech' as const, text, voice: 'rms', language: 'en' }
    await engine.engine.do('leg.play', { legId: LEG, playId: 'p1', sources: [source], loop: false, hangupAfter: null })
    await engine.preload({ ...source, text: 'We look forward to seeing you tomorrow evening.' })
    engine.run(400)
    const [finished] = engine.of('play.finished')
    assert.is(finished?.ended, 'played')
    assert.ok(finished!.heardMs > 2500 && finished!.heardMs < 8000, `${finished!.heardMs} ms`)
    const understood = await client.transcribe(caller.received.heard(0, finished!.heardMs / 20 + 10).slice(), null)
    if ('error' in understood) throw new Error(understood.error)
    assert.is(words(understood.text), words(text))
    await engine.close()
    const uses = lines.filter(({ message }) => message === 'speech.used').map(({ fields }) => fields)
    const spoken = uses.filter(({ kind }) => kind === 'speak')
    assert.equal(
      spoken.map(({ engine: name, characters }) => [name, characters]),
      [
        ['flite', 25],
        ['flite', 47],
      ],
    )
    assert.ok(uses.some(({ kind, seconds }) => kind === 'transcribe' && seconds > 1))
    assert.is(host.counters.speech_characters_total, 72)
    for (const use of spoken) assert.equal([use.legId, use.callId], [LEG, 'call_room'])
    assert.not(JSON.stringify(lines).includes('calling'), 'no line holds what was said')
  },
  LOADING,
)

test('noise and tones are no words, and a short word is one', async () => {
  const noise = Int16Array.from({ length: 8000 }, (_, i) => Math.round(800 * Math.sin(i * i * 0.7)))
  const tone = Int16Array.from({ length: 8000 }, (_, i) => Math.round(9000 * Math.sin((2 * Math.PI * 440 * i) / 8000)))
  for (const samples of [noise, tone])
    assert.is(((await client.transcribe(samples, null)) as { text: string }).text, '')
  const yes = await client.speak('Yes.', 'rms', null)
  if ('error' in yes) throw new Error(yes.error)
  const heard = await client.transcribe(yes.samples as Int16Array<ArrayBuffer>, null)
  assert.is((heard as { text: string }).text, 'Yes.')
})

test('the offline voice speaks as fast as it is told', async () => {
  const said = 'We are open on Saturday from ten to two.'
  const lengths: number[] = []
  for (const speed of [1, 1.25, 0.8]) {
    const spoken = await client.speak(said, null, null, undefined, speed)
    if ('error' in spoken) throw new Error(spoken.error)
    lengths.push(spoken.samples.length)
  }
  const [plain, fast, slow] = lengths.map(length => length / lengths[0]!)
  assert.is(plain, 1)
  assert.ok(Math.abs(fast! - 0.8) < 0.03 && Math.abs(slow! - 1.25) < 0.03, `${fast} ${slow}`)
})

test('a language that the offline engines do not know is a clear failure', async () => {
  const spoken = (await client.speak('Bonjour.', null, 'fr-FR')) as { error: string }
  assert.is(spoken.error, 'the offline voice speaks English, not fr-FR')
  assert.not(client.understands('fr-FR'))
  assert.ok(client.understands('en-US') && client.understands(null))
})

test('a phrase that is recorded in a language that the offline voice does not know is no failure of speech', async () => {
  const failed = () => lines.filter(({ message }) => message === 'speech.failed').length
  const [linesBefore, failedBefore] = [failed(), host.counters.speech_failed_total!]
  const phrase = { kind: 'speech' as const, text: 'Auf Wiederhören.', voice: null, language: 'de-DE' }
  assert.not('error' in (await prompts.load({ ...phrase, recorded: ['goodbye'] })))
  // Comes after whatever was asked for the first.
  assert.ok('error' in (await prompts.load(phrase)))
  assert.equal([failed(), host.counters.speech_failed_total], [linesBefore + 1, failedBefore + 1])
})

test('text that looks like options or a file is spoken as text', async () => {
  for (const text of ['-o /tmp/x --help', '/etc/passwd', '\0\0a', '<speak>hello</speak>']) {
    const spoken = await client.speak(text, null, null)
    assert.not('error' in spoken && spoken.error)
  }
})

test.run()
