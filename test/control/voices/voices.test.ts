// One database: nothing of it is stored, but names in settings.
import * as assert from 'uvu/assert'
import { readWav } from '../../../codecs/wav.ts'
import type { AppParts } from '../../../control/wiring/parts.ts'
import { suite } from '../../harness.ts'
import { APP_CONFIG, DEAF_MEDIA, makeWholeApp, refusal } from '../whole-app.ts'

const test = suite('control/voices')

type Wish = { text: string; voice: string; language: string | null; affinity: string }

/** An app whose media speaks; `asked` is what it was asked to say. */
async function makeSpeakingApp(config: object = {}) {
  const asked: Wish[] = []
  const media = {
    ...DEAF_MEDIA,
    request: async (name: string, body: Wish) => {
      if (name !== 'speech.speak') return { failure: 'not_found', message: 'not here' }
      asked.push(body)
      return { samples: Buffer.from(Int16Array.of(1, -2, 300).buffer).toString('base64') }
    },
  } as unknown as AppParts['media']
  return { ...(await makeWholeApp({ media, config: { ...APP_CONFIG, ...config } })), asked }
}

const PROVIDER = {
  ttsUrl: 'https://voices.example.com/v1',
  ttsModel: 'tts-2',
  ttsVoice: 'alloy',
  ttsVoices: [
    { name: 'alloy', language: null },
    { name: 'klara', language: 'de' },
  ],
}
const MODELS = {
  modelUrl: 'https://models.example.com/v1',
  modelName: 'big',
  modelNames: ['small'],
  modelPrices: new Map([
    ['big', { input: 2.5, output: 10 }],
    ['big:priority', { input: 5, output: 20 }],
    ['tiny', { input: 0.1, output: 0.4 }],
  ]),
}

test('GET /voices: offline there are five, of which one is the default', async () => {
  const { live, close } = await makeSpeakingApp()
  const { body } = await live('GET /v1/voices')
  assert.equal(
    body.data.map(({ id }: { id: string }) => id),
    ['rms', 'slt', 'awb', 'kal16', 'kal'],
  )
  assert.equal(body.data[0], {
    ...{ id: 'rms', object: 'voice', livemode: true, name: 'RMS', provider: 'flite', language: 'en', gender: 'male' },
    ...{ is_default: true, preview_url: '/v1/voices/rms/preview' },
  })
  assert.equal((await live('GET /v1/voices/slt')).body.is_default, false)
  assert.is((await live('GET /v1/voices/alloy')).status, 404)
  await close()
})

test('GET /voices: those of the configured provider come first, and one of them is the default', async () => {
  const { live, close } = await makeSpeakingApp(PROVIDER)
  const { body } = await live('GET /v1/voices?limit=3')
  assert.equal(
    body.data.map((voice: Record<string, unknown>) => [voice.id, voice.provider, voice.language, voice.is_default]),
    [
      ['alloy', 'tts-2', null, true],
      ['klara', 'tts-2', 'de', false],
      ['rms', 'flite', 'en', false],
    ],
  )
  await close()
})

test('GET /voices/{id}/preview is a WAV file in the voice; without a text it is made once', async () => {
  const { live, close, asked } = await makeSpeakingApp(PROVIDER)
  for (let i = 0; i < 2; i++) {
    const answer = await live('GET /v1/voices/klara/preview')
    assert.equal([answer.status, answer.headers['content-type']], [200, 'audio/wav'])
  }
  await live('GET /v1/voices/slt/preview?text=Hello')
  await live('GET /v1/voices/slt/preview?text=Hello')
  assert.equal(
    asked.map(({ voice, language }) => [voice, language]),
    [
      ['klara', 'de'],
      ['slt', 'en'],
      ['slt', 'en'],
    ],
  )
  assert.match(asked[0]!.text, /Hallo/)
  assert.is(asked[1]!.text, 'Hello')
  assert.is((await live('GET /v1/voices/nobody/preview')).status, 404)
  assert.equal(refusal(await live(`GET /v1/voices/slt/preview?text=${'a'.repeat(301)}`)).slice(0, 2), [400, 'text'])
  await close()
})

test('the preview has the samples that were spoken', async () => {
  const { app, ours, close } = await makeSpeakingApp()
  const headers = { authorization: `Bearer ${ours.keys.live}` }
  const { rawPayload } = await app.inject({ url: '/v1/voices/rms/preview', headers })
  const wav = readWav(rawPayload)
  assert.ok(!('error' in wav))
  assert.equal([wav.sampleRateHz, wav.channels], [8000, 1])
  assert.equal([...wav.samples[0]!], [1, -2, 300])
  await close()
})

