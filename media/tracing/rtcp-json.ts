import { parseRtcp, RtcpCompound } from '../rtp/rtcp.ts'

const compound = new RtcpCompound()
const UINT32 = 2 ** 32

/** An RTCP packet as collectors of HEP want it (type 5); null: it holds no report. */
export function rtcpJson(bytes: Uint8Array): string | null {
  compound.clear()
  if (!parseRtcp(bytes, compound)) return null
  const { ssrc, hasSenderInfo, blockCount } = compound
  if (!hasSenderInfo && blockCount === 0) return null
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return JSON.stringify({
    ssrc,
    type: hasSenderInfo ? 200 : 201,
    report_count: blockCount,
    // From the first packet, which is the report (RFC 3550 §6.1).
    ...(hasSenderInfo && bytes[1] === 200 ? { sender_information: senderInformation(view) } : {}),
    report_blocks: compound.blocks.slice(0, blockCount).map(block => ({
      source_ssrc: block.ssrc,
      highest_seq_no: block.highestSequence,
      fraction_lost: block.fractionLost & 0xff,
      ia_jitter: block.jitter,
      packets_lost: block.cumulativeLost,
      lsr: block.lastSr,
      dlsr: block.delaySinceLastSr,
    })),
  })
}

const senderInformation = (view: DataView) => ({
  ntp_timestamp_sec: view.getUint32(8) % UINT32,
  ntp_timestamp_usec: Math.floor((view.getUint32(12) / UINT32) * 1_000_000),
  rtp_timestamp: view.getUint32(16),
  packets: view.getUint32(20),
  octets: view.getUint32(24),
})
