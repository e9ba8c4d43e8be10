/** Where a leg's packets go. */
export interface PacketOut {
  sendRtp(packet: Uint8Array, length: number, host: string, port: number): void
  sendRtcp(packet: Uint8Array, length: number, host: string, port: number): void
  /** With which polls its packets come, as `DatagramSocket.follow`; absent: it has no sockets of its own. */
  follow?(slot: number | null): void
}
