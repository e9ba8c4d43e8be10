import * as assert from 'uvu/assert'
import * as ws from 'ws'
import { ClientFrames, PING, TEXT } from '../../../media/streams/stream-lane.ts'
import { suite } from '../../harness.ts'

const test = suite('media/streams/ws-frames')

/** Exported by `ws`, but not in its types. */
const { Receiver } = ws as unknown as { Receiver: new (options: object) => NodeJS.WritableStream }

/** What a server reads. */
async function read(bytes: Buffer): Promise<{ texts: string[]; pings: Buffer[] }> {
  const receiver = new Receiver({ isServer: true, maxPayload: 1 << 20 })
  const texts: string[] = []
  const pings: Buffer[] = []
  receiver.on('message', (data: Buffer) => texts.push(data.toString('utf8')))
  receiver.on('ping', (data: Buffer) => pings.push(data))
  await new Promise<void>((done, failed) => {
    receiver.on('error', failed)
    receiver.write(Buffer.from(bytes), () => done())
  })
  return { texts, pings }
}

const textOf = (length: number): string => Array.from({ length }, (_, i) => String.fromCharCode(33 + (i % 90))).join('')

/** Lengths around those at which the header grows, and with every remainder of a word. */
const LENGTHS = [0, 1, 2, 3, 4, 5, 124, 125, 126, 127, 128, 301, 4095, 65_535, 65_536, 70_001]

test('a server reads each frame as it was, however long it is', async () => {
  for (const length of LENGTHS) {
    const frames = new ClientFrames()
    frames.add(TEXT, Buffer.from(textOf(length)))
    assert.equal((await read(frames.bytes.subarray(0, frames.length))).texts, [textOf(length)])
  }
})

test('frames that are written together are read one by one, in their order', async () => {
  const frames = new ClientFrames()
  for (const length of LENGTHS) frames.add(TEXT, Buffer.from(textOf(length)))
  frames.add(PING, Buffer.from([1, 2, 3, 4]))
  const { texts, pings } = await read(frames.bytes.subarray(0, frames.length))
  assert.equal(texts, LENGTHS.map(textOf))
  assert.equal(pings, [Buffer.from([1, 2, 3, 4])])
})

test('bytes that somebody keeps are not written to again', () => {
  const frames = new ClientFrames()
  frames.add(TEXT, Buffer.from('first'))
  const kept = frames.bytes
  const before = Buffer.from(kept.subarray(0, frames.length))
  frames.leave()
  frames.add(TEXT, Buffer.from('other'))
  assert.equal(kept.subarray(0, before.length), before)
  frames.clear()
  assert.is(frames.length, 0)
})

test('each frame has a key of its own (RFC 6455 §5.3)', () => {
  const frames = new ClientFrames()
  const keys = Array.from({ length: 2000 }, () => {
    frames.clear()
    frames.add(TEXT, Buffer.from('x'))
    return frames.bytes.readUInt32BE(2)
  })
  assert.ok(new Set(keys).size > 1990)
})

test.run()
