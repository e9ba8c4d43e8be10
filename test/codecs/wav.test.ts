import * as assert from 'uvu/assert'
import wavefile from 'wavefile'
import { seeded } from '../../bench/seeded.ts'
import { writeL16le } from '../../codecs/l16.ts'
import { readWav, WAV_HEADER_BYTES, type Wav, type WavError, wavHeader } from '../../codecs/wav.ts'
import { suite } from '../harness.ts'

const test = suite('codecs/wav')

const SAMPLES = Int16Array.of(0, 1, -1, 1000, -1000, 0x1234, 32_767, -32_768)

function read(bytes: Uint8Array): Wav {
  const wav = readWav(bytes)
  if ('error' in wav) throw new Error(wav.error)
  return wav
}
const errorOf = (bytes: Uint8Array): WavError | null => {
  const wav = readWav(bytes)
  return 'error' in wav ? wav.error : null
}

const text = (name: string): number[] => [...name].map(c => c.charCodeAt(0))
const u16 = (n: number): number[] => [n & 0xff, n >> 8]
const u32 = (n: number): number[] => [...u16(n & 0xffff), ...u16(n >>> 16)]
const chunk = (name: string, body: number[], size = body.length): number[] => [
  ...text(name),
  ...u32(size),
  ...body,
  ...(body.length % 2 ? [0] : []),
]
const fmt = (tag: number, channels: number, rateHz: number, bits: number, extra: number[] = []): number[] => {
  const block = (channels * bits) >> 3
  return chunk('fmt ', [
    ...u16(tag),
    ...u16(channels),
    ...u32(rateHz),
    ...u32(rateHz * block),
    ...u16(block),
    ...u16(bits),
    ...extra,
  ])
}
const riff = (...parts: number[][]): Uint8Array =>
  Uint8Array.from([...text('RIFF'), ...u32(4 + parts.flat().length), ...text('WAVE'), ...parts.flat()])
/** The rest of an extensible format: sizes, valid bits, speakers and the GUID of a sub-format. */
const extension = (tag: number, bits: number): number[] => [
  ...u16(22),
  ...u16(bits),
  ...u32(4),
  ...u16(tag),
  ...[0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xaa, 0, 0x38, 0x9b, 0x71],
]

test('what wavefile writes at each depth is read', () => {
  const depths: [string, number, (sample: number) => number][] = [
    ['16', 0, sample => sample],
    ['24', 0, sample => sample * 256],
    ['32', 0, sample => sample * 65_536],
    ['32f', 0, sample => sample / 32_768],
    ['64', 0, sample => sample / 32_768],
    ['8', 255, sample => (sample >> 8) + 128],
  ]
  for (const [depth, lost, scale] of depths) {
    for (const channels of [1, 2, 3]) {
      const file = new wavefile.WaveFile()
      const one = Array.from(SAMPLES, scale)
      file.fromScratch(channels, 44_100, depth, channels === 1 ? one : Array.from({ length: channels }, () => one))
      const wav = read(file.toBuffer())
      assert.is(wav.channels, channels)
      assert.is(wav.sampleRateHz, 44_100)
      for (const samples of wav.samples) {
        assert.is(samples.length, SAMPLES.length)
        samples.forEach((sample, i) => {
          const error = SAMPLES[i]! - sample
          assert.ok(error >= 0 && error <= lost, `${depth} bits, ${SAMPLES[i]} read as ${sample}`)
        })
      }
    }
  }
})

test('µ-law and A-law of wavefile are read as it reads them itself', () => {
  for (const law of ['ALaw', 'MuLaw'] as const) {
    const file = new wavefile.WaveFile()
    file.fromScratch(1, 8000, '16', SAMPLES)
    file[`to${law}`]()
    const wav = read(file.toBuffer())
    file[`from${law}`]()
    assert.equal([...wav.samples[0]!], [...file.getSamples(false, Int16Array)])
  }
})

test('wavefile reads our header, and so do we', () => {
  const file = new Uint8Array(WAV_HEADER_BYTES + 2 * SAMPLES.length)
  file.set(wavHeader({ sampleRateHz: 16_000, channels: 2, dataBytes: 2 * SAMPLES.length }))
  writeL16le(SAMPLES, file, WAV_HEADER_BYTES)
  const peer = new wavefile.WaveFile(file)
  const format = peer.fmt as { sampleRate: number; numChannels: number; bitsPerSample: number; byteRate: number }
  assert.equal([format.sampleRate, format.numChannels, format.bitsPerSample], [16_000, 2, 16])
  assert.is(format.byteRate, 64_000)
  const [left, right] = read(file).samples
  assert.equal([...left!], [0, -1, -1000, 32_767])
  assert.equal([...right!], [1, 1000, 0x1234, -32_768])
  const theirs = peer.getSamples(false, Int16Array) as unknown as Int16Array[]
  assert.equal([...theirs[0]!], [...left!])
})

test('above 4 GiB the header is RF64, in the same space (EBU Tech 3306)', () => {
  const dataBytes = 6 * 2 ** 30
  const header = wavHeader({ sampleRateHz: 8000, channels: 2, dataBytes })
  const view = new DataView(header.buffer)
  assert.is(header.length, WAV_HEADER_BYTES)
  assert.equal([...header.subarray(0, 4)], text('RF64'))
  assert.is(view.getUint32(4, true), 0xffff_ffff)
  assert.equal([...header.subarray(12, 16)], text('ds64'))
  assert.is(view.getBigUint64(20, true), BigInt(dataBytes + 72))
  assert.is(view.getBigUint64(28, true), BigInt(dataBytes))
  assert.is(view.getBigUint64(36, true), BigInt(dataBytes / 4))
  assert.is(view.getUint32(76, true), 0xffff_ffff)
  const last = 0xffff_ffff - 72
  assert.equal([...wavHeader({ sampleRateHz: 8000, channels: 1, dataBytes: last - 1 }).subarray(0, 4)], text('RIFF'))
  assert.equal([...wavHeader({ sampleRateHz: 8000, channels: 1, dataBytes: last + 1 }).subarray(0, 4)], text('RF64'))
})

