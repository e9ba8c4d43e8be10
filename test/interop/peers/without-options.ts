import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { once } from 'node:events'
import type { Sipp } from './sipp.ts'

const HOST = '127.0.0.1'

/**
 * A proxy in front of a SIPp that is called, which drops OPTIONS: otherwise SIPp could take the OPTIONS by which the product checks a connection
 * for the beginning of its call. It passes no datagram twice: an INVITE that was repeated because this process was busy would come to SIPp
 * behind the ACK, which goes straight to SIPp's Contact, and SIPp takes that for a fault. `outsidePort`: where it listens; 0: on a free port.
 */
export async function withoutOptions(
  { port: sippPort }: Pick<Sipp, 'port'>,
  outsidePort = 0,
): Promise<{ port: number; close(): void }> {
  const [outside, inside] = [createSocket('udp4'), createSocket('udp4')]
  await Promise.all([opened(outside, outsidePort), opened(inside, 0)])
  const passed = new Set<string>()
  let caller: RemoteInfo | null = null
  outside.on('message', (bytes, from) => {
    const text = bytes.toString('latin1')
    if (text.startsWith('OPTIONS') || passed.has(text)) return
    passed.add(text)
    caller = from
    inside.send(bytes, sippPort, HOST)
  })
  inside.on('message', bytes => {
    if (caller !== null) outside.send(bytes, caller.port, caller.address)
  })
  return { port: outside.address().port, close: () => [outside, inside].map(socket => socket.close()) }
}

async function opened(socket: Socket, port: number): Promise<void> {
  socket.bind(port, HOST)
  await once(socket, 'listening')
}
