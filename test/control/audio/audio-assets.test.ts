import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import wavefile from 'wavefile'
import { readWav } from '../../../codecs/wav.ts'
import { audioConverter } from '../../../control/audio/convert.ts'
import { audioAssetRoutes } from '../../../control/audio/routes.ts'
import type { User } from '../../../control/http/references.ts'
import { newId } from '../../../control/kernel/ids.ts'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import { suite } from '../../harness.ts'
import { type Answer, ask, makeWorld, START, serve } from '../app-harness.ts'
import { makeWholeApp, refusal } from '../whole-app.ts'

const test = suite('control/audio/audio-assets')

const TONE_HZ = 440

/** A second of a tone at half of full scale, as samples from -1 to 1. */
const tone = (rateHz: number, seconds = 1): Float64Array =>
  Float64Array.from({ length: rateHz * seconds }, (_, i) => 0.5 * Math.sin((2 * Math.PI * TONE_HZ * i) / rateHz))

/** A WAV file written by another implementation. */
function wav(rateHz: number, depth: string, channels = 1, seconds = 1): Buffer {
  const samples = tone(rateHz, seconds)
  const scaled = depth.endsWith('f') || depth === '64' ? samples : samples.map(value => Math.round(value * 32_767))
  const file = new wavefile.WaveFile()
  const isFloat = depth.endsWith('f') || depth === '64'
  const data = channels === 1 ? scaled : Array.from({ length: channels }, () => scaled)
  if (isFloat) file.fromScratch(channels, rateHz, depth, data as never)
  else {
    file.fromScratch(channels, rateHz, '16', data as never)
    if (depth === '8a') file.toALaw()
    else if (depth === '8m') file.toMuLaw()
    else if (depth !== '16') file.toBitDepth(depth)
  }
  return Buffer.from(file.toBuffer())
}

