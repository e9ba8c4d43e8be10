import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { audioPath, sweepAudio, writeAudio } from '../../../control/audio/files.ts'
import { sweepRecordings } from '../../../control/calls/capture/recording-files.ts'
import { sweepOrphans } from '../../../control/kernel/orphan-files.ts'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import { suite } from '../../harness.ts'
import { makeWorld } from '../app-harness.ts'

const test = suite('control/kernel/orphan-files')

const NOW = new Date('2026-11-21T10:00:00.000Z')
const folder = mkdtempSync(join(tmpdir(), 'tandem-orphans-'))
test.after(() => rmSync(folder, { recursive: true }))

test('files of no row are removed, however many; young ones and those of a row stay; a missing folder is empty', async () => {
  const old = new Date(NOW.getTime() - 60 * 60 * 1000)
  for (let i = 0; i < 1200; i++) {
    writeFileSync(join(folder, `${i}`), '')
    utimesSync(join(folder, `${i}`), old, old)
  }
  writeFileSync(join(folder, 'young'), '')
  utimesSync(join(folder, 'young'), NOW, NOW)
  mkdirSync(join(folder, 'inner'))
  const asked: number[] = []
  const removed = await sweepOrphans(
    folder,
    async names => {
      asked.push(names.length)
      return new Set(names.filter(name => name.endsWith('7')))
    },
    NOW,
  )
  assert.is(removed, 1080)
  assert.ok(Math.max(...asked) <= 500)
  assert.is(readdirSync(folder).length, 122)
  assert.is(await sweepOrphans(join(folder, 'none'), async () => new Set(), NOW), 0)
})

test("an audio asset's file stays while the asset is there, and goes when only the file was left", async () => {
  const { store, ours, clock } = await makeWorld()
  const asset = { id: 'aud_1', name: 'a', kind: 'prompt' as const, sample_rate: 8000, duration_ms: 1, text: '' }
  const tenant = { organisationId: ours.organisationId, livemode: false }
  await forTenant(store.db, tenant).insert('audio_assets', { ...asset, created: clock.now().toISOString() })
  for (const id of ['aud_1', 'aud_2']) {
    await writeAudio(folder, id, Buffer.alloc(4))
    utimesSync(audioPath(folder, id), 0, 0)
  }
  writeFileSync(`${audioPath(folder, 'aud_1')}.new`, '')
  utimesSync(`${audioPath(folder, 'aud_1')}.new`, 0, 0)
  assert.is(await sweepAudio(store.db, folder, clock.now()), 2)
  assert.equal(readdirSync(join(folder, 'audio')), ['aud_1.wav'])
  await store.close()
})

test('what was recorded while its consent was being withdrawn is removed; recordings that run, are ready, or failed with their node stay', async () => {
  const { store, ours } = await makeWorld()
  const tables = forTenant(store.db, { organisationId: ours.organisationId, livemode: false })
  const at = NOW.toISOString()
  const old = new Date(NOW.getTime() - 60 * 60 * 1000)
  const partials = join(folder, 'recordings', '.partial')
  const path = (id: string) => join(folder, 'recordings', `${id}.wav`)
  const recorded = [
    ['call_ready', 'ready', 'refused'],
    ['call_running', 'recording', 'refused'],
    ['call_refused', 'failed', 'refused'],
    ['call_lost', 'failed', 'agreed'],
    ['call_unasked', 'failed', null],
  ] as const
  for (const [id, status, asked] of recorded) {
    await tables.insert('calls', {
      id,
      kind: 'party',
      status: 'completed',
      direction: 'inbound',
      to_address: '',
      from_address: '',
      target: 'room',
      room_id: null,
      connection_id: null,
      record: 1,
      capture: asked === null ? null : JSON.stringify({ asked }),
      metadata: '{}',
      ended_reason: null,
      sip_code: null,
      created: at,
      ringing_at: null,
      answered_at: at,
      ended_at: at,
    })
    await tables.insert('recordings', { call_id: id, status, channels: '[]', segments: '[]', created: at })
    mkdirSync(join(partials, id), { recursive: true })
    writeFileSync(path(id), '')
    for (const file of [path(id), join(partials, id)]) utimesSync(file, old, old)
  }
  for (const [name, time] of [
    ['call_deleted.failed', old],
    ['call_young', NOW],
  ] as const) {
    mkdirSync(join(partials, name))
    writeFileSync(join(partials, name, '0.raw'), '')
    utimesSync(join(partials, name), time, time)
  }
  assert.is(await sweepRecordings(store.db, folder, NOW), 3)
  assert.equal(
    recorded.map(([id]) => id).filter(id => !existsSync(path(id))),
    ['call_refused'],
  )
  assert.equal(
    readdirSync(partials).sort(),
    ['call_lost', 'call_ready', 'call_running', 'call_unasked', 'call_young'],
    'raw channels go with what they are of',
  )
  await store.close()
})

test.run()
