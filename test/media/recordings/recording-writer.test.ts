import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { WAV_HEADER_BYTES } from '../../../codecs/wav.ts'
import type { RecordingInfo } from '../../../media/protocol.ts'
import { InterruptedRecordings } from '../../../media/recordings/interrupted-recordings.ts'
import type { Recorder } from '../../../media/recordings/recorder.ts'
import { makeRecording } from '../../../media/recordings/recording-file.ts'
import {
  channelFile,
  MANIFEST_FILE,
  partialDir,
  type RecordingManifest,
} from '../../../media/recordings/recording-manifest.ts'
import { RecordingWriter, recoverRecordings } from '../../../media/recordings/recording-writer.ts'
import type { Sink } from '../../../media/rooms/sink.ts'
import { suite } from '../../harness.ts'

const test = suite('media/recordings/recording-writer')

const FRAME = 160
let dataDir = ''
let writer: RecordingWriter

test.beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'tandem-recording-'))
  writer = new RecordingWriter(dataDir)
})
test.afterEach(async () => {
  await writer.close()
  rmSync(dataDir, { recursive: true })
})

function opened(id = 'call_1', onFailed: (message: string) => void = () => {}): Recorder {
  const recorder = writer.open(id, onFailed)
  if ('error' in recorder) throw new Error(recorder.error)
  return recorder
}

function info(answer: RecordingInfo | { error: string }): RecordingInfo {
  if ('error' in answer) throw new Error(answer.error)
  return answer
}

const errorOf = (answer: object): string => ('error' in answer ? String(answer.error) : '')
const recording = (id = 'call_1'): string => join(dataDir, 'recordings', `${id}.wav`)

/** The channels of a finished recording, by its header and not by our reader: that one stops at 32 channels. */
function channelsOf(path: string): { channels: Int16Array[]; sampleRateHz: number } {
  const bytes = readFileSync(path)
  assert.is(bytes.toString('latin1', 0, 4), 'RIFF')
  assert.is(bytes.readUInt32LE(4), bytes.length - 8)
  assert.is(bytes.toString('latin1', 72, 76), 'data')
  assert.is(bytes.readUInt32LE(76), bytes.length - WAV_HEADER_BYTES)
  assert.is(bytes.readUInt16LE(56), 1)
  assert.is(bytes.readUInt16LE(70), 16)
  const count = bytes.readUInt16LE(58)
  const length = (bytes.length - WAV_HEADER_BYTES) / 2 / count
  const channels = Array.from({ length: count }, (_, c) =>
    Int16Array.from({ length }, (_, i) => bytes.readInt16LE(WAV_HEADER_BYTES + 2 * (i * count + c))),
  )
  return { channels, sampleRateHz: bytes.readUInt32LE(60) }
}

/** A sample that identifies the participant and the time. */
const voice = (channel: number, at: number): number => ((channel * 7919 + at * 31) % 60_000) - 30_000

const frame = new Int16Array(FRAME)
function say(sink: Sink, channel: number, frameNumber: number): void {
  for (let i = 0; i < FRAME; i++) frame[i] = voice(channel, frameNumber * FRAME + i)
  sink.write('inbound', frame)
}

/** Creates the files that a crash leaves. */
function leave(id: string, manifest: object | string, raws: Int16Array[] = []): void {
  const dir = partialDir(dataDir, id)
  mkdirSync(dir, { recursive: true })
  writeFileSync(join(dir, MANIFEST_FILE), typeof manifest === 'string' ? manifest : JSON.stringify(manifest))
  raws.forEach((raw, n) => {
    writeFileSync(join(dir, channelFile(n)), new Uint8Array(raw.buffer, 0, raw.byteLength))
  })
}

