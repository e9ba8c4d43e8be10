import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, isIPv6 } from 'node:net'

/** Below the ports that the system gives to outgoing connections (32,768 on), so that none of these is in the way. */
const FIRST = 20_000
const LAST = 32_767
/** Processes that run side by side take from blocks of their own: a port that was free is still so when it is used. */
const PER_PROCESS = 128
/** Some peers take ports above theirs too: for TLS, or for video. */
const STEP = 4

const start = (process.pid * PER_PROCESS) % (LAST + 1 - FIRST)
let taken = 0

/** A port of `host` that is free for UDP and TCP right now, another one each time. */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  for (;;) {
    const port = FIRST + ((start + STEP * taken++) % (LAST + 1 - FIRST))
    if ((await isTcpFree(port, host)) && (await isUdpFree(port, host))) return port
  }
}

async function isTcpFree(port: number, host: string): Promise<boolean> {
  const server = createServer().listen(port, host)
  try {
    await once(server, 'listening')
  } catch {
    return false
  }
  await new Promise(closed => server.close(closed))
  return true
}

async function isUdpFree(port: number, host: string): Promise<boolean> {
  const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4')
  const isFree = await new Promise<boolean>(resolve => {
    socket.once('error', () => resolve(false))
    socket.bind(port, host, () => resolve(true))
  })
  await new Promise<void>(closed => socket.close(closed))
  return isFree
}
