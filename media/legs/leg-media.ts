import type { SrtpKeys } from '../../sip/sdp/sdes.ts'
import type { CodecName, DtmfMode } from '../protocol.ts'
import type { DtlsMedia } from '../webrtc/dtls-wire.ts'

/** The result of an SDP negotiation, as the engine needs it. */
export interface LegMedia {
  codec: CodecName
  /** The payload type that we send. */
  payloadType: number
  receivePayloadTypes: number[]
  /** Payload types of the other law: the far end may switch to it by itself (RFC 3264 §7). */
  otherPayloadTypes?: number[]
  /** How much audio the far end wants in a packet [ms]. Absent: 20. */
  ptimeMs?: number
  /** The payload type of comfort noise, if it was agreed on. */
  comfortNoise?: number | null
  telephoneEvent: { send: number | null; receive: number | null }
  remote: {
    host: string
    port: number
    rtcpHost: string
    rtcpPort: number
    rtcpMux: boolean
    /** The source of its signalling. */
    signallingHost: string | null
    /** Whether the address policy allows sending to `host`, and to `rtcpHost`. */
    isReachable: boolean
    isRtcpReachable: boolean
  }
  /** Ours: `sendonly` means that we do not listen. */
  direction: 'sendrecv' | 'sendonly' | 'recvonly' | 'inactive'
  dtmf: DtmfMode
  /** Null: packets are not encrypted, or their keys come by DTLS. */
  srtp: SrtpKeys | null
  /** How DTLS brings the keys, and, with ICE, how its address is determined; null: neither. */
  dtls: DtlsMedia | null
}
