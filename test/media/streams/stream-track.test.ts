import * as assert from 'uvu/assert'
import { PCMU } from '../../../codecs/g711.ts'
import { loadResampler } from '../../../codecs/resample.ts'
import { StreamTrack } from '../../../media/streams/stream-track.ts'
import { suite } from '../../harness.ts'

const test = suite('media/streams/stream-track')

const payloadOf = (message: Buffer): Buffer => Buffer.from(JSON.parse(String(message)).media.payload, 'base64')

const tone = (hz: number, frame: number): Int16Array =>
  Int16Array.from({ length: 160 }, (_, i) => 8000 * Math.sin((2 * Math.PI * hz * (160 * frame + i)) / 8000))

test('Silence is 0xFF for mu-law and zeros for L16', async () => {
  const createResampler = await loadResampler()
  for (const [format, bytes, octet] of [
    ['mulaw_8000', 160, 0xff],
    ['l16_8000', 320, 0],
    ['l16_16000', 640, 0],
  ] as const) {
    const resampler = format === 'l16_16000' ? createResampler(8000, 16000) : null
    const track = new StreamTrack('ms_1', 'inbound', format, resampler)
    track.write(new Int16Array(160), 1, 0, 0)
    assert.equal([...payloadOf(track.next(2))], new Array(bytes).fill(octet))
    track.close()
  }
})

test('mulaw_8000 carries G.711, l16_8000 the samples themselves in little-endian order', () => {
  const frame = tone(440, 0)
  const ulaw = new StreamTrack('ms_1', 'inbound', 'mulaw_8000', null)
  ulaw.write(frame, 1, 0, 0)
  const decoded = new Int16Array(160)
  PCMU.decode(payloadOf(ulaw.next(2)), decoded)
  assert.ok(decoded.every((sample, i) => Math.abs(sample - frame[i]!) <= 256))

  const linear = new StreamTrack('ms_1', 'inbound', 'l16_8000', null)
  linear.write(frame, 1, 0, 0)
  const payload = payloadOf(linear.next(2))
  assert.equal(
    [...frame.keys()].map(i => payload.readInt16LE(2 * i)),
    [...frame],
  )
})

test('l16_16000 carries the same tone at twice the rate, 640 bytes a frame from the first one on', async () => {
  const track = new StreamTrack('ms_1', 'inbound', 'l16_16000', (await loadResampler())(8000, 16000))
  const samples: number[] = []
  for (let n = 0; n < 50; n++) {
    track.write(tone(1000, n), n, 20 * n, 0)
    const payload = payloadOf(track.next(n))
    assert.is(payload.length, 640)
    for (let i = 0; i < 640; i += 2) samples.push(payload.readInt16LE(i))
  }
  const settled = samples.slice(1600)
  const crossings = settled.filter((sample, i) => i > 0 && sample >= 0 && settled[i - 1]! < 0).length
  assert.ok(Math.abs(crossings - (1000 * settled.length) / 16000) <= 1)
  assert.ok(Math.abs(Math.max(...settled) - 8000) < 80)
  track.close()
})

test.run()