test('an RF64 file is read by the lengths in its ds64', () => {
  const ds64 = chunk('ds64', [...u32(0), ...u32(0), ...u32(4), ...u32(0), ...u32(2), ...u32(0), ...u32(0)])
  const bytes = riff(ds64, fmt(1, 1, 8000, 16), chunk('data', [1, 0, 2, 0, 9, 9], 0xffff_ffff))
  bytes.set(text('RF64'))
  assert.equal([...read(bytes).samples[0]!], [1, 2])
})

test('WAVE_FORMAT_EXTENSIBLE is read by its sub-format', () => {
  const pcm = riff(fmt(0xfffe, 1, 8000, 16, extension(1, 16)), chunk('data', [0x34, 0x12]))
  assert.equal([...read(pcm).samples[0]!], [0x1234])
  const law = riff(fmt(0xfffe, 1, 8000, 8, extension(7, 8)), chunk('data', [0x00]))
  assert.equal([...read(law).samples[0]!], [-32_124])
  const other = riff(fmt(0xfffe, 1, 8000, 16, extension(2, 16)), chunk('data', [0, 0]))
  assert.is(errorOf(other), 'unsupported_format')
})

test('chunks between format and data are passed over, also those of odd length', () => {
  const bytes = riff(chunk('LIST', [1, 2, 3]), fmt(1, 1, 8000, 16), chunk('fact', [1]), chunk('data', [7, 0]))
  assert.equal([...read(bytes).samples[0]!], [7])
})

test('a file cut short, or of unknown length, gives what is there', () => {
  for (const size of [400, 0xffff_ffff]) {
    const bytes = riff(fmt(1, 2, 8000, 16), chunk('data', [1, 0, 2, 0, 3, 0, 4, 0, 5, 0], size))
    const { samples } = read(bytes)
    assert.equal([...samples[0]!], [1, 3])
    assert.equal([...samples[1]!], [2, 4])
  }
})

test('floats are clipped at full scale, and not-a-number is silence', () => {
  const data = new Uint8Array(Float32Array.of(2, -2, Number.NaN, 0.5, Number.POSITIVE_INFINITY).buffer)
  const bytes = riff(fmt(3, 1, 8000, 32), chunk('data', [...data]))
  assert.equal([...read(bytes).samples[0]!], [32_767, -32_768, 0, 16_384, 32_767])
})

test('a view into a larger buffer is read at its own offset', () => {
  const file = riff(fmt(1, 1, 8000, 16), chunk('data', [7, 0]))
  const larger = new Uint8Array(file.length + 20)
  larger.set(file, 13)
  assert.equal([...read(larger.subarray(13, 13 + file.length)).samples[0]!], [7])
})

test('each thing that can be wrong has its name', () => {
  const data = chunk('data', [0, 0])
  assert.is(errorOf(new Uint8Array(0)), 'not_wav')
  assert.is(errorOf(Uint8Array.from(text('RIFF....AVI LIST'))), 'not_wav')
  assert.is(errorOf(riff(data)), 'no_format')
  assert.is(errorOf(riff(fmt(1, 1, 8000, 16))), 'no_data')
  assert.is(errorOf(riff(fmt(0x55, 1, 44_100, 0), data)), 'unsupported_format')
  assert.is(errorOf(riff(fmt(1, 1, 8000, 12), data)), 'unsupported_format')
  assert.is(errorOf(riff(fmt(6, 1, 8000, 16), data)), 'unsupported_format')
  assert.is(errorOf(riff(fmt(1, 0, 8000, 16), data)), 'bad_format')
  assert.is(errorOf(riff(fmt(1, 33, 8000, 16), data)), 'bad_format')
  assert.is(errorOf(riff(fmt(1, 1, 999, 16), data)), 'bad_format')
  assert.is(errorOf(riff(chunk('fmt ', [1, 0]), data)), 'bad_format')
  assert.is(errorOf(riff(fmt(0xfffe, 1, 8000, 16), data)), 'bad_format')
  const wrongBlock = riff(fmt(1, 1, 8000, 16), data)
  wrongBlock[32] = 1
  assert.is(errorOf(wrongBlock), 'bad_format')
})

test('no bytes make it throw or give more than a sample per octet (seeded)', () => {
  const random = seeded(1)
  const seeds = [
    riff(fmt(1, 2, 8000, 16), chunk('fact', [1]), chunk('data', [1, 0, 2, 0, 3, 0, 4, 0])),
    riff(fmt(0xfffe, 1, 8000, 16, extension(1, 16)), chunk('data', [1, 2])),
    wavHeader({ sampleRateHz: 8000, channels: 2, dataBytes: 6 * 2 ** 30 }),
  ]
  for (let round = 0; round < 20_000; round++) {
    const bytes = seeds[round % seeds.length]!.slice()
    for (let n = 0; n < 1 + 4 * random(); n++) bytes[Math.floor(random() * bytes.length)] = Math.floor(random() * 256)
    const wav = readWav(bytes.subarray(0, Math.floor(bytes.length * Math.min(1, 1.3 * random()))))
    if ('error' in wav) continue
    const samples = wav.samples.reduce((sum, { length }) => sum + length, 0)
    assert.ok(samples <= bytes.length)
  }
})

test.run()
