import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, truncateSync, writeFileSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { recordingKey } from '../../../media/protocol/sealed-file.ts'
import { createWhole, openRandom, plainSize, unsealed } from '../../../media/protocol.ts'
import { RecordingWriter, recoverRecordings } from '../../../media/recordings/recording-writer.ts'
import { suite } from '../../harness.ts'

const test = suite('media/protocol/sealed-file')
const KEY = new Uint8Array(32).fill(7)
const BLOCK = 64 * 1024
let dir = ''
test.beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'tandem-sealed-'))
  writeFileSync(join(dir, 'vault.key'), Buffer.alloc(32, 3))
})
test.afterEach(() => rmSync(dir, { recursive: true }))

const bytesOf = (length: number): Uint8Array => Uint8Array.from({ length }, (_, i) => (i * 31 + (i >> 8)) & 0xff)

function sealed(plain: Uint8Array, key: Uint8Array | null = KEY): string {
  const path = join(dir, 'sealed')
  const file = createWhole(path, key)
  for (let at = 0; at < plain.length; at += 7001) file.write(plain.subarray(at, at + 7001))
  file.finish()
  file.close()
  return path
}

async function read(path: string, first: number, last: number): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of unsealed(path, KEY, first, last)) parts.push(part as Buffer)
  return Buffer.concat(parts)
}

test('what was encrypted is read again, whole and from any place, also at the borders of blocks', async () => {
  for (const length of [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK, 3 * BLOCK + 500]) {
    const plain = bytesOf(length)
    const path = sealed(plain)
    const onDisk = readFileSync(path)
    assert.is(plainSize(onDisk.length), length)
    if (length > 100) assert.not(onDisk.includes(Buffer.from(plain.subarray(20, 60))), 'nothing of it is in the clear')
    const file = openRandom(path, KEY)
    assert.is(file.size, length)
    for (const at of [0, 1, BLOCK - 3, BLOCK, 2 * BLOCK + 17, length - 1]) {
      if (at < 0 || at >= length) continue
      const some = new Uint8Array(5000)
      const count = file.read(some, at)
      assert.equal(some.subarray(0, count), plain.subarray(at, at + 5000), `${length} bytes at ${at}`)
    }
    file.close()
    if (length > 0) assert.ok((await read(path, 0, length - 1)).equals(plain))
    if (length > BLOCK) {
      assert.ok((await read(path, BLOCK - 2, BLOCK)).equals(plain.subarray(BLOCK - 2, BLOCK + 1)), 'three bytes')
    }
  }
})

test('a changed byte, an end that was cut off, and blocks in another order are noticed', async () => {
  const plain = bytesOf(3 * BLOCK)
  const whole = readFileSync(sealed(plain))
  const path = join(dir, 'changed')
  const stride = BLOCK + 28
  const isNoticed = async (changed: Buffer, what: string): Promise<void> => {
    writeFileSync(path, changed)
    const size = plainSize(changed.length)
    const failure = await read(path, 0, size - 1).then(
      () => 'none',
      error => error.message,
    )
    assert.match(failure, /damaged|not encrypted/, what)
  }
  for (const at of [0, 5, 6, 8, 30, 8 + stride - 1, 8 + stride + 4, whole.length - 40, whole.length - 1]) {
    const changed = Buffer.from(whole)
    changed[at]! ^= 1
    await isNoticed(changed, `byte ${at}`)
  }
  await isNoticed(whole.subarray(0, 8 + 2 * stride), 'the last block is gone')
  await isNoticed(whole.subarray(0, whole.length - 100), 'a part of it is')
  const first = whole.subarray(8, 8 + stride)
  const second = whole.subarray(8 + stride, 8 + 2 * stride)
  await isNoticed(Buffer.concat([whole.subarray(0, 8), second, first, whole.subarray(8 + 2 * stride)]), 'two blocks')
  const file = openRandom(sealed(plain), new Uint8Array(32).fill(8))
  assert.throws(() => file.read(new Uint8Array(10), 0), /damaged/, 'another key')
  file.close()
})

