import ipaddr from 'ipaddr.js'

/** A UDP datagram of a capture file. */
export interface CapturedPacket {
  /** Since 1970 [ms]. */
  at: number
  from: string
  to: string
  /** Length on the wire [bytes]. */
  length: number
  payload: Buffer
}

/** Reads a libpcap file with UDP packets over IP, independently of the product's writer; throws if it is none. */
export function readPcap(file: Buffer): CapturedPacket[] {
  if (file.readUInt32LE(0) !== 0xa1b2c3d4 || file.readUInt32LE(20) !== 101) throw new Error('no capture of raw IP')
  const packets: CapturedPacket[] = []
  for (let at = 24; at < file.length; ) {
    const [seconds = 0, micros = 0, kept = 0, length = 0] = [0, 4, 8, 12].map(n => file.readUInt32LE(at + n))
    const packet = file.subarray(at + 16, at + 16 + kept)
    if (packet.length !== kept) throw new Error('a packet is cut off')
    packets.push({ at: seconds * 1000 + micros / 1000, ...readUdp(packet, length) })
    at += 16 + kept
  }
  return packets
}

function readUdp(packet: Buffer, length: number): Omit<CapturedPacket, 'at'> {
  const isFour = packet[0]! >> 4 === 4
  const [size, source, each, protocol] = isFour ? [20, 12, 4, packet[9]] : [40, 8, 16, packet[6]]
  const total = isFour ? packet.readUInt16BE(2) : 40 + packet.readUInt16BE(4)
  if (protocol !== 17 || total !== length || packet.readUInt16BE(size + 4) !== length - size) throw new Error('no UDP')
  const place = (at: number, port: number): string => {
    const address = ipaddr.fromByteArray([...packet.subarray(at, at + each)]).toString()
    return `${address} ${packet.readUInt16BE(size + port)}`
  }
  const [from, to] = [place(source, 0), place(source + each, 2)]
  return { from, to, length: length - size - 8, payload: packet.subarray(size + 8) }
}
