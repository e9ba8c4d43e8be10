/** Where a leg's packets go. */
export interface PacketOut {
  sendRtp(packet: Uint8Array, length: number, host: string, port: number): void
  sendRtcp(packet: Uint8Array, length: number, host: string, port: number): void
}