test('where nothing can be spoken a preview is 503 with Retry-After', async () => {
  const { live, close } = await makeWholeApp()
  const answer = await live('GET /v1/voices/rms/preview')
  assert.equal([answer.status, answer.body.error.code], [503, 'media_unavailable'])
  assert.ok(Number(answer.headers['retry-after']) > 0)
  await close()
})

test('GET /models: offline there is the default alone; with a provider those that the operator names or has a price of', async () => {
  const offline = await makeSpeakingApp()
  const [only, ...others] = (await offline.live('GET /v1/models')).body.data
  assert.equal([only.id, only.provider, only.is_default, others.length], ['default', 'offline', true, 0])
  await offline.close()
  const { live, close } = await makeSpeakingApp(MODELS)
  const { body } = await live('GET /v1/models')
  assert.equal(
    body.data.map((model: Record<string, unknown>) => [model.id, model.name, model.input_price, model.output_price]),
    [
      ['default', 'big', 2.5, 10],
      ['big', 'big', 2.5, 10],
      ['small', 'small', null, null],
      ['tiny', 'tiny', 0.1, 0.4],
    ],
  )
  assert.is((await live('GET /v1/models/tiny')).body.provider, 'models.example.com')
  assert.is((await live('GET /v1/models/huge')).status, 404)
  await close()
})

test('an unknown voice or model is refused wherever one is named: 400 names it, and what was probably meant', async () => {
  const { live, close } = await makeSpeakingApp({ ...PROVIDER, ...MODELS })
  const { body: assistant } = await live('POST /v1/assistants', {
    name: 'a',
    voice: { voice: 'klara' },
    model: { model: 'big', fallback_model: 'tiny' },
  })
  const { body: profile } = await live('POST /v1/copilot_profiles', { name: 'p', model: { model: 'small' } })
  const graph = (model: string) => ({ nodes: [{ key: 'talk', type: 'ai', ai: { model }, transitions: [] }] })
  const { body: flow } = await live('POST /v1/flows', { name: 'f', graph: graph('tiny') })
  for (const [line, body, param] of [
    ['POST /v1/assistants', { name: 'a', voice: { voice: 'clara' } }, 'voice.voice'],
    ['POST /v1/assistants', { name: 'a', model: { model: 'bigg' } }, 'model.model'],
    [`PATCH /v1/assistants/${assistant.id}`, { voice: { voice: 'clara' } }, 'voice.voice'],
    [`PATCH /v1/assistants/${assistant.id}`, { model: { fallback_model: 'huge' } }, 'model.fallback_model'],
    ['POST /v1/copilot_profiles', { name: 'p', model: { model: 'huge' } }, 'model.model'],
    [`PATCH /v1/copilot_profiles/${profile.id}`, { model: { fallback_model: 'huge' } }, 'model.fallback_model'],
    ['POST /v1/flows', { name: 'f', graph: graph('huge') }, 'graph.nodes[0].ai.model'],
    [`PUT /v1/flows/${flow.id}/draft`, { base_rev: 1, graph: graph('huge') }, 'graph.nodes[0].ai.model'],
    [
      'POST /v1/campaigns',
      {
        name: 'c',
        assistant_id: assistant.id,
        answering_machine_detection: {
          mode: 'detect_message_end',
          on_machine: 'leave_message',
          message: { text: 'Hello', voice: 'clara' },
        },
      },
      'answering_machine_detection.message.voice',
    ],
    ['POST /v1/calls/call_none/say', { text: 'Hello', voice: 'clara' }, 'voice'],
  ] as const) {
    assert.equal(refusal(await live(line, body)).slice(0, 2), [400, param], line)
  }
  const meant = await live('POST /v1/assistants', { name: 'a', voice: { voice: 'clara' } })
  assert.match(meant.body.error.message, /Did you mean klara/)
  // Nothing named is the default, as before.
  assert.is((await live(`PATCH /v1/assistants/${assistant.id}`, { voice: { voice: '' } })).status, 200)
  assert.is((await live(`PATCH /v1/copilot_profiles/${profile.id}`, { model: { fallback_model: '' } })).status, 200)
  await close()
})

test('an assistant whose voice is offered no longer keeps it while something else of it is changed', async () => {
  const first = await makeSpeakingApp(PROVIDER)
  const { body } = await first.live('POST /v1/assistants', { name: 'a', voice: { voice: 'klara' } })
  const second = await makeWholeApp({}, first.store)
  const changed = await first.live(`PATCH /v1/assistants/${body.id}`, { name: 'b' })
  assert.equal([changed.status, changed.body.voice.voice], [200, 'klara'])
  await second.app.close()
  await first.close()
})

test.run()
