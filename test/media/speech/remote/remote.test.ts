import * as assert from 'uvu/assert'
import { readWav } from '../../../../codecs/wav.ts'
import { OpenAiSpeech } from '../../../../media/speech/remote/openai-speech.ts'
import { OpenAiTranscription } from '../../../../media/speech/remote/openai-transcription.ts'
import { RealtimeTranscription } from '../../../../media/speech/remote/realtime-transcription.ts'
import { remoteSpeechToText, remoteTextToSpeech } from '../../../../media/speech/remote/remote.ts'
import type { TextToSpeech } from '../../../../media/speech/speech-engines.ts'
import type { SpeechUse } from '../../../../media/speech/speech-protocol.ts'
import { OFFLINE_SPEECH } from '../../../../media/speech/speech-protocol.ts'
import { SpeechService } from '../../../../media/speech/speech-service.ts'
import { ScriptedEar } from '../../../fakes/scripted-ear.ts'
import { SpeechProvider } from '../../../fakes/speech-provider.ts'
import { suite } from '../../../harness.ts'
import { levelOf } from '../../engine/party.ts'

/** Time limit: longer than any answer of the fake takes, and short enough for tests without an answer. */
const PATIENCE_MS = 2000
const IMPATIENCE_MS = 100
/** The same, where a WebSocket has to be opened first. */
const CONNECTED_MS = 1000

const tone = (hz: number, rate: number, seconds: number): Int16Array<ArrayBuffer> =>
  Int16Array.from({ length: rate * seconds }, (_, i) => Math.round(11_600 * Math.sin((2 * Math.PI * hz * i) / rate)))

let provider: SpeechProvider
const http = (timeoutMs = PATIENCE_MS) => ({
  url: `http://127.0.0.1:${provider.port}/v1`,
  key: 'k-1',
  model: 'model-1',
  voice: 'alloy',
  voices: ['alloy', 'nova', 'ash', 'klara'],
  timeoutMs,
})
const realtime = (timeoutMs = PATIENCE_MS) => ({
  ...http(timeoutMs),
  url: `ws://127.0.0.1:${provider.port}/v1/realtime?intent=transcription`,
})
const errorOf = (answer: object): string => ('error' in answer ? String(answer.error) : '')

const test = suite('media/speech/remote/remote')

test.beforeEach(async () => {
  provider = await SpeechProvider.start()
})
test.afterEach(() => provider.stop())

test('`/audio/speech` is asked for raw audio, which comes out at 8 kHz', async () => {
  provider.audio = Buffer.from(tone(1000, 24_000, 1).buffer)
  const spoken = await new OpenAiSpeech(http()).speak('Shalom.', null)
  if ('error' in spoken) throw new Error(spoken.error)
  assert.is(spoken.samples.length, 8000)
  assert.ok(levelOf(1000, spoken.samples.subarray(1000, 7000)) > -13)
  const [request] = provider.requests
  assert.is(request?.path, '/v1/audio/speech')
  assert.is(request?.authorization, 'Bearer k-1')
  assert.equal(JSON.parse(String(request?.body)), {
    model: 'model-1',
    input: 'Shalom.',
    voice: 'alloy',
    response_format: 'pcm',
  })
})

test('a provider is asked for voices of its own alone, and an offline voice is spoken offline', async () => {
  provider.audio = Buffer.from(tone(1000, 24_000, 1).buffer)
  const remote = new OpenAiSpeech(http())
  const spoken: string[] = []
  const offline: TextToSpeech = {
    speaks: () => true,
    has: voice => voice === 'slt',
    speak: async (_text, voice) => {
      spoken.push(String(voice))
      return { samples: new Int16Array(1) }
    },
  }
  const service = new SpeechService({
    tts: [
      { name: 'remote', engine: remote },
      { name: 'flite', engine: offline },
    ],
    stt: [],
    used: () => {},
    now: () => 0,
  })
  for (const voice of ['klara', 'slt', 'nobody', null]) await service.speak('Shalom.', voice, null)
  assert.equal(spoken, ['slt'])
  assert.equal(
    provider.requests.map(({ body }) => JSON.parse(String(body)).voice),
    ['klara', 'alloy', 'alloy'],
  )
})

test('how fast a voice shall speak is asked of the provider', async () => {
  provider.audio = Buffer.from(tone(1000, 24_000, 1).buffer)
  await new OpenAiSpeech(http()).speak('Shalom.', null, null, undefined, 1.5)
  assert.is(JSON.parse(String(provider.requests[0]?.body)).speed, 1.5)
})

