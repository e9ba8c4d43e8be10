import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'

/** A port of `host` that is free for UDP and TCP right now. */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  for (;;) {
    const server = createServer().listen(0, host)
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const udp = createSocket('udp4')
    const isFree = await new Promise<boolean>(resolve => {
      udp.once('error', () => resolve(false))
      udp.bind(port, host, () => resolve(true))
    })
    if (isFree) await new Promise<void>(closed => udp.close(closed))
    await new Promise(closed => server.close(closed))
    if (isFree) return port
  }
}