test('one channel for each participant in order of first join, each on the common timeline to the sample', async () => {
  const recorder = opened()
  const joins = [0, 3, 51, 127]
  const leaves = [200, 77, 199, 163]
  const sinks: Sink[] = []
  for (let n = 0; n < 200; n++) {
    joins.forEach((from, c) => {
      if (n === from) sinks[c] = recorder.track(`leg_${c}`)
      if (n >= from && n < leaves[c]!) say(sinks[c]!, c, n)
    })
    recorder.tick()
  }
  const answer = info(await recorder.finish())
  assert.equal(answer, {
    recordingId: 'call_1',
    file: 'call_1.wav',
    sampleRateHz: 8000,
    durationMs: 4000,
    sizeBytes: WAV_HEADER_BYTES + 200 * FRAME * 2 * 4,
    channels: [{ legId: 'leg_0' }, { legId: 'leg_1' }, { legId: 'leg_2' }, { legId: 'leg_3' }],
    segments: [],
  })
  const { channels, sampleRateHz } = channelsOf(recording())
  assert.is(sampleRateHz, 8000)
  channels.forEach((samples, c) => {
    const expected = Int16Array.from({ length: 200 * FRAME }, (_, i) =>
      i >= joins[c]! * FRAME && i < leaves[c]! * FRAME ? voice(c, i) : 0,
    )
    assert.equal(samples, expected)
  })
  assert.equal(readdirSync(join(dataDir, 'recordings')).sort(), ['.partial', 'call_1.wav'])
  assert.equal(readdirSync(join(dataDir, 'recordings', '.partial')), [])
})

test('a pause is a stretch of silence, named in milliseconds', async () => {
  const recorder = opened()
  const sink = recorder.track('leg_a')
  for (let n = 0; n < 100; n++) {
    if (n === 21) recorder.pauseBegan('payment')
    if (n === 83) recorder.pauseEnded()
    if (n >= 21 && n < 83) sink.write('inbound', frame.fill(0))
    else say(sink, 0, n)
    recorder.tick()
  }
  const answer = info(await recorder.finish())
  assert.equal(answer.segments, [{ fromMs: 420, toMs: 1660, reason: 'payment' }])
  const [samples] = channelsOf(recording()).channels
  assert.equal(
    samples,
    Int16Array.from({ length: 100 * FRAME }, (_, i) => (i >= 21 * FRAME && i < 83 * FRAME ? 0 : voice(0, i))),
  )
})

test('a hundred participants make a hundred channels', async () => {
  const recorder = opened()
  const sinks: Sink[] = []
  for (let n = 0; n < 160; n++) {
    if (n < 100) sinks.push(recorder.track(`leg_${n}`))
    sinks.forEach((sink, c) => {
      say(sink, c, n)
    })
    recorder.tick()
  }
  assert.is(info(await recorder.finish()).channels.length, 100)
  const { channels } = channelsOf(recording())
  assert.is(channels.length, 100)
  channels.forEach((samples, c) => {
    for (const at of [c * FRAME - 1, c * FRAME, c * FRAME + 1, 160 * FRAME - 1]) {
      if (at >= 0) assert.is(samples[at], at < c * FRAME ? 0 : voice(c, at), `channel ${c}, sample ${at}`)
    }
  })
})

test('an ID that could leave the directory is refused', async () => {
  for (const id of [
    '../x',
    'call_../x',
    'call_',
    '_1',
    'call_a/b',
    'call_1.wav',
    '',
    'CALL_1',
    `call_${'a'.repeat(200)}`,
  ]) {
    assert.match(errorOf(writer.open(id, () => {})), /not a recording ID/)
    assert.match(errorOf(await writer.finish(id)), /not a recording ID/)
  }
})

test('a recording of nobody is an error, and leaves nothing behind', async () => {
  const recorder = opened()
  recorder.tick()
  assert.is(errorOf(await recorder.finish()), 'nobody was recorded')
  assert.equal(readdirSync(join(dataDir, 'recordings', '.partial')), [])
})

test('a recording that ended at once is a file of no length', async () => {
  const recorder = opened()
  recorder.track('leg_a')
  assert.is(info(await recorder.finish()).durationMs, 0)
  assert.is(channelsOf(recording()).channels[0]!.length, 0)
})