test('`/audio/transcriptions` gets a WAV file, the model and the language', async () => {
  provider.texts = ['Shalom.']
  const samples = tone(440, 8000, 1)
  const understood = await new OpenAiTranscription(http()).transcribe(samples, 'he-IL')
  assert.equal(understood, { text: 'Shalom.', engine: 'model-1' })
  const [request] = provider.requests
  assert.is(request?.path, '/v1/audio/transcriptions')
  const body = request!.body
  for (const [field, value] of [
    ['model', 'model-1'],
    ['response_format', 'json'],
    ['language', 'he'],
  ]) {
    assert.ok(body.includes(`name="${field}"\r\n\r\n${value}\r\n`), field)
  }
  const at = body.indexOf('RIFF')
  const wav = readWav(body.subarray(at, at + 8 + body.readUInt32LE(at + 4)))
  if ('error' in wav) throw new Error(wav.error)
  assert.is(wav.sampleRateHz, 8000)
  assert.equal(wav.samples[0], samples)
})

test('the realtime WebSocket: each utterance is appended and committed, on a connection that the next one uses too', async () => {
  const ear = new RealtimeTranscription(realtime())
  provider.texts = ['A long answer that takes its time.', 'Short.', 'Later.']
  const answers = await Promise.all([
    ear.transcribe(tone(440, 8000, 3), 'he-IL'),
    ear.transcribe(tone(440, 8000, 1), 'he-IL'),
  ])
  answers.push(await ear.transcribe(tone(440, 8000, 1), 'he-IL'))
  assert.equal(
    answers.map(answer => ('text' in answer ? answer.text : answer.error)),
    ['A long answer that takes its time.', 'Short.', 'Later.'],
  )
  assert.is(provider.connections, 2, 'two spoke at a time')
  assert.is(provider.requests[0]?.authorization, 'Bearer k-1')
  assert.equal(provider.messages[0], {
    type: 'session.update',
    session: {
      type: 'transcription',
      audio: {
        input: {
          format: { type: 'audio/pcm', rate: 24_000 },
          transcription: { model: 'model-1', language: 'he' },
          turn_detection: null,
        },
      },
    },
  })
  assert.is(provider.told('session.update'), 2)
  // With 20 ms each for what the resampler holds.
  assert.is(provider.appended.length, 2 * 24_000 * 5 + 3 * 2 * 480)
  ear.close()
})

test('an utterance is with the provider while it is said, and committed at its end', async () => {
  const ear = new RealtimeTranscription(realtime())
  await ear.transcribe(tone(440, 8000, 1), null)
  provider.messages.length = 0
  provider.texts = ['As you speak.']
  const following = ear.follow(null)!
  const said = tone(440, 8000, 1)
  for (let at = 0; at < 4000; at += 800) following.append(said.subarray(at, at + 800))
  while (provider.told('input_audio_buffer.append') < 5) await new Promise(resolve => setImmediate(resolve))
  assert.is(provider.appended.length, 24_000, 'half a second of it, before its end')
  assert.is(provider.told('input_audio_buffer.commit'), 0)
  const bytes = provider.appended
  const heard = Int16Array.from({ length: bytes.length / 2 }, (_, i) => bytes.readInt16LE(2 * i))
  assert.ok(levelOf(440 / 3, heard.subarray(2400)) > -13, 'one stream without seams, at three times the rate')
  assert.equal(await following.end(said), { text: 'As you speak.', engine: 'model-1' })
  assert.is(provider.told('input_audio_buffer.commit'), 1)
  assert.is(provider.appended.length, 2 * 24_000 + 2 * 480)
  ear.close()
})

test('what turns out to be no utterance is cleared, and the connection serves the next', async () => {
  const ear = new RealtimeTranscription(realtime())
  await ear.transcribe(tone(440, 8000, 1), null)
  provider.messages.length = 0
  const alarm = ear.follow(null)!
  alarm.append(tone(440, 8000, 1))
  alarm.drop()
  provider.texts = ['Real.']
  assert.equal(await ear.transcribe(tone(440, 8000, 1), null), { text: 'Real.', engine: 'model-1' })
  const types = provider.messages.map(({ type }) => String(type).replace('input_audio_buffer.', ''))
  assert.equal(types, ['append', 'clear', 'append', 'append', 'commit'])
  assert.is(provider.connections, 1)
  ear.close()
})

test('when the provider breaks while somebody speaks, the offline engine gets all of what was said', async () => {
  const offline = new ScriptedEar()
  const stt = [...remoteSpeechToText(realtime()), { name: 'offline', engine: offline }]
  const service = new SpeechService({ tts: [], stt, used: () => {}, now: () => 0 })
  await service.transcribe(tone(440, 8000, 1), null)
  provider.mood = 'broken'
  const said = tone(440, 8000, 2)
  const following = service.follow('en')!
  following.append(said.subarray(0, 8000))
  const answer = following.end(said)
  while (offline.heard.length === 0) await new Promise(resolve => setImmediate(resolve))
  assert.is(offline.heard[0], said)
  await offline.understand('All of it.')
  assert.equal(await answer, { text: 'All of it.', engine: 'scripted' })
})

