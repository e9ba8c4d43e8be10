import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import * as assert from 'uvu/assert'
import { probeNode } from '../../../../media/signalling/endpoint/node-probe.ts'
import { PONG } from '../../../../sip/message/framer.ts'
import { suite } from '../../../harness.ts'

const test = suite('media/signalling/node-probe')

/** A node at a free port that does this with each connection. */
async function listening(met: (socket: Socket, server: Server) => void) {
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    met(socket, server)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const close = (): void => {
    for (const socket of sockets) socket.destroy()
    server.close()
  }
  return { at: { host: '127.0.0.1', port }, close }
}

test('a node that answers a keep-alive is alive', async () => {
  const node = await listening(socket => socket.once('data', () => socket.write(PONG)))
  assert.is(await probeNode(node.at), 'alive')
  node.close()
})

test('a node at whose port nothing listens is gone', async () => {
  const node = await listening(() => {})
  node.close()
  assert.is(await probeNode(node.at), 'gone')
})

test('a node that dies when it is asked is gone', async () => {
  const node = await listening((socket, server) => {
    server.close()
    socket.destroy()
  })
  assert.is(await probeNode(node.at), 'gone')
})

test('a node that accepts connections and stands still is silent', async () => {
  const node = await listening(() => {})
  assert.is(await probeNode(node.at), 'silent')
  node.close()
})

test('a node that closes what strangers open is alive', async () => {
  const node = await listening(socket => socket.destroy())
  assert.is(await probeNode(node.at), 'alive')
  node.close()
})

test.run()
