import * as assert from 'uvu/assert'
import type { RecordingInfo } from '../../../media/protocol.ts'
import { Recorder } from '../../../media/recordings/recorder.ts'
import {
  MAX_RECORDING_CHANNELS,
  parseManifest,
  RECORDING_FRAME_SAMPLES,
} from '../../../media/recordings/recording-manifest.ts'
import type { RecordingStore } from '../../../media/recordings/recording-partial.ts'
import type { Sink } from '../../../media/rooms/sink.ts'
import { suite } from '../../harness.ts'

const test = suite('media/recordings/recorder')

const SECOND = 50

/** A disk in memory whose writes can be held up or made to fail. */
class MemoryStore implements RecordingStore {
  manifest = ''
  readonly channels = new Map<number, Map<number, number>>()
  readonly log: string[] = []
  writeBytes: number[] = []
  failWith: string | null = null
  closes = 0
  #release: (() => void)[] = []
  #stalls = false

  stall(): void {
    this.#stalls = true
  }

  release(): void {
    this.#stalls = false
    for (const release of this.#release.splice(0)) release()
  }

  async writeManifest(text: string): Promise<void> {
    await this.#wait()
    this.log.push('manifest')
    this.manifest = text
  }

  async writeChunk(channel: number, bytes: Uint8Array, position: number): Promise<void> {
    await this.#wait()
    this.log.push(`chunk ${channel}`)
    this.writeBytes.push(bytes.length)
    const samples = this.channels.get(channel) ?? new Map<number, number>()
    this.channels.set(channel, samples)
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    for (let i = 0; i < bytes.length; i += 2) samples.set((position + i) / 2, view.getInt16(i, true))
  }

  async close(): Promise<void> {
    this.closes++
  }

  async #wait(): Promise<void> {
    if (this.#stalls) await new Promise<void>(resolve => this.#release.push(resolve))
    if (this.failWith !== null) throw new Error(this.failWith)
  }

  /** The first sample of each frame of the timeline. */
  timeline(channel: number): number[] {
    const { frames, channels } = parseManifest(this.manifest)!
    const samples = this.channels.get(channel)
    return Array.from(
      { length: frames! },
      (_, n) => samples?.get((n - channels[channel]!.startFrame) * RECORDING_FRAME_SAMPLES) ?? 0,
    )
  }
}

const NO_INFO: RecordingInfo = {
  recordingId: 'call_1',
  file: '',
  sampleRateHz: 8000,
  durationMs: 0,
  sizeBytes: 0,
  channels: [],
  segments: [],
}

function setUp() {
  const store = new MemoryStore()
  const failures: string[] = []
  const recorder = new Recorder({
    recordingId: 'call_1',
    store,
    finisher: { finish: async () => NO_INFO },
    onFailed: message => failures.push(message),
  })
  return { store, recorder, failures }
}

const frame = new Int16Array(RECORDING_FRAME_SAMPLES)
const say = (sink: Sink, value: number): void => sink.write('inbound', frame.fill(value))
const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

test('each participant starts at the frame in which it came, and is silent when away', async () => {
  const { store, recorder } = setUp()
  const sinks = new Map<string, Sink>()
  // When each joins, leaves, joins again and leaves again: never at the edge of a chunk [frames].
  const plan: Record<string, [number, number, number, number]> = {
    leg_a: [0, 400, 999, 999],
    leg_b: [37, 113, 201, 349],
    leg_c: [99, 100, 399, 400],
    leg_d: [151, 203, 203, 251],
  }
  const order: string[] = []
  const expected = Object.keys(plan).map(() => [] as number[])
  for (let n = 0; n < 400; n++) {
    Object.entries(plan).forEach(([legId, [from, to, again, end]], channel) => {
      const isHere = (n >= from && n < to) || (n >= again && n < end)
      if (n === to || n === end) sinks.get(legId)!.close()
      if (n === from || n === again) sinks.set(legId, recorder.track(legId))
      if (n === from && !order.includes(legId)) order.push(legId)
      // Those who are away speak too, which proves that a closed sink records nothing.
      const sink = sinks.get(legId)
      if (sink !== undefined) say(sink, channel * 1000 + n + 1)
      expected[channel]![n] = isHere ? channel * 1000 + n + 1 : 0
    })
    recorder.tick()
    await turn()
  }
  await recorder.finish()
  expected.forEach((samples, channel) => {
    assert.equal(store.timeline(channel), samples)
  })
  assert.equal(
    parseManifest(store.manifest)!.channels.map(c => c.legId),
    order,
  )
  assert.equal(
    parseManifest(store.manifest)!.channels.map(c => c.startFrame),
    [0, 37, 99, 151],
  )
})

test('a recorder keeps what the party said, not what it heard', async () => {
  const { store, recorder } = setUp()
  const sink = recorder.track('leg_a')
  sink.write('inbound', frame.fill(1))
  sink.write('outbound', frame.fill(2))
  recorder.tick()
  await recorder.finish()
  assert.equal(store.timeline(0), [1])
})

test('the frame is borrowed: what becomes of it after the call is not recorded', async () => {
  const { store, recorder } = setUp()
  say(recorder.track('leg_a'), 5)
  frame.fill(-1)
  recorder.tick()
  await recorder.finish()
  assert.equal(store.timeline(0), [5])
})

test('a write holds a second of a channel, and the manifest is there before the first chunk', async () => {
  const { store, recorder } = setUp()
  const sink = recorder.track('leg_a')
  for (let n = 0; n < 3 * SECOND + 7; n++) {
    say(sink, 1)
    recorder.tick()
    await turn()
  }
  await recorder.finish()
  assert.equal(store.log, ['manifest', 'chunk 0', 'chunk 0', 'chunk 0', 'chunk 0', 'manifest'])
  const second = SECOND * RECORDING_FRAME_SAMPLES * 2
  assert.equal(store.writeBytes, [second, second, second, (second * 7) / SECOND])
})

test('a participant who is away costs no write', async () => {
  const { store, recorder } = setUp()
  say(recorder.track('leg_a'), 1)
  for (let n = 0; n < 100 * SECOND; n++) recorder.tick()
  await recorder.finish()
  assert.is(store.writeBytes.length, 1)
})

test('recording keeps its timeline as silence: the stretch of a pause is noted in frames with its reason', async () => {
  const { store, recorder } = setUp()
  const sink = recorder.track('leg_a')
  for (let n = 0; n < 300; n++) {
    if (n === 61) recorder.pauseBegan('payment')
    if (n === 133) recorder.pauseEnded()
    if (n === 250) recorder.pauseBegan('again')
    // What the tap gives to a sink with `onPause` silence.
    say(sink, n >= 61 && n < 133 ? 0 : n + 1)
    recorder.tick()
  }
  assert.is(sink.onPause, 'silence')
  await recorder.finish()
  assert.equal(
    store.timeline(0),
    Array.from({ length: 300 }, (_, n) => (n >= 61 && n < 133 ? 0 : n + 1)),
  )
  assert.equal(parseManifest(store.manifest)!.segments, [
    { fromFrame: 61, toFrame: 133, reason: 'payment' },
    { fromFrame: 250, toFrame: 300, reason: 'again' },
  ])
})

test('a pause that began twice is one stretch, and one of no length is none', async () => {
  const { store, recorder } = setUp()
  recorder.track('leg_a')
  recorder.pauseEnded()
  recorder.pauseBegan('none')
  recorder.pauseEnded()
  recorder.tick()
  recorder.pauseBegan('one')
  recorder.tick()
  recorder.pauseBegan('two')
  recorder.tick()
  recorder.pauseEnded()
  await recorder.finish()
  assert.equal(parseManifest(store.manifest)!.segments, [{ fromFrame: 1, toFrame: 3, reason: 'one' }])
})

test('a disk that stalls for less than ten seconds loses nothing', async () => {
  const { store, recorder } = setUp()
  const sink = recorder.track('leg_a')
  store.stall()
  for (let n = 0; n < 10 * SECOND; n++) {
    say(sink, n + 1)
    recorder.tick()
  }
  store.release()
  await recorder.finish()
  assert.is(recorder.framesDropped, 0)
  assert.equal(
    store.timeline(0),
    Array.from({ length: 10 * SECOND }, (_, n) => n + 1),
  )
})

test('when the disk stalls for longer, frames become silence and are counted, and the timeline stays', async () => {
  const { store, recorder, failures } = setUp()
  const sink = recorder.track('leg_a')
  store.stall()
  const run = (from: number, to: number): void => {
    for (let n = from; n < to; n++) {
      say(sink, n + 1)
      recorder.tick()
    }
  }
  run(0, 20 * SECOND + 25)
  store.release()
  for (let i = 0; i < 50; i++) await turn()
  run(20 * SECOND + 25, 22 * SECOND)
  await recorder.finish()
  const kept = (n: number): boolean => n < 11 * SECOND || n >= 20 * SECOND + 25
  assert.is(recorder.framesDropped, 9 * SECOND + 25)
  assert.equal(
    store.timeline(0),
    Array.from({ length: 22 * SECOND }, (_, n) => (kept(n) ? n + 1 : 0)),
  )
  assert.equal(failures, [])
})

test('a full disk is told once as a value, and the call goes on', async () => {
  const { store, recorder, failures } = setUp()
  const sink = recorder.track('leg_a')
  for (let n = 0; n < 20 * SECOND; n++) {
    if (n === 3 * SECOND + 1) store.failWith = 'ENOSPC: no space left on device'
    say(sink, 1)
    recorder.tick()
    await turn()
  }
  assert.equal(failures, ['ENOSPC: no space left on device'])
  assert.is(recorder.failure, 'ENOSPC: no space left on device')
  assert.equal(await recorder.finish(), { error: 'ENOSPC: no space left on device' })
  assert.is(failures.length, 1)
  assert.is(store.closes, 1)
  assert.is(store.writeBytes.length, 3)
})

test('finish is idempotent, and nothing is recorded after it', async () => {
  const { store, recorder } = setUp()
  const sink = recorder.track('leg_a')
  say(sink, 1)
  recorder.tick()
  const finished = recorder.finish()
  assert.is(recorder.finish(), finished)
  say(sink, 2)
  recorder.tick()
  recorder.pauseBegan('late')
  say(recorder.track('leg_b'), 3)
  say(recorder.track('leg_a'), 3)
  recorder.tick()
  await finished
  assert.is(recorder.frames, 1)
  assert.equal(store.timeline(0), [1])
  assert.is(parseManifest(store.manifest)!.channels.length, 1)
  assert.equal(parseManifest(store.manifest)!.segments, [])
})

test('participants beyond the largest number of channels are counted and not recorded', async () => {
  const { store, recorder } = setUp()
  for (let i = 0; i < MAX_RECORDING_CHANNELS; i++) recorder.track(`leg_${i}`)
  say(recorder.track('leg_more'), 1)
  recorder.tick()
  recorder.track('leg_0')
  await recorder.finish()
  assert.is(recorder.participantsRefused, 1)
  assert.is(parseManifest(store.manifest)!.channels.length, MAX_RECORDING_CHANNELS)
  assert.is(store.writeBytes.length, 0)
})

test('a manifest that says something else is none', () => {
  const good = { version: 1, frames: null, channels: [{ legId: 'leg_a', startFrame: 3 }], segments: [] }
  assert.equal(parseManifest(JSON.stringify(good)), good)
  const bad: unknown[] = [
    null,
    [],
    7,
    { ...good, version: 2 },
    { ...good, frames: -1 },
    { ...good, frames: 'x' },
    { ...good, channels: {} },
    { ...good, channels: [{ legId: 1, startFrame: 0 }] },
    { ...good, channels: [{ legId: 'leg_a', startFrame: 0.5 }] },
    { ...good, channels: [null] },
    { ...good, segments: [{ fromFrame: 0, toFrame: 1 }] },
    { ...good, segments: null },
  ]
  for (const value of bad) assert.is(parseManifest(JSON.stringify(value)), null)
  assert.is(parseManifest('{"version":1,'), null)
})

test.run()
