import { once } from 'node:events'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { readWav } from '../../../codecs/wav.ts'
import { openRandom, recordingKey, Seal } from '../../../media/protocol.ts'
import { channelFile, partialDir, RECORDING_CHUNK_BYTES } from '../../../media/recordings/recording-manifest.ts'
import { recoverRecordings } from '../../../media/recordings/recording-writer.ts'
import { forkFile } from '../../fork.ts'
import { suite } from '../../harness.ts'
import { voice } from './recorded-voice.ts'

const test = suite('media/recordings/killed')
const ENTRY = 'media/recordings/killable-recorder.ts'
const SECOND = RECORDING_CHUNK_BYTES / 2

let dataDir = ''
test.beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'tandem-killed-'))
  writeFileSync(join(dataDir, 'vault.key'), Buffer.alloc(32, 7))
})
test.afterEach(() => rmSync(dataDir, { recursive: true }))

const raw = (): string => join(partialDir(dataDir, 'call_1'), channelFile(0))

/** Where a block begins on the disk. */
const offsetOf = (index: number): number => new Seal(Buffer.alloc(32), RECORDING_CHUNK_BYTES).offsetOf(index)

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0

/** Records in a process, which is killed with SIGKILL when `blocks` blocks are on the disk. */
async function killedAfter(blocks: number): Promise<void> {
  const recorder = forkFile(ENTRY, [dataDir])
  await once(recorder, 'message')
  while (sizeOf(raw()) < offsetOf(blocks)) await new Promise(resolve => setImmediate(resolve))
  recorder.kill('SIGKILL')
  await once(recorder, 'exit')
}

/** Checks every sample of the recovered file. @returns its length [s] */
async function recovered(): Promise<number> {
  const { ready, failed } = await recoverRecordings(dataDir)
  assert.equal(failed, [])
  const path = join(dataDir, 'recordings', ready[0]!.file)
  const file = openRandom(path, recordingKey(dataDir, 'call_1'))
  const bytes = new Uint8Array(file.size)
  assert.is(file.read(bytes, 0), file.size)
  file.close()
  const wav = readWav(bytes)
  if ('error' in wav) throw new Error(wav.error)
  const [samples] = wav.samples
  const wrong = samples!.findIndex((sample, at) => sample !== voice(at))
  assert.is(wrong, -1, `sample ${wrong} of ${samples!.length}`)
  assert.is(ready[0]!.durationMs, (samples!.length * 1000) / SECOND)
  assert.not(readFileSync(path).includes(Buffer.from(Int16Array.from({ length: 40 }, (_, i) => voice(i)).buffer)))
  return samples!.length / SECOND
}

test(
  'an encrypted recording whose process is killed with -9 is readable to its last whole block, wherever the write was',
  async () => {
    for (const blocks of [1, 7]) {
      await killedAfter(blocks)
      const whole = Math.floor((sizeOf(raw()) - offsetOf(0)) / (offsetOf(1) - offsetOf(0)))
      assert.is(await recovered(), whole)
      rmSync(join(dataDir, 'recordings'), { recursive: true })
    }
  },
  { timeoutMs: 60_000 },
)

test(
  'a block that was broken off in its middle is left out, however little of it is there',
  async () => {
    await killedAfter(4)
    const recordings = join(dataDir, 'recordings')
    cpSync(recordings, join(dataDir, 'left'), { recursive: true })
    for (const bytes of [1, 12, 27, 28, 29, 5000, RECORDING_CHUNK_BYTES + 27]) {
      cpSync(join(dataDir, 'left'), recordings, { recursive: true })
      truncateSync(raw(), offsetOf(3) + bytes)
      assert.is(await recovered(), 3, `${bytes} bytes of the block`)
      rmSync(recordings, { recursive: true })
    }
  },
  { timeoutMs: 60_000 },
)

test(
  'a block that is not what was written is reported, and the recording is set aside instead of being wrong',
  async () => {
    await killedAfter(4)
    const bytes = readFileSync(raw())
    bytes[offsetOf(1) + 500]! ^= 1
    writeFileSync(raw(), bytes)
    const { ready, failed } = await recoverRecordings(dataDir)
    assert.equal(ready, [])
    assert.equal(failed, [{ recordingId: 'call_1', message: 'the encrypted file is damaged in block 1' }])
    assert.equal(readdirSync(join(dataDir, 'recordings', '.partial')), ['call_1.failed'])
  },
  { timeoutMs: 60_000 },
)

test.run()
