import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as assert from 'uvu/assert'
import WebSocket, { WebSocketServer } from 'ws'
import { BrowserSocket } from '../../../media/browsers/browser-socket.ts'
import { suite } from '../../harness.ts'

const test = suite('media/browsers/browser-socket')

test('messages written into the same bytes, one after the other, arrive as they were when they were sent', async () => {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false })
  await once(server, 'listening')
  const accepted = once(server, 'connection') as Promise<[WebSocket, IncomingMessage]>
  const page = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const [ws, request] = await accepted
  const nothing = { text: () => {}, pong: () => {}, drained: () => {}, closed: () => {} }
  const socket = new BrowserSocket(ws, request.socket, nothing, () => 0)
  const heard: string[] = []
  page.on('message', data => heard.push(String(data)))
  // As a tick writes its frames: none of them leaves before the last is written.
  const bytes = Buffer.alloc(4)
  socket.cork()
  for (const text of ['one.', 'two.', 'six.']) {
    bytes.write(text)
    assert.ok(socket.send(bytes))
  }
  socket.uncork()
  ws.close()
  assert.not(socket.send(Buffer.from('late')), 'who is closing is told nothing more')
  await once(page, 'close')
  assert.equal(heard, ['one.', 'two.', 'six.'])
  server.close()
})

test.run()
