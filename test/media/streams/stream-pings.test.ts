import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import * as assert from 'uvu/assert'
import { chooseDatagrams } from '../../../media/rtp/datagrams/choose.ts'
import type { WireEvents } from '../../../media/streams/stream-connection.ts'
import { dialWire } from '../../../media/streams/stream-wire.ts'
import { suite } from '../../harness.ts'

const test = suite('media/streams/stream-pings')
const { datagrams, problem } = await chooseDatagrams('auto')
const { connections } = datagrams
const immediate = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

const MAGIC = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
const PING = Buffer.concat([Buffer.from([0x89, 125]), Buffer.alloc(125, 0x61)])
const PONG = Buffer.concat([Buffer.from([0x8a, 125]), Buffer.alloc(125, 0x61)])
const LAST_PING = Buffer.from('\x89\x04last', 'latin1')
const NOBODY = {
  closed: () => {},
  oversized: () => {},
  pong: () => {},
  received: () => {},
  drained: () => {},
  broke: () => {},
}

/** A stream's wire, and the socket of its receiver, which reads nothing until it is told to. */
async function connected(calls: typeof connections, events: Partial<WireEvents> = {}) {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const accepted = once(server, 'connection')
  const addresses = { publicOnly: false, allowed: [] }
  const opened = new Promise<void>(resolve => {
    const opens = { ...NOBODY, ...events, opened: () => resolve() }
    wire = dialWire(`ws://127.0.0.1:${port}/`, {}, addresses, 1024, opens, calls)
  })
  const [receiver] = (await accepted) as [Socket]
  const [request] = (await once(receiver, 'data')) as [Buffer]
  receiver.pause()
  const key = /sec-websocket-key: (\S+)/i.exec(String(request))![1]
  const accept = createHash('sha1').update(`${key}${MAGIC}`).digest('base64')
  const head = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade']
  receiver.write([...head, `Sec-WebSocket-Accept: ${accept}`, '', ''].join('\r\n'))
  await opened
  return { receiver, server }
}

let wire: ReturnType<typeof dialWire>

if (connections === null)
  test.skip('a receiver that pings and reads nothing costs no memory', problem ?? 'they are not chosen')
else
  test('a receiver that pings and reads nothing costs no memory, and has the pong of its last ping once it reads (RFC 6455 §5.5.3)', async () => {
    const { receiver, server } = await connected(connections)
    while (wire.buffered() === 0) wire.send(Buffer.alloc(60_000, 0x61))
    const before = wire.buffered()
    for (let n = 0; n < 300; n++) {
      receiver.write(n < 299 ? PING : LAST_PING)
      // A look in five reads.
      for (let looks = 0; looks < 10; looks++) wire.look?.()
      await immediate()
    }
    assert.is(wire.buffered(), before)
    const heard: Buffer[] = []
    receiver.on('data', bytes => heard.push(bytes))
    receiver.resume()
    const lastPong = (): boolean => {
      const bytes = Buffer.concat(heard.slice(-2)).subarray(-10)
      const key = bytes.subarray(2, 6)
      return (
        bytes[0] === 0x8a &&
        bytes
          .subarray(6)
          .map((byte, i) => byte ^ key[i]!)
          .toString() === 'last'
      )
    }
    while (!lastPong()) await once(receiver, 'data')
    wire.terminate()
    receiver.destroy()
    server.close()
  })

test('a receiver that sends faster than it can be read does not keep a thread from its other calls: it is read in pieces of 4 KiB, with others in between', async () => {
  let pongs = 0
  const { receiver, server } = await connected(null, {
    pong: () => {
      pongs++
      // As much as fifty of them take.
      for (const end = performance.now() + 0.1; performance.now() < end; );
    },
  })
  const sent = Buffer.concat(Array.from({ length: 8000 }, () => PONG))
  receiver.write(sent)
  let most = 0
  for (let before = 0; pongs < 500; before = pongs) {
    await immediate()
    most = Math.max(most, pongs - before)
  }
  assert.ok(most <= 1 + 4096 / PONG.length, `${most} pongs at once`)
  wire.terminate()
  receiver.destroy()
  server.close()
})

test.run()
