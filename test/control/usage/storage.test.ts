import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { wavHeader } from '../../../codecs/wav.ts'
import { suite } from '../../harness.ts'
import { APP_CONFIG, makeWholeApp } from '../whole-app.ts'

const test = suite('control/usage/storage')

const wav = (samples: number): string => {
  const header = wavHeader({ sampleRateHz: 8000, channels: 1, dataBytes: samples * 2 })
  return Buffer.concat([header, Buffer.alloc(samples * 2, 7)]).toString('base64')
}

/** Of all files below a folder. */
const bytesIn = (folder: string): number =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0)

test('storage is what the files and the documents that are there take, in their mode: what is deleted is taken off, once', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tandem-storage-'))
  const app = await makeWholeApp({ config: { ...APP_CONFIG, dataDir } })
  const kept = async (ask = app.live): Promise<number> => {
    const { text, body } = await ask('GET /v1/usage?granularity=month')
    assert.ok(body.data?.length === 1, text)
    return body.data[0].storage.bytes
  }
  const there = async (): Promise<number> => {
    const documents = await app.store.db
      .selectFrom('kb_documents')
      .select('size_bytes')
      .where('livemode', '=', 1)
      .execute()
    return bytesIn(dataDir) + documents.reduce((sum, { size_bytes }) => sum + Number(size_bytes), 0)
  }
  const made: string[] = []
  for (const samples of [800, 1600]) {
    const { status, body, text } = await app.live('POST /v1/audio_assets', { file: { content_base64: wav(samples) } })
    assert.is(status, 201, text)
    made.push(`/v1/audio_assets/${body.id}`)
  }
  const document = { text: 'We are open from nine to five.' }
  const { body } = await app.live('POST /v1/kb/documents', document)
  made.push(`/v1/kb/documents/${body.id}`)
  const tried = await app.test('POST /v1/kb/documents', { text: 'x'.repeat(500) })
  assert.is(tried.status, 201, tried.text)
  app.clock.advance(1)
  assert.ok((await kept()) > 2 * 2400)
  assert.is(await kept(), await there())
  assert.is(await kept(app.test), 500)
  for (const path of made) {
    assert.is((await app.live(`DELETE ${path}`)).status, 200)
    assert.is((await app.live(`DELETE ${path}`)).status, 404)
    app.clock.advance(1)
    assert.is(await kept(), await there(), path)
  }
  assert.is(await kept(), 0)
  await app.close()
  rmSync(dataDir, { recursive: true, force: true })
})

test.run()
