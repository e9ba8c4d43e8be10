import type { Libc } from './libc.ts'

/** Takes a datagram that came at `at` [ms of `performance.now`]. `bytes` are borrowed until it returns. */
export type TakeDatagram = (bytes: Uint8Array, host: string, port: number, at: number) => void

/** A UDP socket that is bound to an address of ours. */
export interface DatagramSocket {
  /** From now on datagrams go there; those that came before are lost. What `take` throws goes to `broke`. */
  listen(take: TakeDatagram, broke: (error: unknown) => void): void
  /** Sends the first `length` bytes of `packet`. `host` is an address, never a name. */
  send(packet: Uint8Array, length: number, host: string, port: number): void
  close(): void
}

/** The UDP sockets of one thread: by way of Node (`node-datagrams.ts`), or of the system itself (`native-datagrams.ts`). */
export interface Datagrams {
  readonly kind: 'node' | 'native'
  /** The system's own calls; null: they are not to be had here, or not wanted. */
  readonly libc: Libc | null
  /** Sends that the system refused. */
  readonly sendErrors: number
  /** Null: the address is taken, or not ours. */
  bind(host: string, port: number): Promise<DatagramSocket | null>
  /** Hands over what has come by now, where that does not happen by itself. */
  poll(): void
  /**
   * From now on hands over each datagram as it comes; null: with the polls only. Where datagrams come by themselves nothing changes.
   *
   * @param turn does what is due now, and tells how long nothing is [ms]: the thread sleeps meanwhile, but for datagrams
   */
  attend(turn: (() => number) | null): void
  /** What is sent meanwhile may wait until the end of it. */
  sendTogether(work: () => void): void
}
