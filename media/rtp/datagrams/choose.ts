import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { CallKind, DatagramSocket, Datagrams } from './datagrams.ts'
import { type DoorOptions, type DoorSocket, type OpenDoor, openNodeDoor } from './door-socket.ts'
import { nodeDatagrams } from './node-datagrams.ts'
import type { OwnDescriptors } from './own-descriptors.ts'

/** `auto`: native sockets where they work. */
export type SocketChoice = 'auto' | 'native' | 'node'

/** Unassigned ports (RFC 6335 §6), for a test datagram to ourselves. */
const TEST_PORTS = { first: 49_152, last: 65_535, tries: 20 }
/** Maximum duration of the test [ms]. */
const TEST_MS = 500
const TEST_DATAGRAM = new Uint8Array([1, 2, 7])

const isTest = (bytes: Uint8Array, host: string): boolean =>
  bytes.length === TEST_DATAGRAM.length && bytes[2] === TEST_DATAGRAM[2] && host === '127.0.0.1'

/** The sockets of a thread; `problem`: why not better ones. */
interface Chosen {
  datagrams: Datagrams
  problem: string | null
}

/** Checks that native sockets may work on this machine; throws if they cannot. */
function checkPlatform(): void {
  const { platform, arch } = process
  if (platform !== 'linux' || !['x64', 'arm64'].includes(arch)) throw new Error(`not known on ${platform} ${arch}`)
}

/**
 * The sockets of this thread. Throws if native ones are required and do not work here.
 *
 * @param own lists the descriptors that Node does not know; absent: nobody reads it
 */
export async function chooseDatagrams(choice: SocketChoice, own?: OwnDescriptors): Promise<Chosen> {
  if (choice === 'node') return { datagrams: nodeDatagrams, problem: null }
  try {
    return await openNative(own)
  } catch (error) {
    if (choice === 'native') throw error
    return { datagrams: nodeDatagrams, problem: (error as Error).message }
  }
}

/** By a ring, or, if the system does not allow that, with a call for each datagram. */
async function openNative(own?: OwnDescriptors): Promise<Chosen> {
  checkPlatform()
  const { NativeDatagrams } = await import('./native-datagrams.ts')
  const open = async (calls: CallKind): Promise<Datagrams> => {
    const native = new NativeDatagrams(calls, own)
    await proveThatItWorks(native)
    return native
  }
  try {
    return { datagrams: await open('ring'), problem: null }
  } catch (error) {
    return { datagrams: await open('single'), problem: `a system call for each packet: ${(error as Error).message}` }
  }
}

/** Sends one datagram to ourselves: another C library or a sandbox may use different memory layouts. */
async function proveThatItWorks(native: Datagrams): Promise<void> {
  const { socket, port } = await bindSomewhere(native)
  let isHeard = false
  socket.listen(
    {
      rtp: (bytes, host, from) => {
        isHeard ||= isTest(bytes, host) && from === port
      },
    },
    () => {},
  )
  const limit = performance.now() + TEST_MS
  while (!isHeard && performance.now() < limit) {
    socket.send(TEST_DATAGRAM, TEST_DATAGRAM.length, '127.0.0.1', port)
    await sleep(1)
    native.poll()
  }
  socket.close()
  if (!isHeard) throw new Error('a datagram to ourselves did not arrive')
}

async function bindSomewhere(native: Datagrams): Promise<{ socket: DatagramSocket; port: number }> {
  for (let attempt = 0; attempt < TEST_PORTS.tries; attempt++) {
    const port = randomInt(TEST_PORTS.first, TEST_PORTS.last + 1)
    const socket = await native.bind('127.0.0.1', port)
    if (socket !== null) return { socket, port }
  }
  throw new Error('no socket is to be had')
}

/** Chooses how door sockets of this thread are opened. Throws if native ones are required and do not work here. */
export async function chooseDoors(choice: SocketChoice): Promise<{ open: OpenDoor; problem: string | null }> {
  if (choice === 'node') return { open: openNodeDoor, problem: null }
  try {
    return { open: await nativeDoors(), problem: null }
  } catch (error) {
    if (choice === 'native') throw error
    return { open: openNodeDoor, problem: (error as Error).message }
  }
}

async function nativeDoors(): Promise<OpenDoor> {
  checkPlatform()
  const [{ NativeDoor, doorTools }, { Libc }] = await Promise.all([import('./native-door.ts'), import('./libc.ts')])
  const tools = doorTools(new Libc())
  await proveThatDoorsWork((options, isRush) => NativeDoor.open(tools, options, isRush))
  // A link-local address (RFC 4007): Node knows how to bind to it.
  return async options => (options.host.includes('%') ? openNodeDoor(options) : NativeDoor.open(tools, options))
}

/** Sends two datagrams to ourselves, and receives one as in a rush, and one as in calm. */
async function proveThatDoorsWork(open: (options: DoorOptions, isRush: boolean) => DoorSocket): Promise<void> {
  for (const isRush of [true, false]) {
    let isHeard = false
    const { door, port } = openSomewhere(at =>
      open(
        {
          ...{ host: '127.0.0.1', port: at, receiveBufferBytes: 65_536, admits: () => true },
          take: (bytes, host, from) => {
            isHeard ||= isTest(bytes, host) && from === at
          },
        },
        isRush,
      ),
    )
    const limit = performance.now() + TEST_MS
    while (!isHeard && performance.now() < limit) {
      door.send(TEST_DATAGRAM, '127.0.0.1', port, () => {})
      await sleep(2)
    }
    door.close()
    if (!isHeard) throw new Error('a datagram to ourselves did not arrive')
  }
}

function openSomewhere(open: (port: number) => DoorSocket): { door: DoorSocket; port: number } {
  for (let attempt = 0; attempt < TEST_PORTS.tries; attempt++) {
    const port = randomInt(TEST_PORTS.first, TEST_PORTS.last + 1)
    try {
      return { door: open(port), port }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    }
  }
  throw new Error('no socket is to be had')
}