test('a finished recording is never overwritten by another of the same ID', async () => {
  const failures: string[] = []
  const first = opened()
  first.track('leg_a')
  await first.finish()
  const before = readFileSync(recording())
  const second = opened('call_1', message => failures.push(message))
  say(second.track('leg_b'), 0, 0)
  second.tick()
  assert.match(errorOf(await second.finish()), /call_1\.wav exists/)
  assert.is(failures.length, 1)
  assert.equal(readFileSync(recording()), before)
})

test('a file in place of the directory is an error value, and the call goes on', async () => {
  writeFileSync(join(dataDir, 'recordings'), '')
  const failures: string[] = []
  const recorder = opened('call_1', message => failures.push(message))
  const sink = recorder.track('leg_a')
  for (let n = 0; n < 120; n++) {
    say(sink, 0, n)
    recorder.tick()
  }
  assert.match(errorOf(await recorder.finish()), /ENOTDIR|EEXIST/)
  assert.is(failures.length, 1)
})

test('a directory in place of a channel is an error value', async () => {
  const recorder = opened()
  const sink = recorder.track('leg_a')
  await untilExists(join(partialDir(dataDir, 'call_1'), MANIFEST_FILE))
  mkdirSync(join(partialDir(dataDir, 'call_1'), channelFile(0)))
  say(sink, 0, 0)
  recorder.tick()
  assert.match(errorOf(await recorder.finish()), /EISDIR/)
})

test('a directory in place of the finished file is an error value, and the audio stays for the next start', async () => {
  const recorder = opened()
  const sink = recorder.track('leg_a')
  await untilExists(join(partialDir(dataDir, 'call_1'), MANIFEST_FILE))
  mkdirSync(recording())
  say(sink, 0, 0)
  recorder.tick()
  assert.match(errorOf(await recorder.finish()), /EISDIR|ENOTEMPTY|EEXIST/)
  rmSync(recording(), { recursive: true })
  const { ready } = await recoverRecordings(dataDir)
  assert.equal(
    ready.map(({ durationMs }) => durationMs),
    [20],
  )
  assert.is(channelsOf(recording()).channels[0]![1], voice(0, 1))
})

if (existsSync('/dev/full')) {
  test('a full disk is an error value, told once', async () => {
    const failures: string[] = []
    const recorder = opened('call_1', message => failures.push(message))
    const sink = recorder.track('leg_a')
    await untilExists(join(partialDir(dataDir, 'call_1'), MANIFEST_FILE))
    symlinkSync('/dev/full', join(partialDir(dataDir, 'call_1'), channelFile(0)))
    for (let n = 0; n < 120; n++) {
      say(sink, 0, n)
      recorder.tick()
    }
    assert.match(errorOf(await recorder.finish()), /ENOSPC/)
    assert.is(failures.length, 1)
  })
} else test.skip('a full disk is an error value, told once', 'no /dev/full')

test('what a crash left is finished at the next start, up to what reached the disk', async () => {
  const manifest: RecordingManifest = {
    version: 1,
    frames: null,
    channels: [
      { legId: 'leg_a', startFrame: 0 },
      { legId: 'leg_b', startFrame: 61 },
      { legId: 'leg_c', startFrame: 70 },
    ],
    segments: [
      { fromFrame: 5, toFrame: 9, reason: 'payment' },
      { fromFrame: 100, toFrame: null, reason: 'payment' },
      { fromFrame: 500, toFrame: 600, reason: 'never reached the disk' },
    ],
  }
  const a = Int16Array.from({ length: 50 * FRAME }, (_, i) => voice(0, i))
  const b = Int16Array.from({ length: 50 * FRAME }, (_, i) => voice(1, i))
  leave('call_1', manifest, [a, b])
  const { ready, failed } = await recoverRecordings(dataDir)
  assert.equal(failed, [])
  assert.equal(ready.length, 1)
  assert.is(ready[0]!.durationMs, 111 * 20)
  assert.equal(
    ready[0]!.channels.map(c => c.legId),
    ['leg_a', 'leg_b', 'leg_c'],
  )
  assert.equal(ready[0]!.segments, [
    { fromMs: 100, toMs: 180, reason: 'payment' },
    { fromMs: 2000, toMs: 2220, reason: 'payment' },
  ])
  const { channels } = channelsOf(recording())
  assert.equal(channels[0]!.subarray(0, 50 * FRAME), a)
  assert.ok(channels[0]!.subarray(50 * FRAME).every(sample => sample === 0))
  assert.ok(channels[1]!.subarray(0, 61 * FRAME).every(sample => sample === 0))
  assert.equal(channels[1]!.subarray(61 * FRAME), b)
  assert.ok(channels[2]!.every(sample => sample === 0))
  assert.equal(await recoverRecordings(dataDir), { ready: [], failed: [] })
})

