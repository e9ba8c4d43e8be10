import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, isIPv6, type Server } from 'node:net'

const HOST = '127.0.0.1'
/** Below the ports that the system gives to outgoing connections (from 32,768 on), so that none of these takes one of ours. */
const FIRST = 20_000
const LAST = 32_767
/** Distance of two ports: some peers also use ports above the one that they are given, for TLS or for video. */
const STEP = 4
const BLOCK = 128
const BLOCKS = Math.floor((LAST + 1 - FIRST) / BLOCK)

/**
 * A range of ports for this process alone, which it reserves by listening at the first one (`hold`): several processes look for free ports at the
 * same time, and a port that was found free must still be so when it is used.
 */
interface Block {
  hold: Server
  next: number
  end: number
}

let block: Promise<Block> | null = null

/** A port of `host` that is free for UDP and TCP now; a different one each time. */
export async function freePort(host = HOST): Promise<number> {
  for (;;) {
    block ??= nextBlock()
    const ours = await block
    const port = ours.next
    ours.next += STEP
    if (port >= ours.end) {
      if (ours.hold.listening) {
        ours.hold.close()
        block = nextBlock()
      }
    } else if ((await isTcpFree(port, host)) && (await isUdpFree(port, host))) return port
  }
}

let number = process.pid

async function nextBlock(): Promise<Block> {
  for (let tries = 0; tries < BLOCKS; tries++) {
    const first = FIRST + (number++ % BLOCKS) * BLOCK
    const hold = await listen(first, HOST)
    // Unreferenced, so that it does not keep the process alive.
    if (hold !== null) return { hold: hold.unref(), next: first + STEP, end: first + BLOCK }
  }
  throw new Error(`no ports from ${FIRST} to ${LAST} are free`)
}

/** Null: the port is taken. */
async function listen(port: number, host: string): Promise<Server | null> {
  const server = createServer()
  try {
    await once(server.listen(port, host), 'listening')
    return server
  } catch {
    return null
  }
}

async function isTcpFree(port: number, host: string): Promise<boolean> {
  const server = await listen(port, host)
  if (server === null) return false
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
