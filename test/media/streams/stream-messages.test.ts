import * as assert from 'uvu/assert'
import { seeded } from '../../../bench/seeded.ts'
import {
  connectedMessage,
  dtmfMessage,
  PAYLOAD_BYTES,
  type StreamIdentity,
  startMessage,
  stopMessage,
} from '../../../media/streams/stream-messages.ts'
import { MediaMessageWriter } from '../../../media/streams/stream-track.ts'
import { suite } from '../../harness.ts'

const test = suite('media/streams/stream-messages')

const STREAM: StreamIdentity = {
  streamId: 'ms_1',
  accountSid: 'org_1',
  callSid: 'call_1',
  tracks: 'both',
  format: 'mulaw_8000',
  customParameters: { k: 'v' },
}

test('connected, start, dtmf and stop are the bytes of the documented examples', () => {
  assert.is(String(connectedMessage()), '{"event":"connected","protocol":"Call","version":"1.0.0"}')
  assert.is(
    String(startMessage(STREAM, 1, null)),
    '{"event":"start","sequenceNumber":"1","start":{"accountSid":"org_1","streamSid":"ms_1","callSid":"call_1",' +
      '"tracks":["inbound","outbound"],"mediaFormat":{"encoding":"audio/x-mulaw","sampleRate":8000,"channels":1},' +
      '"customParameters":{"k":"v"}},"streamSid":"ms_1"}',
  )
  assert.is(
    String(dtmfMessage(STREAM, 3, '1')),
    '{"event":"dtmf","sequenceNumber":"3","dtmf":{"track":"inbound_track","digit":"1"},"streamSid":"ms_1"}',
  )
  assert.is(
    String(stopMessage(STREAM, 4)),
    '{"event":"stop","sequenceNumber":"4","stop":{"accountSid":"org_1","callSid":"call_1"},"streamSid":"ms_1"}',
  )
})

test('media is the bytes of the documented example', () => {
  const writer = new MediaMessageWriter('ms_1', 'inbound', 160)
  const payload = Buffer.alloc(160, 0xff)
  assert.is(
    String(writer.write(2, 1, 0, payload, 0, 160)),
    '{"event":"media","sequenceNumber":"2","media":{"track":"inbound","chunk":"1","timestamp":"0",' +
      `"payload":"${payload.toString('base64')}"},"streamSid":"ms_1"}`,
  )
})

test('L16 streams name their encoding, rate and byte order; a stream of one track names only that', () => {
  const start = (format: 'l16_8000' | 'l16_16000') =>
    JSON.parse(String(startMessage({ ...STREAM, format, tracks: 'outbound' }, 1, null))).start
  assert.equal(start('l16_8000').mediaFormat, {
    encoding: 'audio/x-l16',
    sampleRate: 8000,
    channels: 1,
    endianness: 'little',
  })
  assert.is(start('l16_16000').mediaFormat.sampleRate, 16000)
  assert.equal(start('l16_16000').tracks, ['outbound'])
})

test('start says that it comes after a reconnect, and what was dropped so far', () => {
  const { start } = JSON.parse(String(startMessage(STREAM, 1, { framesDropped: 7 })))
  assert.is(start.reconnected, true)
  assert.is(start.framesDropped, 7)
})

test('Custom parameters arrive as they were given, whatever they hold', () => {
  const customParameters = { 'a"b': '\u0000\u2028"\\', snow: '☃ 𝄞', __proto__x: '</script>' }
  const text = startMessage({ ...STREAM, customParameters }, 1, null)
  assert.equal(JSON.parse(String(text)).start.customParameters, customParameters)
})

test('Every payload and every number arrives as it was written, whatever was written before', () => {
  const random = seeded(11)
  const numbers = [0, 1, 9, 10, 99, 100, 65_535, 999_999, 4_294_967_296, 2 ** 53 - 1]
  for (const bytes of Object.values(PAYLOAD_BYTES)) {
    const writer = new MediaMessageWriter('ms_é"', 'outbound', bytes)
    const ring = Buffer.from(Array.from({ length: 5 * bytes }, () => Math.floor(random() * 256)))
    for (let i = 0; i < 300; i++) {
      const pick = (): number => numbers[Math.floor(random() * numbers.length)]!
      const [sequence, chunk, timestamp, slot] = [pick(), pick(), pick(), Math.floor(random() * 5)]
      const message = JSON.parse(String(writer.write(sequence, chunk, timestamp, ring, slot * bytes, bytes)))
      assert.equal(message, {
        event: 'media',
        sequenceNumber: String(sequence),
        media: {
          track: 'outbound',
          chunk: String(chunk),
          timestamp: String(timestamp),
          payload: ring.subarray(slot * bytes, (slot + 1) * bytes).toString('base64'),
        },
        streamSid: 'ms_é"',
      })
    }
  }
})

test('A payload that is no multiple of three bytes is padded', () => {
  for (const bytes of [1, 2, 3, 4, 5]) {
    const payload = Buffer.from([0xfb, 0xff, 0x00, 0x10, 0x83].slice(0, bytes))
    const message = JSON.parse(
      String(new MediaMessageWriter('ms_1', 'inbound', bytes).write(1, 1, 0, payload, 0, bytes)),
    )
    assert.is(message.media.payload, payload.toString('base64'))
  }
})

test.run()