async function makeAudioWorld(users: User[] = []) {
  const world = await makeWorld()
  const dataDir = mkdtempSync(join(tmpdir(), 'tandem-audio-'))
  const { store, clock } = world
  const usesOf = async () => users
  const deps = { store, now: clock.now, dataDir, convert: audioConverter(), usesOf }
  const app = await serve(world, audioAssetRoutes(deps))
  const live = (line: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
    ask(app, line, { key: world.ours.keys.live, headers, ...(body === undefined ? {} : { body }) })
  return {
    ...world,
    dataDir,
    live,
    upload: (bytes: Buffer, more: object = {}) =>
      live('POST /v1/audio_assets', { file: { content_base64: bytes.toString('base64') }, ...more }),
    close: async () => {
      await app.close()
      await store.close()
      rmSync(dataDir, { recursive: true })
    },
  }
}

/** A body of `multipart/form-data`. */
function form(parts: { name: string; filename?: string; content: Buffer | string }[]) {
  const boundary = 'x-tandem-boundary'
  const chunks = parts.flatMap(({ name, filename, content }) => [
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${filename ? `; filename="${filename}"` : ''}\r\n`,
    filename ? 'Content-Type: audio/wav\r\n\r\n' : '\r\n',
    content,
    '\r\n',
  ])
  const body = Buffer.concat([...chunks.map(chunk => Buffer.from(chunk as string)), Buffer.from(`--${boundary}--\r\n`)])
  return [body, { 'content-type': `multipart/form-data; boundary=${boundary}` }] as const
}

const KINDS: [string, number, string, number, number][] = [
  ['PCM of 8 bits', 8000, '8', 1, 8000],
  ['PCM of 16 bits', 16_000, '16', 1, 16_000],
  ['PCM of 24 bits', 44_100, '24', 2, 16_000],
  ['PCM of 32 bits', 48_000, '32', 2, 16_000],
  ['float', 48_000, '32f', 1, 16_000],
  ['float of 64 bits', 11_025, '64', 1, 11_025],
  ['G.711 mu-law', 8000, '8m', 1, 8000],
  ['G.711 A-law', 8000, '8a', 1, 8000],
]

test(
  'every kind of WAV that is named is stored as mono 16-bit PCM at up to 16 kHz, and sounds as before',
  async () => {
    const { upload, live, dataDir, close } = await makeAudioWorld()
    for (const [what, rateHz, depth, channels, storedHz] of KINDS) {
      const made = await upload(wav(rateHz, depth, channels))
      assert.equal([what, made.status], [what, 201])
      assert.equal([what, made.body.sample_rate, made.body.duration_ms], [what, storedHz, 1000])
      const content = await live(`GET /v1/audio_assets/${made.body.id}/content`)
      assert.equal([content.status, content.headers['content-type']], [200, 'audio/wav'])
      const stored = readWav(readFileSync(join(dataDir, 'audio', `${made.body.id}.wav`)))
      assert.ok(!('error' in stored))
      assert.equal(
        [what, stored.channels, stored.sampleRateHz, stored.samples[0]!.length],
        [what, 1, storedHz, storedHz],
      )
      const level = toneLevel(stored.samples[0]!, storedHz)
      assert.ok(Math.abs(level - 0.5) < 0.02, `${what}: the tone has ${level} of full scale`)
    }
    await close()
  },
  { timeoutMs: 60_000 },
)

/** Amplitude of the tone, 1 at full scale. */
function toneLevel(samples: Int16Array, rateHz: number): number {
  let [re, im] = [0, 0]
  for (let i = 0; i < samples.length; i++) {
    const phase = (2 * Math.PI * TONE_HZ * i) / rateHz
    re += (samples[i]! / 32_768) * Math.cos(phase)
    im += (samples[i]! / 32_768) * Math.sin(phase)
  }
  return (2 * Math.hypot(re, im)) / samples.length
}

test('an asset is a prompt by default, named by its kind and the time, and says nothing', async () => {
  const { upload, live, close } = await makeAudioWorld()
  const { body } = await upload(wav(8000, '16'))
  assert.match(body.id, /^aud_/)
  assert.equal(
    { ...body, id: '' },
    {
      id: '',
      object: 'audio_asset',
      livemode: true,
      name: 'Prompt 2026-11-21T10:00:00.000Z',
      kind: 'prompt',
      sample_rate: 8000,
      duration_ms: 1000,
      text: '',
      created: '2026-11-21T10:00:00.000Z',
    },
  )
  const music = await upload(wav(8000, '16'), { kind: 'music' })
  assert.is(music.body.name, 'Music 2026-11-21T10:00:00.000Z')
  assert.equal((await live('GET /v1/audio_assets')).body.data, [music.body, body], 'newest first')
  assert.equal((await live(`GET /v1/audio_assets/${body.id}`)).body, body)
  await close()
})

test('a multipart upload with a file part makes the same asset as JSON', async () => {
  const { live, close } = await makeAudioWorld()
  const file = { name: 'file', filename: 'hello.wav', content: wav(16_000, '16', 2) }
  const send = (...parts: Parameters<typeof form>[0]) => live('POST /v1/audio_assets', ...form(parts))
  const made = await send(file, { name: 'kind', content: 'music' }, { name: 'text', content: 'Hello' })
  assert.equal([made.status, made.body.kind, made.body.text, made.body.sample_rate], [201, 'music', 'Hello', 16_000])
  assert.equal(refusal(await send({ name: 'kind', content: 'music' })), [400, 'file', undefined])
  assert.equal(refusal(await send(file, { name: 'colour', content: 'red' })), [400, 'colour', undefined])
  assert.equal(refusal(await send(file, { name: 'kind', content: 'noise' })), [400, 'kind', undefined])
  const bytes = (...content: number[]) => ({ name: 'name', content: Buffer.from(content) })
  assert.equal(refusal(await send(file, bytes(0x61, 0xff))), [400, 'name', undefined], 'not UTF-8')
  assert.is((await send(file, bytes(0xc3, 0xa9))).body.name, 'é')
  assert.is((await send({ ...file, content: Buffer.alloc(20 * 1024 * 1024 + 1) })).body.error.code, 'audio_too_large')
  const [body] = form([file])
  const cut = await live('POST /v1/audio_assets', body.subarray(0, 200), form([file])[1])
  assert.is(cut.status, 400)
  await close()
})

test('an upload again with the same Idempotency-Key and file answers the first asset, in multipart too', async () => {
  const { live, close } = await makeAudioWorld()
  const once = { 'idempotency-key': 'upload-1' }
  const send = (content: Buffer) => {
    const [body, headers] = form([{ name: 'file', filename: 'a.wav', content }])
    return live('POST /v1/audio_assets', body, { ...headers, ...once })
  }
  const first = await send(wav(8000, '16'))
  const again = await send(wav(8000, '16'))
  assert.equal([again.body.id, again.headers['idempotent-replayed']], [first.body.id, 'true'])
  assert.is((await send(wav(8000, '8'))).body.error.code, 'idempotency_key_reused')
  assert.is((await live('GET /v1/audio_assets')).body.data.length, 1)
  await close()
})

test(
  'MP3 is not accepted, nor what is outside of mono or stereo at 8 to 48 kHz: unsupported_audio_format',
  async () => {
    const { upload, close } = await makeAudioWorld()
    const refused = {
      MP3: Buffer.concat([Buffer.from('ID3\x04\0\0\0\0\0\0'), Buffer.alloc(2000, 0xff)]),
      text: Buffer.from('hello'),
      'no samples': wav(8000, '16').subarray(0, 44),
      'three channels': wav(8000, '16', 3),
      '6 kHz': wav(6000, '16'),
      '96 kHz': wav(96_000, '16'),
    }
    for (const [what, bytes] of Object.entries(refused)) {
      const { status, body } = await upload(bytes)
      assert.equal([what, status, body.error?.code, body.error?.param], [what, 400, 'unsupported_audio_format', 'file'])
    }
    assert.equal(refusal(await upload(Buffer.alloc(0))), [400, 'file.content_base64', undefined])
    await close()
  },
  { timeoutMs: 30_000 },
)

test('content_base64 is base64: what is none answers 400', async () => {
  const { live, close } = await makeAudioWorld()
  for (const content_base64 of ['*', 'UklGR', 'UklG=R==', 'UklG\nRg==']) {
    const answer = await live('POST /v1/audio_assets', { file: { content_base64 } })
    assert.equal([content_base64, ...refusal(answer)], [content_base64, 400, 'file.content_base64', undefined])
  }
  await close()
})

test(
  'an upload has at most 20 MB and 10 minutes: audio_too_large, audio_too_long',
  async () => {
    const { upload, close } = await makeAudioWorld()
    const code = async (bytes: Buffer) => {
      const { status, body } = await upload(bytes)
      return status === 201 ? body.duration_ms : body.error.code
    }
    const silence = (seconds: number, more = 0) => {
      const bytes = Buffer.alloc(44 + 8000 * seconds + more)
      wav(8000, '8', 1, 1).copy(bytes, 0, 0, 44)
      bytes.writeUInt32LE(0xffff_ffff, 40)
      return bytes
    }
    assert.is(await code(silence(600)), 600_000)
    assert.is(await code(silence(600, 1)), 'audio_too_long')
    assert.is(await code(Buffer.alloc(20 * 1024 * 1024 + 1)), 'audio_too_large')
    assert.is(await code(Buffer.alloc(24 * 1024 * 1024)), 'audio_too_large', 'also when the body itself is too long')
    await close()
  },
  { timeoutMs: 60_000 },
)

test('PATCH changes name and text only; the audio cannot be replaced', async () => {
  const { upload, live, close } = await makeAudioWorld()
  const { body } = await upload(wav(8000, '16'))
  const path = `/v1/audio_assets/${body.id}`
  const changed = await live(`PATCH ${path}`, { name: 'Greeting', text: 'Good day' })
  assert.equal(changed.body, { ...body, name: 'Greeting', text: 'Good day' })
  assert.equal((await live(`PATCH ${path}`, {})).body, changed.body)
  for (const field of ['file', 'kind', 'sample_rate']) {
    assert.equal(refusal(await live(`PATCH ${path}`, { [field]: 'x' })), [400, field, undefined])
  }
  assert.equal(refusal(await live(`PATCH ${path}`, { name: null })), [400, 'name', undefined])
  assert.is((await live('PATCH /v1/audio_assets/aud_none', { name: 'x' })).status, 404)
  await close()
})

test('a Range of the content answers that part of the file', async () => {
  const { upload, live, close } = await makeAudioWorld()
  const { body } = await upload(wav(8000, '16'))
  const path = `GET /v1/audio_assets/${body.id}/content`
  const part = await live(path, undefined, { range: 'bytes=8-11' })
  assert.equal([part.status, part.text], [206, 'WAVE'])
  assert.match(String(part.headers['content-range']), /^bytes 8-11\/\d+$/)
  assert.is((await live(path, undefined, { range: 'bytes=99999999-' })).status, 416)
  await close()
})

test('of an asset whose file another node has, the content answers 404 and says so; the asset itself is there', async () => {
  const { upload, live, dataDir, close } = await makeAudioWorld()
  const { id } = (await upload(wav(8000, '16'))).body
  rmSync(join(dataDir, 'audio', `${id}.wav`))
  const { status, body } = await live(`GET /v1/audio_assets/${id}/content`)
  assert.equal([status, body.error.code, body.error.details], [404, 'resource_missing', { reason: 'file_not_here' }])
  assert.is((await live(`GET /v1/audio_assets/${id}`)).status, 200)
  await close()
})

test('a deleted asset is gone, and its file with it', async () => {
  const { upload, live, dataDir, close } = await makeAudioWorld()
  const { id } = (await upload(wav(8000, '16'))).body
  const gone = await live(`DELETE /v1/audio_assets/${id}`)
  assert.equal(gone.body, { object: 'audio_asset', id, deleted: true, livemode: true })
  assert.not(existsSync(join(dataDir, 'audio', `${id}.wav`)))
  assert.is((await live(`GET /v1/audio_assets/${id}/content`)).status, 404)
  assert.is((await live(`DELETE /v1/audio_assets/${id}`)).status, 404)
  await close()
})

test("DELETE answers 409 while a flow or a queue's hold audio uses the asset; details.used_by lists the users", async () => {
  const users = [{ object: 'queue', id: 'q_1', name: 'Support' }]
  const { upload, live, dataDir, close } = await makeAudioWorld(users)
  const { id } = (await upload(wav(8000, '16'))).body
  const refused = await live(`DELETE /v1/audio_assets/${id}`)
  assert.equal([refused.status, refused.body.error.code], [409, 'resource_conflict'])
  assert.equal(refused.body.error.details, { reason: 'in_use', used_by: users })
  assert.ok(existsSync(join(dataDir, 'audio', `${id}.wav`)))
  await close()
})

test('in the product, a queue whose hold audio is the asset keeps it, until it plays another', async () => {
  const { live, close, store, ours } = await makeWholeApp()
  const id = newId('audio_asset')
  await forTenant(store.db, { organisationId: ours.organisationId, livemode: true }).insert('audio_assets', {
    id,
    name: 'Waltz',
    kind: 'music',
    sample_rate: 16_000,
    duration_ms: 1000,
    text: '',
    created: START.toISOString(),
  })
  const hold = { audio: 'asset', audio_asset_id: id }
  const queue = (await live('POST /v1/queues', { name: 'Support', hold })).body
  const refused = await live(`DELETE /v1/audio_assets/${id}`)
  assert.is(refused.status, 409)
  assert.equal(
    refused.body.error.details.used_by.map((user: User) => [user.object, user.id]),
    [['queue', queue.id]],
  )
  await live(`PATCH /v1/queues/${queue.id}`, { hold: { audio: 'music', audio_asset_id: null } })
  assert.is((await live(`DELETE /v1/audio_assets/${id}`)).body.deleted, true)
  await close()
})

test("the documentation's upload is a recording, as it is printed", async () => {
  const { live, close } = await makeAudioWorld()
  const whole = await makeWholeApp()
  const { text } = await ask(whole.app, 'GET /docs')
  const section = /<section id="createAudioAsset">.*?<\/section>/s.exec(text)![0]
  const [, printed = ''] = /-d '(.*?)'<\/pre>/s.exec(section.replaceAll('&quot;', '"').replaceAll('&#39;', "'"))!
  const made = await live('POST /v1/audio_assets', JSON.parse(printed))
  assert.equal([made.status, made.body.sample_rate, made.body.duration_ms], [201, 8000, 2])
  await whole.close()
  await close()
})

test('only this operation takes multipart', async () => {
  const { upload, live, close } = await makeAudioWorld()
  const { id } = (await upload(wav(8000, '16'))).body
  const answer = await live(`PATCH /v1/audio_assets/${id}`, ...form([{ name: 'name', content: 'x' }]))
  assert.is(answer.body.error.code, 'invalid_json')
  await close()
})

test.run()