test('a WebSocket that broke is an error, and the next utterance opens another', async () => {
  const ear = new RealtimeTranscription(realtime())
  provider.mood = 'broken'
  assert.is(errorOf(await ear.transcribe(tone(440, 8000, 1), null)), 'realtime: the connection broke')
  provider.mood = 'well'
  provider.texts = ['Again.']
  assert.equal(await ear.transcribe(tone(440, 8000, 1), null), { text: 'Again.', engine: 'model-1' })
  assert.is(provider.connections, 2)
  ear.close()
})

test('an utterance that the provider tells to have failed is an error at once, on a connection that serves the next; an error of the session ends it', async () => {
  const ear = new RealtimeTranscription(realtime(60_000))
  const hear = () => ear.transcribe(tone(440, 8000, 1), null)
  provider.mood = 'failing'
  assert.is(errorOf(await hear()), 'realtime: the provider could not make it out')
  provider.mood = 'well'
  provider.texts = ['Again.', 'And again.']
  assert.equal(await hear(), { text: 'Again.', engine: 'model-1' })
  assert.is(provider.connections, 1)
  provider.mood = 'erring'
  assert.is(errorOf(await hear()), 'realtime: the provider reported an error')
  provider.mood = 'well'
  assert.equal(await hear(), { text: 'And again.', engine: 'model-1' })
  assert.is(provider.connections, 2)
  ear.close()
})

test('a refused or a silent provider is an error within its time', async () => {
  const samples = (): Int16Array<ArrayBuffer> => tone(440, 8000, 1)
  provider.mood = 401
  assert.is(errorOf(await new OpenAiSpeech(http()).speak('a', null)), '/audio/speech: status 401')
  assert.is(
    errorOf(await new OpenAiTranscription(http()).transcribe(samples(), null)),
    '/audio/transcriptions: status 401',
  )
  assert.is(errorOf(await new RealtimeTranscription(realtime()).transcribe(samples(), null)), 'realtime: no connection')
  provider.mood = 'silent'
  assert.match(errorOf(await new OpenAiSpeech(http(IMPATIENCE_MS)).speak('a', null)), /no answer within 100 ms/)
  assert.match(
    errorOf(await new OpenAiTranscription(http(IMPATIENCE_MS)).transcribe(samples(), null)),
    /no answer within 100 ms/,
  )
  const ear = new RealtimeTranscription(realtime(CONNECTED_MS))
  assert.match(errorOf(await ear.transcribe(samples(), null)), /no answer within 1000 ms/)
  ear.close()
})

test('an empty, an endless or a senseless answer is an error', async () => {
  assert.is(errorOf(await new OpenAiSpeech(http()).speak('a', null)), '/audio/speech: no audio')
  provider.audio = Buffer.alloc(11 * 1024 * 1024)
  assert.match(errorOf(await new OpenAiSpeech(http(60_000)).speak('a', null)), /more than/)
  provider.texts = [7 as never]
  assert.match(errorOf(await new OpenAiTranscription(http()).transcribe(tone(440, 8000, 1), null)), /no text/)
})

test('when the provider fails the offline engine takes over, and both uses are told with their cost', async () => {
  const uses: SpeechUse[] = []
  const offline = new ScriptedEar()
  const service = new SpeechService({
    tts: [],
    stt: [...remoteSpeechToText(http()), { name: 'offline', engine: offline }],
    used: use => uses.push(use),
    now: () => 0,
  })
  provider.mood = 'broken'
  const samples = tone(440, 8000, 2)
  const answer = service.transcribe(samples, null)
  while (offline.heard.length === 0) await new Promise(resolve => setImmediate(resolve))
  assert.is(offline.heard[0], samples)
  await offline.understand('Hello.')
  assert.equal(await answer, { text: 'Hello.', engine: 'scripted' })
  assert.equal(
    uses.map(({ engine, seconds, error }) => [engine, seconds, error === null]),
    [
      ['model-1', 2, false],
      ['offline', 2, true],
    ],
  )
})

test('another language goes to the provider alone; without a provider there is none', async () => {
  assert.equal(remoteSpeechToText(OFFLINE_SPEECH.stt), [])
  assert.equal(remoteTextToSpeech(OFFLINE_SPEECH.tts), [])
  assert.ok(remoteSpeechToText(realtime())[0]?.engine instanceof RealtimeTranscription)
  const offline = { name: 'offline', engine: new ScriptedEar() }
  const service = new SpeechService({
    tts: [],
    stt: [...remoteSpeechToText(http()), offline],
    used: () => {},
    now: () => 0,
  })
  assert.ok(service.understands('he'))
  provider.mood = 500
  assert.match(errorOf(await service.transcribe(tone(440, 8000, 1), 'he')), /status 500/)
  assert.equal(offline.engine.heard, [])
})

test.run()