test('a recorder that is killed leaves what the next start needs', async () => {
  const recorder = opened()
  const sink = recorder.track('leg_a')
  const raw = join(partialDir(dataDir, 'call_1'), channelFile(0))
  for (let n = 0; n < 75; n++) {
    say(sink, 0, n)
    recorder.tick()
  }
  // The chunk of the first second; the rest is lost with the process.
  await untilSize(raw, 50 * FRAME * 2)
  const { ready } = await recoverRecordings(dataDir)
  assert.equal(
    ready.map(({ durationMs }) => durationMs),
    [1000],
  )
  assert.equal(
    channelsOf(recording()).channels[0],
    Int16Array.from({ length: 50 * FRAME }, (_, i) => voice(0, i)),
  )
  // Only closes its files: the directory is gone.
  assert.match(errorOf(await recorder.finish()), /ENOENT/)
})

test('the silence of a pause in which a recorder is killed belongs to its file', async () => {
  const recorder = opened()
  const sink = recorder.track('leg_a')
  for (let n = 0; n < 175; n++) {
    if (n === 60) {
      recorder.mute(true)
      recorder.pauseBegan('paused')
    }
    say(sink, 0, n)
    recorder.tick()
  }
  await untilSize(join(partialDir(dataDir, 'call_1'), channelFile(0)), 150 * FRAME * 2)
  const { ready } = await recoverRecordings(dataDir)
  assert.equal(
    ready.map(({ durationMs, segments }) => ({ durationMs, segments })),
    [{ durationMs: 3000, segments: [{ fromMs: 1200, toMs: 3000, reason: 'paused' }] }],
  )
  assert.ok(
    channelsOf(recording())
      .channels[0]!.subarray(60 * FRAME)
      .every(sample => sample === 0),
  )
  await recorder.finish()
})

test('a crash between the finished file and the end of clearing up changes nothing', async () => {
  const manifest = { version: 1, frames: 2, channels: [{ legId: 'leg_a', startFrame: 0 }], segments: [] }
  leave('call_1', manifest, [new Int16Array(2 * FRAME).fill(5)])
  const first = info(makeRecording(dataDir, 'call_1'))
  leave('call_1', manifest, [new Int16Array(2 * FRAME).fill(5)])
  writeFileSync(join(partialDir(dataDir, 'call_1'), 'recording.wav'), 'half')
  assert.equal((await recoverRecordings(dataDir)).ready, [first])
})

test('what cannot be finished is reported once and set aside, and does not hinder the others', async () => {
  leave('call_1', '{"version":')
  leave('call_2', { version: 1, frames: 1, channels: [{ legId: 'leg_a', startFrame: 0 }], segments: [] })
  mkdirSync(partialDir(dataDir, 'call_3'))
  mkdirSync(join(dataDir, 'recordings', '.partial', 'not an id'))
  const { ready, failed } = await recoverRecordings(dataDir)
  assert.equal(
    ready.map(r => r.recordingId),
    ['call_2'],
  )
  assert.equal(
    failed.map(f => f.recordingId),
    ['call_1', 'call_3'],
  )
  assert.is(failed[0]!.message, 'the manifest is damaged')
  assert.equal(await recoverRecordings(dataDir), { ready: [], failed: [] })
  assert.ok(existsSync(join(dataDir, 'recordings', '.partial', 'call_1.failed', MANIFEST_FILE)))
})