// ---------------------------------------------------------------------------------------------------- recordings

const ID = 'call_sealed'
const SECOND = 50
const part = () => join(dir, 'recordings', '.partial', ID)
const frame = (value: number): Int16Array => new Int16Array(160).fill(value)

/** Records two and a half seconds of one party by a process that then dies. */
async function brokenOff(): Promise<void> {
  const writer = new RecordingWriter(dir)
  const recorder = writer.open(ID, () => {}, true)
  if ('error' in recorder) throw new Error(recorder.error)
  const sink = recorder.track('part_a')
  recorder.trackProduct()
  for (let i = 0; i < 2.5 * SECOND; i++) {
    sink.write('inbound', frame(1000 + i))
    recorder.played(frame(-1000))
    recorder.tick()
  }
  const files = ['0.raw', '1.raw', 'manifest.json'].map(name => join(part(), name))
  const deadline = Date.now() + 5000
  const isThere = (path: string) => {
    try {
      return readFileSync(path).length > (path.endsWith('.raw') ? 32_000 : 0)
    } catch {
      return false
    }
  }
  while (!files.every(isThere)) {
    if (Date.now() > deadline) throw new Error('nothing is written')
    await new Promise(resolve => setTimeout(resolve, 5))
  }
  await writer.close()
}

const samplesOf = (value: number): Buffer => {
  const samples = frame(value)
  return Buffer.from(samples.buffer, 0, samples.byteLength)
}

test('while a call goes on nothing of an encrypted recording is on the disk in the clear; after a kill it is finished, encrypted', async () => {
  await brokenOff()
  for (const name of ['0.raw', '1.raw']) {
    const raw = readFileSync(join(part(), name))
    for (const value of [1000, 1040, -1000]) assert.not(raw.includes(samplesOf(value).subarray(0, 32)), name)
  }
  // The process that was to finish it was killed meanwhile, too.
  writeFileSync(join(part(), 'recording.wav'), 'half of it')
  const { ready, failed } = await recoverRecordings(dir)
  assert.equal(failed, [])
  assert.equal([ready[0]?.encrypted, ready[0]?.durationMs, ready[0]?.channels.length], [true, 2000, 2])
  const path = join(dir, 'recordings', `${ID}.wav`)
  const file = openRandom(path, recordingKey(dir, ID))
  const all = new Uint8Array(file.size)
  assert.is(file.read(all, 0), file.size)
  file.close()
  assert.is(Buffer.from(all.subarray(0, 4)).toString(), 'RIFF')
  const data = Buffer.from(all).subarray(file.size - 2 * SECOND * 160 * 2 * 2)
  assert.equal([data.readInt16LE(0), data.readInt16LE(2)], [1000, -1000])
  assert.is(data.readInt16LE(data.length - 4), 1000 + 2 * SECOND - 1)
  assert.not(readFileSync(path).includes(samplesOf(-1000).subarray(0, 32)))
})

test('a write that was broken off at the end is left out; a changed byte before it fails the recording', async () => {
  await brokenOff()
  const raw = join(part(), '0.raw')
  truncateSync(raw, readFileSync(raw).length - 1000)
  const cut = await recoverRecordings(dir)
  assert.is(cut.ready[0]?.durationMs, 2000, 'the other channel goes on to the end')
  rmSync(join(dir, 'recordings'), { recursive: true })
  await brokenOff()
  const fd = openSync(raw, 'r+')
  writeSync(fd, Buffer.from([1, 2, 3]), 0, 3, 500)
  closeSync(fd)
  const { ready, failed } = await recoverRecordings(dir)
  assert.equal(ready, [])
  assert.match(failed[0]?.message ?? '', /damaged/)
})

test('without the vault key a recording that is to be encrypted is not begun', () => {
  rmSync(join(dir, 'vault.key'))
  const refused = new RecordingWriter(dir).open(ID, () => {}, true)
  assert.match('error' in refused ? refused.error : '', /cannot be encrypted/)
})

test.run()
