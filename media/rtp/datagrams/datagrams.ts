import type { Libc } from './libc.ts'

/** Takes a datagram that arrived at `at` [ms of `performance.now`]. `bytes` are borrowed until it returns. */
export type TakeDatagram = (bytes: Uint8Array, host: string, port: number, at: number) => void

/**
 * Whose datagrams a socket delivers. An object: a function of each socket's own would be more to fetch from memory for each datagram. `rtp` takes
 * whatever comes on the socket, by the name under which a leg takes what comes on its RTP port, which nearly all sockets are.
 */
export interface DatagramReceiver {
  rtp: TakeDatagram
}

/** A UDP socket bound to one of our addresses. */
export interface DatagramSocket {
  /** Delivers datagrams from now on; earlier ones are lost. Exceptions of the receiver go to `broke`. */
  listen(receiver: DatagramReceiver, broke: (error: unknown) => void): void
  /** Sends the first `length` bytes of `packet`. `host` is an address, never a name. */
  send(packet: Uint8Array, length: number, host: string, port: number): void
  /** Delivers with the polls of this slot only, in which its datagrams are needed; null, as at first: with each. No effect where no poll delivers. */
  follow(slot: number | null): void
  close(): void
}

/** A connection (TCP) with bytes to send. */
export interface ByteSender {
  /** Its descriptor; negative: it has been closed. */
  readonly fd: number
  /** Address of its bytes, which do not move. Read only while it is open, as is their number. */
  readonly address: number
  readonly length: number
  /** Called with how many of the bytes the system has accepted; negative: none. It must not throw. */
  taken(bytes: number): void
}

/** The system's own calls for connections. */
export interface Connections {
  readonly libc: Libc
  /** Whether its bytes will be sent after the work of this slot, and are read then. False: it has to send them itself, now. */
  hold(sender: ByteSender): boolean
}

/** How native sockets call the system: for each datagram, or once for all of a batch. */
export type CallKind = 'single' | 'ring'

/** The UDP sockets of one thread: Node's (`node-datagrams.ts`), or native ones (`native-datagrams.ts`). */
export interface Datagrams {
  readonly kind: 'node' | 'native'
  /** Null: Node's own. */
  readonly calls: CallKind | null
  /** The system's own calls for connections of this thread; null: not available here, or not wanted. */
  readonly connections: Connections | null
  /** Sends that the system refused. */
  readonly sendErrors: number
  /** Null: the address is in use, or not ours. */
  bind(host: string, port: number): Promise<DatagramSocket | null>
  /** Delivers what has arrived so far, if that does not happen automatically. @param slot not at sockets that follow another one; absent: at all */
  poll(slot?: number): void
  /**
   * Delivers each datagram as it arrives from now on, except at sockets that follow a slot; null: only with the polls. No effect on sockets that
   * deliver automatically.
   *
   * @param turn does what is due now, and returns the time until more is due [ms]: the thread sleeps meanwhile, except for datagrams
   */
  attend(turn: (() => number) | null): void
  /** Sends during `work` may be delayed until its end. */
  sendTogether(work: () => void): void
}
