import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createDecoder } from 'libopus-wasm'
import * as assert from 'uvu/assert'
import { levelAt } from '../../../../bench/spectrum.ts'
import { readWav, wavHeader } from '../../../../codecs/wav.ts'
import { RecordingForms } from '../../../../control/calls/capture/recording-forms.ts'
import { suite } from '../../../harness.ts'

const test = suite('control/calls/capture/recording-forms')
const LIMIT = { timeoutMs: 60_000 }
const RATE = 8000
const SECONDS = 4
const HZ = [440, 700, 1900]
const HEARD_DBOV = -25
const UNHEARD_DBOV = -38
/** In this second nothing is, as in a card-payment pause. */
const PAUSED = 2

let dataDir: string
let forms: RecordingForms

test.before(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'tandem-test-'))
  mkdirSync(join(dataDir, 'recordings'))
  forms = new RecordingForms(dataDir)
  const samples = new Int16Array(SECONDS * RATE * HZ.length)
  for (let i = 0; i < SECONDS * RATE; i++) {
    if (Math.floor(i / RATE) === PAUSED) continue
    for (const [n, hz] of HZ.entries()) samples[i * HZ.length + n] = 7000 * Math.sin((2 * Math.PI * hz * i) / RATE)
  }
  const header = wavHeader({ sampleRateHz: RATE, channels: HZ.length, dataBytes: samples.byteLength })
  writeFileSync(join(dataDir, 'recordings', 'call_1.wav'), Buffer.concat([header, Buffer.from(samples.buffer)]))
})
test.after(() => rmSync(dataDir, { recursive: true }))

async function made(layout: 'mono' | 'stereo', format: 'wav' | 'ogg'): Promise<Buffer> {
  const file = await forms.file('call_1', { layout, format })
  if (file === null || typeof file === 'string') throw new Error(`${file}`)
  return readFileSync(file.path)
}

/** The tones of each second, and silence where the pause was. */
function assertHolds(channel: Int16Array, wanted: number[], paused: number): void {
  assert.is(channel.length, SECONDS * RATE)
  for (let second = 0; second < SECONDS; second++) {
    const [from, to] = [second * RATE + 400, (second + 1) * RATE - 400]
    if (second === PAUSED) {
      assert.ok(
        channel.subarray(from, to).every(sample => Math.abs(sample) <= paused),
        'the pause is silence',
      )
      continue
    }
    for (const hz of HZ) {
      const level = levelAt(hz, channel, from, to)
      assert.ok(wanted.includes(hz) ? level > HEARD_DBOV : level < UNHEARD_DBOV, `${second} s, ${hz} Hz: ${level} dBov`)
    }
  }
}

/** The packets of an Ogg file, its pre-skip and its last granule position (RFC 7845). */
async function decoded(file: Buffer, channels: 1 | 2): Promise<Int16Array[]> {
  const packets: Uint8Array[] = []
  let granule = 0
  for (let at = 0; at < file.length; ) {
    assert.is(file.toString('latin1', at, at + 4), 'OggS')
    granule = Number(file.readBigUInt64LE(at + 6))
    const segments = file.subarray(at + 27, at + 27 + file[at + 26]!)
    let from = at + 27 + segments.length
    let length = 0
    for (const segment of segments) {
      length += segment
      if (segment === 255) continue
      packets.push(file.subarray(from, from + length))
      from += length
      length = 0
    }
    at = from
  }
  const [head, , ...audio] = packets as [Buffer, Buffer, ...Uint8Array[]]
  const preSkip = head.readUInt16LE(10) / 6
  const decoder = await createDecoder({ sampleRate: RATE, channels })
  const samples = audio.flatMap(packet => [...decoder.decode(packet)])
  const length = (granule - head.readUInt16LE(10)) / 6
  return Array.from({ length: channels }, (_, n) =>
    Int16Array.from({ length }, (_, i) => samples[(preSkip + i) * channels + n] ?? 0),
  )
}

test(
  'the mono mix has everybody, the stereo mix the call’s own party on the left and everybody else on the right; pauses are silence',
  async () => {
    const mono = readWav(await made('mono', 'wav'))
    if ('error' in mono) throw new Error(mono.error)
    assertHolds(mono.samples[0]!, HZ, 0)
    const stereo = readWav(await made('stereo', 'wav'))
    if ('error' in stereo) throw new Error(stereo.error)
    assertHolds(stereo.samples[0]!, [440], 0)
    assertHolds(stereo.samples[1]!, [700, 1900], 0)
  },
  LIMIT,
)

test(
  'Ogg Opus is as long as the recording, to the sample, holds the same voices and the same silence, and is less than a fifth of its size',
  async () => {
    const mono = await made('mono', 'ogg')
    assertHolds((await decoded(mono, 1))[0]!, HZ, 200)
    const [left, right] = await decoded(await made('stereo', 'ogg'), 2)
    assertHolds(left!, [440], 200)
    assertHolds(right!, [700, 1900], 200)
    assert.ok(mono.length * 5 < SECONDS * RATE * 2, `${mono.length} bytes`)
  },
  LIMIT,
)

test(
  'parties that are loud at once are limited in the mono mix, not clipped',
  async () => {
    const samples = new Int16Array(2 * RATE * 3)
    for (let i = 0; i < 2 * RATE; i++)
      for (const [n, hz] of [400, 700, 1150].entries())
        samples[i * 3 + n] = 32_767 * Math.sin((2 * Math.PI * hz * i) / RATE)
    const header = wavHeader({ sampleRateHz: RATE, channels: 3, dataBytes: samples.byteLength })
    writeFileSync(join(dataDir, 'recordings', 'loud.wav'), Buffer.concat([header, Buffer.from(samples.buffer)]))
    const file = await forms.file('loud', { layout: 'mono', format: 'wav' })
    if (file === null || typeof file === 'string') throw new Error(`${file}`)
    const mono = readWav(readFileSync(file.path))
    if ('error' in mono) throw new Error(mono.error)
    for (const hz of [400, 700, 1150]) assert.ok(levelAt(hz, mono.samples[0]!, RATE, 2 * RATE) > -14)
    // Where a clamp puts intermodulation: 2 f2 - f1, f1 + f2 - f3 …
    for (const hz of [1000, 50, 850, 1600]) {
      const level = levelAt(hz, mono.samples[0]!, RATE, 2 * RATE)
      assert.ok(level < -70, `${hz} Hz: ${level} dBov`)
    }
  },
  LIMIT,
)

test('a recording that is not here has no form', async () => {
  assert.is(await forms.file('call_2', { layout: 'mono', format: 'wav' }), null)
})

test.run()
