import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { once } from 'node:events'
import type { Sipp } from './sipp.ts'

const HOST = '127.0.0.1'

/**
 * A proxy in front of a SIPp that is called, which drops OPTIONS: otherwise SIPp could take the OPTIONS by which the product checks a connection
 * for the beginning of its call.
 */
export async function withoutOptions({ port: sippPort }: Pick<Sipp, 'port'>): Promise<{ port: number; close(): void }> {
  const [outside, inside] = [createSocket('udp4'), createSocket('udp4')]
  await Promise.all([opened(outside), opened(inside)])
  let caller: RemoteInfo | null = null
  outside.on('message', (bytes, from) => {
    if (bytes.subarray(0, 7).toString('latin1') === 'OPTIONS') return
    caller = from
    inside.send(bytes, sippPort, HOST)
  })
  inside.on('message', bytes => {
    if (caller !== null) outside.send(bytes, caller.port, caller.address)
  })
  return { port: outside.address().port, close: () => [outside, inside].map(socket => socket.close()) }
}

async function opened(socket: Socket): Promise<void> {
  socket.bind(0, HOST)
  await once(socket, 'listening')
}
