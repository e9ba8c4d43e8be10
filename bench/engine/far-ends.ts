import type { DatagramSocket } from '../../media/rtp/datagrams/datagrams.ts'
import { NativeDatagrams } from '../../media/rtp/datagrams/native-datagrams.ts'
import { HOST } from './open-leg.ts'

/** The port of a leg. Four subjects interleave theirs, and the port after each stays free, since the engine's ports are pairs. */
export const portOf = (first: number, leg: number): number => first + 8 * leg

/** The far ends of legs, each with a socket of its own. */
export class FarEnds {
  readonly #datagrams = new NativeDatagrams('single')
  readonly #sockets: DatagramSocket[] = []
  /** Number of packets received from the engine. */
  heard = 0

  static async open(legs: number, firstPort: number): Promise<FarEnds> {
    const farEnds = new FarEnds()
    for (let leg = 0; leg < legs; leg++) {
      const socket = await bind(farEnds.#datagrams, portOf(firstPort, leg))
      socket.listen({ rtp: () => farEnds.heard++ }, error => {
        throw error
      })
      farEnds.#sockets.push(socket)
    }
    return farEnds
  }

  send(leg: number, packet: Uint8Array, port: number): void {
    this.#sockets[leg]!.send(packet, packet.length, HOST, port)
  }

  /** Receives what has arrived. */
  drain(): void {
    this.#datagrams.poll()
  }

  close(): void {
    for (const socket of this.#sockets) socket.close()
  }
}

/** Binds a socket; throws if the port is taken. */
export async function bind(datagrams: NativeDatagrams, port: number): Promise<DatagramSocket> {
  const socket = await datagrams.bind(HOST, port)
  if (socket === null) throw new Error(`port ${port} is taken`)
  return socket
}