test('a recording that begins while others are recovered is left alone', async () => {
  leave('call_1', { version: 1, frames: 1, channels: [{ legId: 'leg_a', startFrame: 0 }], segments: [] })
  const recovery = recoverRecordings(dataDir)
  const recorder = opened('call_2')
  recorder.track('leg_a')
  await untilExists(join(partialDir(dataDir, 'call_2'), MANIFEST_FILE))
  assert.equal(
    (await recovery).ready.map(r => r.recordingId),
    ['call_1'],
  )
  recorder.tick()
  assert.is(info(await recorder.finish()).durationMs, 20)
})

test('of the recordings that lie unfinished, those of a dead thread are finished: nobody else writes them, nor has finished them meanwhile', async () => {
  const manifest = { version: 1, frames: 1, channels: [{ legId: 'leg_a', startFrame: 0 }], segments: [] }
  for (const id of ['call_1', 'call_2', 'call_3', 'call_4']) leave(id, manifest)
  const told: string[] = []
  const interrupted = new InterruptedRecordings({
    dataDir,
    emit: ({ name, body }) => void told.push(`${name} ${(body as { recordingId: string }).recordingId}`),
    over: id => void told.push(`over ${id}`),
  })
  let asked = 0
  const recovery = interrupted.ofThread(async () => {
    if (++asked === 1) return null
    rmSync(partialDir(dataDir, 'call_3'), { recursive: true })
    return ['call_2']
  })
  assert.equal([...interrupted.ids], ['call_1', 'call_2', 'call_3', 'call_4'], 'none of them counts as gone meanwhile')
  await recovery
  assert.equal(told, ['over call_1', 'over call_4', 'recording.ready call_1', 'recording.ready call_4'])
  assert.equal([...interrupted.ids], [])
  assert.ok(existsSync(partialDir(dataDir, 'call_2')))
})

test('a data directory without recordings has nothing to recover', async () => {
  assert.equal(await recoverRecordings(join(dataDir, 'nowhere')), { ready: [], failed: [] })
})

test('above 4 GiB the file is RF64 (EBU Tech 3306)', async () => {
  const count = 100
  const frames = 150_000
  const channels = Array.from({ length: count }, (_, n) => ({
    legId: `leg_${n}`,
    startFrame: n === 7 ? frames - 1 : 0,
  }))
  const raws = channels.map((_, n) => new Int16Array(FRAME).fill(n))
  leave('call_1', { version: 1, frames, channels, segments: [] }, raws)
  const answer = info(await writer.finish('call_1'))
  const dataBytes = frames * FRAME * 2 * count
  assert.ok(dataBytes > 2 ** 32)
  assert.is(answer.sizeBytes, WAV_HEADER_BYTES + dataBytes)
  const file = await open(recording())
  try {
    assert.is((await file.stat()).size, answer.sizeBytes)
    const header = Buffer.alloc(WAV_HEADER_BYTES)
    await file.read(header, 0, WAV_HEADER_BYTES, 0)
    assert.is(header.toString('latin1', 0, 4), 'RF64')
    assert.is(header.readUInt32LE(4), 0xffff_ffff)
    assert.is(header.toString('latin1', 12, 16), 'ds64')
    assert.is(Number(header.readBigUInt64LE(28)), dataBytes)
    const last = Buffer.alloc(2 * count)
    await file.read(last, 0, last.length, answer.sizeBytes - last.length)
    assert.equal(
      [...new Int16Array(last.buffer, last.byteOffset, count)].map((v, n) => [n, v]).filter(([, v]) => v !== 0),
      [[7, 7]],
    )
  } finally {
    await file.close()
  }
  truncateSync(recording(), 0)
})

/** Waits for a write of another thread or of the thread pool; the test's time-out ends a wait in vain. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise(resolve => setImmediate(resolve))
}
const untilExists = (path: string): Promise<void> => until(() => existsSync(path))
const untilSize = (path: string, size: number): Promise<void> =>
  until(() => existsSync(path) && readFileSync(path).length === size)

test.run()
